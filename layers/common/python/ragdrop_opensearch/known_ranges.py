"""Chunks of given ranges: read by one search for all, and kept, as the text of a revision never changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import ChunkRange, Hit, held_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.candidates import tenants_hit
from ragdrop_opensearch.mapping import Documents, revision_term
from ragdrop_opensearch.nearest import Found
from ragdrop_opensearch.queries import PAGE_SIZE, ranges_search, routing_value

MAX_REVISIONS = 4_096
MAX_CHARACTERS = 8_000_000  # of all kept chunks: some 16 MB with what stands around them
KEPT_S = 300.0  # a text that was purged leaves the environment's memory at the first look after this

Revision = tuple[IndexRef, DocumentKey, int]
"""One revision in one index: a new index may have cut it into other chunks."""
Chunks = Mapping[int, Hit]
"""Chunks of a revision by their ordinals."""
Search = Callable[[Sequence[tuple[str, str]]], Found]
"""Sends pairs of a routing value and a search."""


class KnownRanges:
    """Reads ranges of chunks, and keeps what was read.  Safe to share between threads; one per environment.

    Who asks has checked that the revision is live, so a replaced or deleted one is not asked for.

    Args:
        clock: Seconds on a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held = _nothing()

    def read(self, search: Search, index: IndexRef, ranges: Sequence[ChunkRange]) -> list[list[Hit]]:
        """The chunks of each range; *search* is called where some are not known, and not otherwise."""
        now_s, held = self._clock(), self._held
        known = [held.get((index, part.key, part.revision), now_s=now_s) or {} for part in ranges]
        found = [held_of(part, chunks) if chunks else None for part, chunks in zip(ranges, known, strict=True)]
        missing = [part for part, hits in zip(ranges, found, strict=True) if hits is None]
        read = read_ranges(search, index, missing) if missing else []
        for part, hits in zip(missing, read, strict=True):
            name = (index, part.key, part.revision)
            chunks = {**(held.get(name, now_s=now_s) or {}), **{hit.chunk.ordinal: hit for hit in hits}}
            if chunks:
                weight = sum(len(hit.chunk.in_context) for hit in chunks.values())
                held.put(name, chunks, now_s=now_s, weight=weight)
        fresh = iter(read)
        return [next(fresh) if hits is None else hits for hits in found]

    def forget(self) -> None:
        """Forget all: something was written or removed."""
        self._held = _nothing()


def _nothing() -> BoundedCache[Revision, Chunks]:
    return BoundedCache(size=MAX_REVISIONS, ttl_s=KEPT_S, max_weight=MAX_CHARACTERS)


def read_ranges(
    search: Callable[[Sequence[tuple[str, str]]], Found], index: IndexRef, ranges: Sequence[ChunkRange]
) -> list[list[Hit]]:
    """The chunks of each range; *search* sends a routing value and a search, once more for every 1,000 chunks.

    One search for all, not one each: what a search costs the server beside its hits is most of it here.
    """
    found: list[list[Hit]] = [[] for _ in ranges]
    known: Documents = {}
    left = {place: part for place, part in enumerate(ranges) if _may_read(index, part)}
    while left:
        routing = ",".join(sorted({routing_value(part.key, index.routes) for part in left.values()}))
        [page] = search([(routing, ranges_search(index.tenant, list(left.values())))])
        places: dict[str, list[int]] = {}
        for place, part in left.items():
            places.setdefault(revision_term(part.key, part.revision), []).append(place)
        for one in page:
            hit = tenants_hit(index, one, 0.0, known)
            for place in places[one["_source"]["document_revision"]]:
                if left[place].first <= hit.chunk.ordinal <= left[place].last:
                    found[place].append(hit)
        left = _behind(page[-1]["_source"], left) if len(page) == PAGE_SIZE else {}
    return found


def _may_read(index: IndexRef, part: ChunkRange) -> bool:
    return part.key.tenant == index.tenant and part.first <= part.last


def _behind(last: Mapping[str, Any], ranges: Mapping[int, ChunkRange]) -> dict[int, ChunkRange]:
    """What of *ranges* comes behind the chunk *last*, in the order of the search."""
    behind = {}
    for place, part in ranges.items():
        term = revision_term(part.key, part.revision)
        first = max(part.first, last["ordinal"] + 1) if term == last["document_revision"] else part.first
        if term >= last["document_revision"] and first <= part.last:
            behind[place] = ChunkRange(part.key, part.revision, first, part.last)
    return behind
