"""DynamoDB's capacity units by AWS's rules, from items as the low-level API has them.

References:
    "DynamoDB item sizes and formats" and "DynamoDB read and write operations", Amazon DynamoDB Developer Guide.
    tests/contract/test_capacity.py compares these functions with DynamoDB Local's own answers.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

Item = Mapping[str, Any]
"""Typed attributes, such as `{"PK": {"S": "a"}}`."""

READ_BYTES, WRITE_BYTES = 4_096, 1_024  # of a unit
INDEX_KEYS = ("GPK", "GSK")  # of the registry's index `listing`, which has whole items


def size_of(item: Item) -> int:
    """Bytes of an item: its names and values.

    >>> size_of({"PK": {"S": "a"}, "count": {"N": "12"}, "tags": {"L": [{"S": "x"}]}})
    19
    """
    return sum(len(name.encode()) + _bytes(typed) for name, typed in item.items())


def read_units(size_bytes: int, *, consistent: bool = True) -> float:
    """Units of one read of *size_bytes*; also of an item that is not there.

    >>> read_units(0), read_units(4_097), read_units(4_097, consistent=False)
    (1.0, 2.0, 1.0)
    """
    return max(ceil(size_bytes / READ_BYTES), 1) * (1.0 if consistent else 0.5)


def write_units(before: Item | None, after: Item | None) -> int:
    """Units of a write outside of a transaction: the larger of both items counts.

    >>> write_units(None, {"PK": {"S": "a" * 1_023}})
    2
    """
    return max(ceil(max(size_of(before or {}), size_of(after or {})) / WRITE_BYTES), 1)


def index_units(before: Item | None, after: Item | None) -> int:
    """Units that a write costs the index `listing`: two where the item moves within it, none where nothing changed.

    >>> listed = {"PK": {"S": "a"}, "GPK": {"S": "indexed"}, "GSK": {"S": "a"}}
    >>> index_units(None, listed), index_units(listed, {**listed, "GPK": {"S": "failed"}}), index_units(listed, listed)
    (1, 2, 0)
    """
    old, new = _indexed(before), _indexed(after)
    if old == new:
        return 0
    if old is not None and new is not None and all(old[name] == new[name] for name in INDEX_KEYS):
        return write_units(old, new)
    return sum(write_units(each, None) for each in (old, new) if each is not None)


def _indexed(item: Item | None) -> Item | None:
    return item if item is not None and all(name in item for name in INDEX_KEYS) else None


def _bytes(typed: Mapping[str, Any]) -> int:
    [(kind, value)] = typed.items()
    if kind == "S":
        return len(value.encode())
    if kind == "N":
        return _number_bytes(value)
    if kind == "B":
        return len(value) if isinstance(value, bytes) else len(base64.b64decode(value))
    if kind in {"BOOL", "NULL"}:
        return 1
    if kind in {"SS", "NS", "BS"}:
        return sum(_bytes({kind[0]: each}) for each in value)
    inside: Iterable[int] = map(_bytes, value) if kind == "L" else (size_of({name: value[name]}) for name in value)
    return 3 + len(value) + sum(inside)


def _number_bytes(text: str) -> int:
    """A byte for two significant digits, one for the exponent, one for a sign."""
    digits = text.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")
    return ceil(len(digits) / 2) + 1 + text.startswith("-")
