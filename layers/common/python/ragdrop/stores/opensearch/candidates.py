"""Candidates from OpenSearch: build the searches of a query and parse their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop.stores.opensearch.admin import dimension_error
from ragdrop.stores.opensearch.mapping import Documents, hit_of, revision_term
from ragdrop.stores.opensearch.nearest import Found, cosine_of
from ragdrop.stores.opensearch.queries import (
    PAGE_SIZE,
    cosines_search,
    filter_clause,
    lexical_search,
    ranges_search,
    routing_value,
    routing_values,
    vector_search,
    words_of,
)

Part = tuple[list[dict[str, Any]], DatabaseError | None]
"""What one search of several gave, or why it failed."""
NOTHING: Part = ([], None)

Plan = list[tuple[int | None, int | None, int | None]]
"""Of each query: where its vector answer, its lexical one and the cosines of that will be; None where not asked for."""


def planned(
    index: IndexRef, queries: Sequence[CandidateQuery], *, ef_search: int, combined: bool
) -> tuple[list[tuple[str, str]], Plan]:
    """The searches of all queries, each with its routing, and where the answers of each query will be.

    Raises:
        ConfigurationError: A vector is not of the index's dimension.
    """
    routing = routing_values(index.tenant, index.routes)
    searches: list[tuple[str, str]] = []
    plan: Plan = []
    for query in queries:
        clause = filter_clause(index.tenant, query.filters, query.without)
        places: list[int | None] = [None, None, None]
        if query.vector is not None and len(query.vector) != index.dimension:
            raise dimension_error(index, len(query.vector), index.dimension)
        if query.vector is not None and any(query.vector):
            places[0] = len(searches)
            searches.append((routing, vector_search(query.vector, clause, query.limit, ef_search)))
        words = words_of(query.text or "")
        if words:
            places[1] = len(searches)
            searches.append((routing, lexical_search(words, clause, query.limit, combined=combined)))
        if words and query.vector is not None and any(query.vector):
            places[2] = len(searches)
            near = cosines_search(words, clause, query.limit, query.vector, routes=index.routes, combined=combined)
            searches.append((routing, near))
        plan.append((places[0], places[1], places[2]))
    return searches, plan


def answered(index: IndexRef, plan: Plan, answers: Sequence[Part]) -> list[Candidates]:
    """The candidates of each query of *plan*."""
    known: Documents = {}
    found = []
    for vector_place, lexical_place, cosines_place in plan:
        vector_hits, vector_error = NOTHING if vector_place is None else answers[vector_place]
        # Lucene's score of a cosine is (1 + cosine) / 2, so that it is never negative
        nearest = [
            tenants_hit(index, hit, max(-1.0, min(1.0, 2.0 * hit["_score"] - 1.0)), known) for hit in vector_hits
        ]
        lexical_hits, lexical_error = NOTHING if lexical_place is None else answers[lexical_place]
        near, _ = NOTHING if cosines_place is None else answers[cosines_place]  # without it words alone count
        cosines = {hit["fields"]["chunk_id"][0]: cosine_of(hit["_score"]) for hit in near if hit["_score"] > 0}
        worded = [
            tenants_hit(index, hit, hit["_score"], known, cosines.get(hit["_source"]["chunk_id"]))
            for hit in lexical_hits
        ]
        found.append(Candidates(nearest, worded, vector_error, lexical_error))
    return found


def tenants_hit(
    index: IndexRef, found: Mapping[str, Any], score: float, known: Documents, cosine: float | None = None
) -> Hit:
    """The hit that the server *found*.

    Raises:
        DatabaseError: It is another tenant's.
    """
    source = found["_source"]
    if source["tenant"] != index.tenant:  # cannot happen while the filter is right; then it must not pass unseen
        raise DatabaseError("the index gave a chunk of another tenant", service="index", retryable=False)
    return hit_of(source, score, known, cosine)


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
