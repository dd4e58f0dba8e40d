"""What a `PUT` says of a document beside its body: `x-amz-meta-*` headers and `?metadata=`, as S3 object metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ragdrop.errors import InvalidParamsError

HEADER = "x-amz-meta-"
MAX_BYTES = 2_048  # of all names and values: S3's limit
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def object_metadata(headers: Mapping[str, str], given: str | None) -> dict[str, str]:
    """The metadata of both; *given* is a JSON object and wins.

    Lists and objects in it (`tags`, `attributes`) are kept as JSON text, which ingest reads.

    Raises:
        InvalidParamsError: *given* is no JSON object of plain names, or S3 would not take so much.

    >>> object_metadata({"x-amz-meta-agent": "a"}, '{"tags": ["x, y"]}')
    {'agent': 'a', 'tags': '["x, y"]'}
    """
    found = {name.removeprefix(HEADER): value for name, value in headers.items() if name.startswith(HEADER)}
    if given is not None:
        found |= {name.lower(): _text(name, value) for name, value in _parsed(given).items()}
    size = sum(len(name) + _size(value) for name, value in found.items())
    if size > MAX_BYTES:
        message = f"metadata: has {size} bytes as S3 keeps it, at most {MAX_BYTES} are allowed: use a sidecar file"
        raise InvalidParamsError(message, field="metadata", value=size, allowed=MAX_BYTES)
    return found


def _parsed(given: str) -> dict[str, Any]:
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError) as exc:
        raise InvalidParamsError("metadata: is not valid JSON", field="metadata", value=None, allowed=None) from exc
    if not isinstance(parsed, dict):
        raise InvalidParamsError("metadata: must be a JSON object", field="metadata", value=None, allowed=None)
    return parsed


def _text(name: str, value: object) -> str:
    if not _NAME.fullmatch(name) or value is None:
        message = f"metadata: {name[:80]!r} must be letters, digits, - and _, and have a value"
        raise InvalidParamsError(message, field="metadata", value=name[:80], allowed=None)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if any("\ud800" <= character <= "\udfff" for character in text):
        message = f"metadata: the value of {name[:80]!r} is not valid Unicode"
        raise InvalidParamsError(message, field="metadata", value=name[:80], allowed=None)
    return text


def _size(value: str) -> int:
    """Bytes of a value in a header: other than printable ASCII travels as base64, in RFC 2047's brackets."""
    plain = value.isascii() and value.isprintable()
    return len(value) if plain else 4 * -(-len(value.encode()) // 3) + len("=?utf-8?b??=")
