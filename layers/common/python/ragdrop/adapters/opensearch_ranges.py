"""Ranges of chunks from OpenSearch: all of them by one search, in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragdrop.adapters.opensearch_candidates import tenants_hit
from ragdrop.adapters.opensearch_mapping import Documents, revision_term
from ragdrop.adapters.opensearch_nearest import Found
from ragdrop.adapters.opensearch_queries import PAGE_SIZE, ranges_search, routing_value
from ragdrop.domain.chunks import ChunkRange, Hit
from ragdrop.domain.tenants import IndexRef


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
