"""Facts of a document from front matter, sidecars and object metadata; a bad value is a warning."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from ragdrop.domain.documents import CONTENT_TYPES, PROMOTION_LEVELS, Facts, lowered
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.parsed import ParsedDocument

MAX_TITLE_CHARACTERS = 300
MAX_VALUE_CHARACTERS = 1_000
MAX_TAGS = 50
MAX_TAG_CHARACTERS = 100
TEXT_FIELDS = ("summary", "doc_type", "category", "session_id", "agent")


def facts_of(
    key: DocumentKey,
    document: ParsedDocument,
    *,
    version_id: str,
    indexed_at: str,
    object_metadata: Mapping[str, str] | None = None,
    sidecar: Mapping[str, Any] | None = None,
    categories: Collection[str] = (),
) -> tuple[Facts, tuple[str, ...], str]:
    """The facts, the warnings met on the way, and how the content type was found: `stated` or `detected`.

    Later wins: headers of a mail, S3 object metadata (names with `-` for `_`; `tags` and `attributes` may be JSON),
    the sidecar, front matter.  A title that is not stated is the first heading of level 1, else the file's name.  Where
    *categories* names some, another one is left out.
    """
    stated: dict[str, Any] = {name.replace("-", "_"): value for name, value in (object_metadata or {}).items()}
    stated.update(sidecar or {})
    stated = _with_own(document, stated)
    warnings = list(document.warnings)
    text = {name: _text(stated.get(name), name, warnings) for name in TEXT_FIELDS}
    if categories and text["category"] not in {None, *categories}:
        warnings.append(f"category {str(text['category'])[:40]!r} is not one that the settings list and is left out")
        text["category"] = None
    level = _choice(stated.get("promotion_level"), PROMOTION_LEVELS, "promotion_level", warnings)
    content_type = _choice(stated.get("content_type"), CONTENT_TYPES, "content_type", warnings)
    return (
        Facts(
            title=(_text(stated.get("title"), "title", warnings) or _title(key, document))[:MAX_TITLE_CHARACTERS],
            version_id=version_id,
            indexed_at=indexed_at,
            summary=text["summary"],
            doc_type=text["doc_type"],
            content_type=content_type or document.content_type,  # type: ignore[arg-type]
            promotion_level=level or "standard",  # type: ignore[arg-type]
            date=_date(stated.get("date"), warnings),
            tags=_tags(stated.get("tags"), warnings),
            category=text["category"],
            session_id=text["session_id"],
            agent=text["agent"],
            attributes=_attributes(stated.get("attributes"), warnings),
            char_count=len(document.text),
        ),
        tuple(dict.fromkeys(warnings)),
        "stated" if content_type else "detected",
    )


def _with_own(document: ParsedDocument, stated: dict[str, Any]) -> dict[str, Any]:
    """*stated* with what the document says of itself: front matter wins, headers of a mail do not."""
    if document.media_type == "text/markdown":
        return stated | document.metadata
    own = document.metadata.get("attributes") or {}
    given = _from_json(stated.get("attributes"), dict) or stated.get("attributes") or {}
    together = {"attributes": {**own, **given}} if own and isinstance(given, Mapping) else {}
    return document.metadata | stated | together


def _title(key: DocumentKey, document: ParsedDocument) -> str:
    heading = next((heading.text for heading in document.headings if heading.level == 1 and heading.text), None)
    return heading or PurePosixPath(key.path).stem.replace("-", " ").replace("_", " ") or key.path


def _text(value: object, name: str, warnings: list[str]) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str | int | float | bool | datetime.date):
        text = str(value).strip()
        if len(text) > (limit := MAX_TITLE_CHARACTERS if name == "title" else MAX_VALUE_CHARACTERS):
            warnings.append(f"{name} is cut to its first {limit} characters")
        return text[:limit] or None
    warnings.append(f"{name} must be text and is left out")
    return None


def _choice(value: object, allowed: tuple[str, ...], name: str, warnings: list[str]) -> str | None:
    if value is None or value == "":
        return None
    word = str(lowered(value))
    if word in allowed:
        return word
    warnings.append(f"{name} {str(value)[:40]!r} is not one of {', '.join(allowed)} and is left out")
    return None


def _date(value: object, warnings: list[str]) -> str | None:
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime.date):
            return value.isoformat()
        return datetime.datetime.fromisoformat(str(value)).isoformat() if len(str(value)) > 10 else _day(str(value))
    except ValueError:
        warnings.append(f"date {str(value)[:40]!r} is not a date of ISO 8601 and is left out")
        return None


def _day(value: str) -> str:
    return datetime.date.fromisoformat(value).isoformat()


def _tags(value: object, warnings: list[str]) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    listed = _from_json(value, list)
    values = value.split(",") if isinstance(value, str) and listed is None else listed or value
    if not isinstance(values, list | tuple):
        warnings.append("tags must be a list of words and are left out")
        return ()
    plain = [str(tag).strip() for tag in values if isinstance(tag, str | int | float | datetime.date)]
    if len(plain) < len(values):
        warnings.append("tags that are not plain values are left out")
    tags = dict.fromkeys(tag[:MAX_TAG_CHARACTERS] for tag in plain if tag)
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_CHARACTERS for tag in plain):
        warnings.append(f"tags are cut to {MAX_TAGS} of at most {MAX_TAG_CHARACTERS} characters")
    return tuple(tags)[:MAX_TAGS]


def _attributes(value: object, warnings: list[str]) -> dict[str, str]:
    if value is None or value == "":
        return {}
    value = _from_json(value, dict) or value
    if not isinstance(value, Mapping):
        warnings.append("attributes must be a map and are left out")
        return {}
    plain = {
        str(name): str(held)
        for name, held in value.items()
        if isinstance(held, str | int | float | bool | datetime.date)
    }
    if len(plain) < len(value):
        warnings.append("attributes that are not plain values are left out")
    return plain


def _from_json(value: object, kind: type) -> Any:
    """What a text holds as JSON, if it is of *kind*: S3 object metadata is text only."""
    if not isinstance(value, str) or value[:1] not in {"[", "{"}:
        return None
    try:
        held = json.loads(value)
    except ValueError:
        return None
    return held if isinstance(held, kind) else None


MAX_SIDECAR_BYTES = 64 * 1024
BEDROCK_FIELD = "metadataAttributes"  # Amazon Bedrock's sidecars wrap their fields in this one
FIELDS = frozenset(
    [
        "title",
        "summary",
        "doc_type",
        "content_type",
        "promotion_level",
        "date",
        "tags",
        "category",
        "session_id",
        "agent",
        "attributes",
    ]
)


def read_sidecar(body: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields of a sidecar and what was wrong with it; a bad one is left out whole, never a failure.

    In Bedrock's shape fields that ragdrop has no name for become attributes.

    >>> read_sidecar(b'{"tags": ["a"]}')
    ({'tags': ['a']}, ())
    >>> read_sidecar(b'{"metadataAttributes": {"category": "x", "year": 2026}}')
    ({'category': 'x', 'attributes': {'year': 2026}}, ())
    >>> read_sidecar(b'nonsense')
    ({}, ('the sidecar is not valid JSON and is left out',))
    """
    if len(body) > MAX_SIDECAR_BYTES:
        return {}, (f"the sidecar has over {MAX_SIDECAR_BYTES} bytes and is left out",)
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}, ("the sidecar is not valid JSON and is left out",)
    if not isinstance(fields, dict):
        return {}, ("the sidecar is not a JSON object and is left out",)
    wrapped = fields.get(BEDROCK_FIELD)
    if isinstance(wrapped, dict):
        known = {name: value for name, value in wrapped.items() if name in FIELDS}
        others = {name: value for name, value in wrapped.items() if name not in FIELDS}
        return known | ({"attributes": others} if others else {}), ()
    return fields, ()
