"""Hits of OpenSearch: candidates of queries, nearest chunks of revisions, and ranges of chunks, which are cached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, Vector, best_first, cached_part
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop_opensearch.mapping import Documents, dimension_error, hit_of, revision_term, vector_json
from ragdrop_opensearch.searches import (
    PAGE_SIZE,
    cosines_search,
    filter_clause,
    first_chunks_search,
    lexical_search,
    nearest_search,
    ranges_search,
    routing_value,
    routing_values,
    vector_search,
    words_of,
)

MAX_REVISIONS = 4_096
MAX_CHARACTERS = 8_000_000  # of all cached chunks: some 16 MB with their overhead
CACHE_S = 300.0  # a text that was purged leaves the cache at the first read after this

Revision = tuple[IndexRef, DocumentKey, int]
"""One revision in one index: a new index may have cut it into other chunks."""
Chunks = Mapping[int, Hit]
"""Chunks of a revision by their ordinals."""
Found = list[list[dict[str, Any]]]
"""The hits of each search."""
Search = Callable[[Sequence[tuple[str, str]]], Found]
"""Sends pairs of a routing value and a search."""
Part = tuple[list[dict[str, Any]], DatabaseError | None]
"""What one search of several gave, or why it failed."""
NOTHING: Part = ([], None)

Plan = list[tuple[int | None, int | None, int | None]]
"""Of each query: where its vector answer, its lexical one and the cosines of that will be; None if not asked for."""


def planned(
    index: IndexRef, queries: Sequence[CandidateQuery], *, ef_search: int, combined: bool
) -> tuple[list[tuple[str, str]], Plan]:
    """The searches of all queries, each with its routing, and where the answers of each query will be.

    Raises ConfigurationError: a vector is not of the index's dimension.
    """
    routing = routing_values(index.tenant, index.routes)
    searches: list[tuple[str, str]] = []
    plan: Plan = []
    written: dict[int, str | None] = {}  # scopes share the question's vector, and its text is most of a request
    for query in queries:
        clause = filter_clause(index.tenant, query.filters, query.without, query.hidden)
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
        near, _ = NOTHING if cosines_place is None else answers[cosines_place]  # optional: cosines of lexical hits
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
    """The hit that the server *found*.  Raises DatabaseError: it is another tenant's."""
    source = found["_source"]
    if source["tenant"] != index.tenant:  # cannot happen while the filter is right; then it must not pass unseen
        raise DatabaseError("the index gave a chunk of another tenant", service="index", retryable=False)
    return hit_of(source, score, known, cosine)


def nearest_hits(
    search: Search, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]]
) -> list[Hit]:
    """Of each revision its nearest chunk, else its first."""
    asked = sorted({revision_term(key, revision) for key, revision in revisions if key.tenant == index.tenant})
    if not asked:
        return []
    routing = routing_values(index.tenant, index.routes)
    searches = [(routing, first_chunks_search(index.tenant, asked))]
    if vector is not None and any(vector):
        searches.append((routing, nearest_search(index.tenant, asked, vector)))
    answers = search(searches)
    known: Documents = {}
    hits = {found["_source"]["document_revision"]: hit_of(found["_source"], 0.0, known) for found in answers[0]}
    for found in answers[1] if len(answers) > 1 else []:
        near = hit_of(found["_source"], cosine_of(found["_score"]), known)
        first = hits.get(found["_source"]["document_revision"], near)
        hits[found["_source"]["document_revision"]] = replace(near, links=first.links)
    return best_first(hits.values())


def cosine_of(score: float) -> float:
    """The cosine of two vectors of length 1 whose squared distance d2 got the script's score 1 / (1 + d2).

    By distance, because the script's score of a cosine is not the same in OpenSearch 2 and 3.

    >>> cosine_of(1.0), cosine_of(1 / 3)
    (1.0, 0.0)
    """
    return max(-1.0, 1.0 - (1.0 / score - 1.0) / 2.0)


class KnownRanges:
    """Reads ranges of chunks, and caches them.  Safe to share between threads; one per environment.

    The caller has checked that each revision is live.  *clock* gives seconds on a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cache = _empty_cache()

    def read(self, search: Search, index: IndexRef, ranges: Sequence[ChunkRange]) -> list[list[Hit]]:
        """The chunks of each range; *search* is called only for those that are not cached."""
        now_s, cache = self._clock(), self._cache
        known = [cache.get((index, part.key, part.revision), now_s=now_s) or {} for part in ranges]
        found = [cached_part(part, chunks) if chunks else None for part, chunks in zip(ranges, known, strict=True)]
        missing = [part for part, hits in zip(ranges, found, strict=True) if hits is None]
        read = read_ranges(search, index, missing) if missing else []
        for part, hits in zip(missing, read, strict=True):
            name = (index, part.key, part.revision)
            chunks = {**(cache.get(name, now_s=now_s) or {}), **{hit.chunk.ordinal: hit for hit in hits}}
            if chunks:
                weight = sum(len(hit.chunk.in_context) for hit in chunks.values())
                cache.put(name, chunks, now_s=now_s, weight=weight)
        fresh = iter(read)
        return [next(fresh) if hits is None else hits for hits in found]

    def forget(self) -> None:
        """Empty the cache: something was written or removed."""
        self._cache = _empty_cache()


def _empty_cache() -> BoundedCache[Revision, Chunks]:
    return BoundedCache(size=MAX_REVISIONS, ttl_s=CACHE_S, max_weight=MAX_CHARACTERS)


def read_ranges(search: Search, index: IndexRef, ranges: Sequence[ChunkRange]) -> list[list[Hit]]:
    """The chunks of each range, by one *search* for all and one more for every 1,000 chunks.

    Not one each: most of what a search costs the server does not depend on its hits.
    """
    found: list[list[Hit]] = [[] for _ in ranges]
    known: Documents = {}
    may_read = (part.key.tenant == index.tenant and part.first <= part.last for part in ranges)
    left = {place: part for place, (part, may) in enumerate(zip(ranges, may_read, strict=True)) if may}
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


def _behind(last: Mapping[str, Any], ranges: Mapping[int, ChunkRange]) -> dict[int, ChunkRange]:
    """What of *ranges* comes behind the chunk *last*, in the order of the search."""
    behind = {}
    for place, part in ranges.items():
        term = revision_term(part.key, part.revision)
        first = max(part.first, last["ordinal"] + 1) if term == last["document_revision"] else part.first
        if term >= last["document_revision"] and first <= part.last:
            behind[place] = ChunkRange(part.key, part.revision, first, part.last)
    return behind
