"""Bulk writes: split by size, send, check every item's answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragdrop_opensearch.errors import BLOCKED, BUSY_STATUS, DIMENSION, MISSING_INDEX, causes
from ragdrop_opensearch.mapping import utf8

MAX_CHUNKS = 100
MAX_BYTES = 5_000_000  # AWS's smallest domains take 10 MB a request; half of it leaves room


@dataclass(frozen=True, slots=True)
class BulkLine:
    """One chunk of a bulk request: the action's line and the document's, encoded."""

    content: bytes

    @classmethod
    def of(cls, chunk_id: str, routing: str, source: str) -> BulkLine:
        """The lines that write *source* under *chunk_id*, to an alias only: a write never makes an index."""
        action = json.dumps({"index": {"_id": chunk_id, "routing": routing, "require_alias": True}})
        return cls(utf8(f"{action}\n{source}\n"))


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """An item that was refused for good: its HTTP status and the server's error type."""

    status: int
    kind: str
    wrong_dimension: bool


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of a bulk request's items."""

    busy: list[BulkLine]
    missing_index: list[BulkLine]
    failed: list[RefusedItem]


def batches(
    lines: Iterable[BulkLine], *, max_chunks: int = MAX_CHUNKS, max_bytes: int = MAX_BYTES
) -> Iterator[list[BulkLine]]:
    """Cut *lines* into requests of at most *max_chunks* chunks and *max_bytes* bytes; one that is larger goes alone.

    >>> [len(batch) for batch in batches([BulkLine(b"x" * 40)] * 5, max_chunks=3, max_bytes=100)]
    [2, 2, 1]
    """
    batch: list[BulkLine] = []
    size_bytes = 0
    for line in lines:
        if batch and (len(batch) == max_chunks or size_bytes + len(line.content) > max_bytes):
            yield batch
            batch, size_bytes = [], 0
        batch.append(line)
        size_bytes += len(line.content)
    if batch:
        yield batch


def outcome(lines: Sequence[BulkLine], answer: dict[str, Any]) -> BulkOutcome:
    """Sort a bulk request's *lines* by what the server said of each; those that were written are left out."""
    found = BulkOutcome([], [], [])
    if not answer["errors"]:
        return found
    for line, item in zip(lines, answer["items"], strict=True):
        result = item["index"]
        error = result.get("error")
        if not error:
            continue
        kind = str(error.get("type", ""))
        if kind == MISSING_INDEX:
            found.missing_index.append(line)
        elif result["status"] in BUSY_STATUS or kind == BLOCKED:
            found.busy.append(line)
        else:
            found.failed.append(RefusedItem(result["status"], kind, bool(DIMENSION.search(causes(error)))))
    return found
