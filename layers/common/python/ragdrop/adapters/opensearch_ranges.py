"""Ranges of chunks from OpenSearch: all of them by one search, in their order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragdrop.adapters.opensearch_candidates import tenants_hit
from ragdrop.adapters.opensearch_mapping import Documents, revision_term
from ragdrop.adapters.opensearch_queries import routing_value
from ragdrop.domain.chunks import ChunkRange, Hit
from ragdrop.domain.tenants import IndexRef

PAGE_SIZE = 1_000  # chunks that one search brings; OpenSearch allows at most 10,000
MAX_ORDINAL = 2**31 - 1  # of an OpenSearch integer

Found = list[list[dict[str, Any]]]


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


def ranges_search(tenant: str, ranges: Sequence[ChunkRange]) -> str:
    """The first page of the chunks in any of *ranges*, by revision, then in their order."""
    wanted = [
        {"bool": {"filter": [{"term": {"document_revision": revision_term(part.key, part.revision)}}, _ordinals(part)]}}
        for part in ranges
    ]
    body = {
        "size": min(sum(part.last - part.first + 1 for part in ranges), PAGE_SIZE),
        "track_total_hits": False,
        "query": {
            "bool": {"filter": [{"term": {"tenant": tenant}}, {"bool": {"should": wanted, "minimum_should_match": 1}}]}
        },
        "sort": [{"document_revision": "asc"}, {"ordinal": "asc"}],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _ordinals(part: ChunkRange) -> dict[str, Any]:
    return {"range": {"ordinal": {"gte": part.first, "lte": min(part.last, MAX_ORDINAL)}}}


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
