"""Candidates from OpenSearch: build the searches of a query and parse their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragdrop.domain.chunks import CandidateQuery, Candidates, Hit
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop_opensearch.admin import dimension_error
from ragdrop_opensearch.mapping import Documents, hit_of, vector_json
from ragdrop_opensearch.nearest import cosine_of
from ragdrop_opensearch.queries import (
    cosines_search,
    filter_clause,
    lexical_search,
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
    written: dict[int, str | None] = {}  # scopes share the question's vector, and its text is most of a request
    for query in queries:
        clause = filter_clause(index.tenant, query.filters, query.without)
        places: list[int | None] = [None, None, None]
        vector = None
        if query.vector is not None:
            if len(query.vector) != index.dimension:
                raise dimension_error(index, len(query.vector), index.dimension)
            if id(query.vector) not in written:
                written[id(query.vector)] = vector_json(query.vector) if any(query.vector) else None
            vector = written[id(query.vector)]
        if vector is not None:
            places[0] = len(searches)
            searches.append((routing, vector_search(vector, clause, query.limit, ef_search)))
        words = words_of(query.text or "")
        if words:
            places[1] = len(searches)
            searches.append((routing, lexical_search(words, clause, query.limit, combined=combined)))
        if words and vector is not None:
            places[2] = len(searches)
            near = cosines_search(words, clause, query.limit, vector, routes=index.routes, combined=combined)
            searches.append((routing, near))
        plan.append((places[0], places[1], places[2]))
    return searches, plan


def answered(index: IndexRef, plan: Plan, answers: Sequence[Part]) -> list[Candidates]:
    """The candidates of each query of *plan*."""
    known, made = Documents(), dict[str, Hit]()
    found = []
    for vector_place, lexical_place, cosines_place in plan:
        vector_hits, vector_error = NOTHING if vector_place is None else answers[vector_place]
        # Lucene's score of a cosine is (1 + cosine) / 2, so that it is never negative
        nearest = [
            _once(index, hit, max(-1.0, min(1.0, 2.0 * hit["_score"] - 1.0)), known, made) for hit in vector_hits
        ]
        lexical_hits, lexical_error = NOTHING if lexical_place is None else answers[lexical_place]
        near, _ = NOTHING if cosines_place is None else answers[cosines_place]  # without it words alone count
        cosines = {hit["fields"]["chunk_id"][0]: cosine_of(hit["_score"]) for hit in near if hit["_score"] > 0}
        worded = [
            _once(index, hit, hit["_score"], known, made, cosines.get(hit["_source"]["chunk_id"]))
            for hit in lexical_hits
        ]
        found.append(Candidates(nearest, worded, vector_error, lexical_error))
    return found


def _once(
    index: IndexRef,
    found: Mapping[str, Any],
    score: float,
    known: Documents,
    made: dict[str, Hit],
    cosine: float | None = None,
) -> Hit:
    """The hit that the server *found*, of a chunk that is *made* once however many searches of a request found it."""
    name = found["_source"]["chunk_id"]
    hit = made.get(name)
    if hit is None:
        hit = made[name] = tenants_hit(index, found, score, known, cosine)
        return hit
    return Hit(hit.key, hit.revision, hit.chunk, hit.facts, score, hit.links, name, cosine)


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
