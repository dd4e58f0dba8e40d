"""ETags of documents over HTTP: `If-None-Match` on reads, `If-Match` and `If-None-Match` on writes.

The ETag of a record is `"S3-ETAG.STATE"`: the first part names the version in the bucket, the second changes with
whatever the record says.  A write goes by the first part alone, and takes S3's own ETag as well.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Header, Request, Response
from pydantic import BaseModel

from ragdrop.documents.service import WriteOnce
from ragdrop.domain.history import WRITTEN_BY
from ragdrop.domain.tenants import MAX_WRITER, Caller
from ragdrop.errors import InvalidParamsError
from ragdrop.ports.object_store import ANY, Precondition, tags_of

VOLATILE = {"request_id", "query_count", "last_retrieved"}  # who only counts answers has seen nothing new
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=1_000, description="Only if the ETag is one of these.")
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", max_length=1_000, description="Only if the ETag is none of these; * is any."),
]


def etag_of(shown: BaseModel, object_etag: str | None) -> str:
    """The ETag of what is shown of an object, without its quotes."""
    state = hashlib.sha256(shown.model_dump_json(exclude=VOLATILE).encode()).hexdigest()[:16]
    return f"{object_etag or ''}.{state}"


def not_modified(etag: str, if_none_match: str | None) -> Response | None:
    """304 where the caller has what would be shown; None where it must be shown.

    Raises InvalidParamsError: the header is no list of ETags.
    """
    known = tags_of("If-None-Match", if_none_match)
    if known is None or not (known == ANY or etag in known):
        return None
    return Response(status_code=304, headers={"etag": f'"{etag}"'})


def precondition(if_match: str | None, if_none_match: str | None) -> Precondition:
    """What a write must find; of a record's ETag the part that names the version counts.

    Raises InvalidParamsError: a header is no list of ETags.
    """
    return Precondition(_versions("If-Match", if_match), _versions("If-None-Match", if_none_match))


def _versions(field: str, header: str | None) -> frozenset[str] | None:
    tags = tags_of(field, header)
    return tags if tags is None or tags == ANY else frozenset(tag.partition(".")[0] for tag in tags)


_WORDS = "A key of your own, new for each write: sent again with it the write is done once, for a day."
IdempotencyKey = Annotated[
    str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255, pattern="^[!-~]+$", description=_WORDS)
]
COUNTED = ("content-type", "if-match", "if-none-match")  # headers that are part of what is asked for
Shape = TypeVar("Shape", bound=BaseModel)


def fingerprint_of(request: Request, body: bytes) -> str:
    """SHA-256 of all that a request asks for."""
    headers = sorted(
        (name, value) for name, value in request.headers.items() if name in COUNTED or name.startswith("x-amz-meta-")
    )
    parts = [request.method, request.url.path, request.url.query, *(f"{name}:{value}" for name, value in headers)]
    digest = hashlib.sha256()
    for part in (*(part.encode() for part in parts), body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


@dataclass(frozen=True)
class DocumentWrite:
    """A request that writes: who sent it, and the key by which its reply is stored, if it has one."""

    request: Request
    response: Response
    who: Caller
    write_once: Callable[[], WriteOnce]
    key: str | None

    def once(self, work: Callable[[], Shape], shape: type[Shape], body: bytes = b"") -> Shape:
        """The reply of *work*; the stored one, if it was done before: `Idempotent-Replay` says so.

        Raises ConflictError: the key came with another request, or this one is under way.
        """
        if self.key is None:
            return work()
        fingerprint = fingerprint_of(self.request, body)
        reply, replayed = self.write_once()(self.who, self.key, fingerprint, lambda: work().model_dump(mode="json"))
        if replayed:
            self.response.headers["idempotent-replay"] = "true"
        return shape.model_validate({**reply, "request_id": self.request.state.request_id})


HEADER = "x-amz-meta-"
MAX_BYTES = 2_048 - len(WRITTEN_BY) - MAX_WRITER  # of all names and values: S3's limit, less who wrote it
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def object_metadata(headers: Mapping[str, str], given: str | None) -> dict[str, str]:
    """The metadata of both; *given* is a JSON object and wins.

    Lists and objects in it (`tags`, `attributes`) are stored as JSON text, which ingest reads.

    Raises:
        InvalidParamsError: *given* is no JSON object of plain names, or S3 would not take so much.

    >>> object_metadata({"x-amz-meta-agent": "a"}, '{"tags": ["x, y"]}')
    {'agent': 'a', 'tags': '["x, y"]'}
    >>> object_metadata({}, '{"attributes": {"version": 1.10}}')
    {'attributes': '{"version": "1.10"}'}
    """
    found = {name.removeprefix(HEADER): value for name, value in headers.items() if name.startswith(HEADER)}
    if given is not None:
        found |= {name.lower(): _text(name, value) for name, value in _parsed(given).items()}
    found.pop(WRITTEN_BY, None)  # who writes is known by the key
    size = sum(len(name) + _size(value) for name, value in found.items())
    if size > MAX_BYTES:
        message = f"metadata: has {size} bytes as S3 keeps it, at most {MAX_BYTES} are allowed: use a sidecar file"
        raise InvalidParamsError(message, field="metadata", value=size, allowed=MAX_BYTES)
    return found


def _parsed(given: str) -> dict[str, Any]:
    try:
        parsed = json.loads(given, parse_float=str)  # 1.10 stays as it is written
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
