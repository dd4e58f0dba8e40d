"""Sidecars: `file.ext.metadata.json` beside `file.ext` says what the document does not say of itself."""

from __future__ import annotations

import json
from typing import Any

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
