"""A ChunkIndex for tests that keeps chunks in a dictionary; it ranks as the real ones do, in the simplest way."""

from __future__ import annotations

import json
import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import fields, replace

from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Filters,
    Hit,
    IndexedChunk,
    IndexedRevision,
    RevisionPage,
    Vector,
    best_first,
    check_dimension,
    has_direction,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts, name_line, name_match, typed_words
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, RagdropError
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead, IndexFaults
from ragdrop.ports.search_services import SearchableIndex

_BM25_K1, _BM25_B = 1.2, 0.75  # the usual ones, those of Lucene and FTS5 too


class MemoryChunkIndex:
    """A ChunkIndex without a disk.

    `calls` names the operations in order; set `fail_with` and every one raises it.  `fails` may say of each query which
    of its parts, `vector` or `lexical`, fail.
    """

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self.ahead: list[CandidateQuery] = []
        self.asked: list[CandidateQuery] = []
        self.fails: Callable[[CandidateQuery], Collection[str]] = lambda _query: ()
        self._chunks: dict[tuple[str, str], dict[str, IndexedChunk]] = {}
        self._lock = threading.Lock()

    def drops_superseded(self, index: IndexRef) -> bool:
        return False

    def ready(
        self,
        index: IndexRef,
        deadline: Deadline,
        counts: ChangeCounts | None = None,
        queries: Sequence[CandidateQuery] = (),
    ) -> None:
        """Nothing to do; `ahead` has its queries, as `asked` has those of the last search."""
        del index, deadline, counts
        self.ahead = list(queries)

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        self._called("upsert", deadline)
        for chunk in chunks:
            check_dimension(index.dimension, len(chunk.vector))
        with self._lock:
            stored = self._chunks.setdefault((index.tenant, index.name), {})
            _check_stored(stored.values(), index)
            stored.update({chunk.id: chunk for chunk in chunks})

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        self._called("refresh", deadline)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        self._called("candidates", deadline)
        self.asked = list(queries)
        stored = self._stored(index)
        for query in queries:
            if query.vector is not None:
                check_dimension(index.dimension, len(query.vector))
                _check_stored(stored, index)
        found = [_without(_candidates(stored, query), self.fails(query)) for query in queries]
        failed = [each.vector_error or each.lexical_error for each in found]
        if failed and all(each.vector_error and each.lexical_error for each in found) and failed[0]:
            raise failed[0]
        return found

    def overlaid(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> SearchableIndex:
        self.calls.append("overlaid")
        return MemoryOverlay(self, chunks)

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        self._called("read", deadline)
        stored = sorted(self._stored(index), key=lambda chunk: chunk.chunk.ordinal)
        return [
            [
                _hit(chunk, 0.0)
                for chunk in stored
                if (chunk.key, chunk.revision) == (required.key, required.revision)
                and required.first <= chunk.chunk.ordinal <= required.last
            ]
            for required in ranges
        ]

    def nearest_of(
        self, index: IndexRef, vector: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        self._called("nearest_of", deadline)
        found: dict[tuple[DocumentKey, int], list[IndexedChunk]] = {}
        for chunk in sorted(self._stored(index), key=lambda chunk: chunk.chunk.ordinal):
            if (chunk.key, chunk.revision) in set(revisions):
                found.setdefault((chunk.key, chunk.revision), []).append(chunk)
        return best_first(_nearest(chunks, vector) for chunks in found.values())

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        self._called("remove", deadline)
        with self._lock:
            stored = self._chunks.get((index.tenant, index.name), {})
            required = range(from_revision, before_revision)
            gone = [name for name, chunk in stored.items() if chunk.key == key and chunk.revision in required]
            for name in gone:
                del stored[name]
        return len(gone)

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Some of the tenant's revisions by vault, path and revision; the cursor is the last one given."""
        self._called("revisions", deadline)
        stored = {(chunk.key, chunk.revision): chunk.facts.indexed_at for chunk in self._stored(index)}
        after = tuple(json.loads(cursor)) if cursor else ("", "", -1)
        left = sorted(each for each in stored if (each[0].vault, each[0].path, each[1]) > after)
        found = [IndexedRevision(key, revision, stored[key, revision]) for key, revision in left[:limit]]
        last = found[-1] if len(left) > limit else None
        return RevisionPage(found, json.dumps([last.key.vault, last.key.path, last.revision]) if last else None)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        self._called("count", deadline)
        return len(self._stored(index))

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        return IndexFaults()

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:
        self._called("verify", deadline)
        return None

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        self.drop(index, deadline)

    def damaged(self, index: IndexRef) -> tuple[str, ...]:
        return ()

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        self._called("drop", deadline)
        with self._lock:
            return len(self._chunks.pop((index.tenant, index.name), {}))

    def check(self, deadline: Deadline) -> None:
        self._called("check", deadline)

    def _called(self, operation: str, deadline: Deadline) -> None:
        self.calls.append(operation)
        deadline.timeout_s(1.0, stage="index")
        if self.fail_with is not None:
            raise self.fail_with

    def _stored(self, index: IndexRef) -> list[IndexedChunk]:
        with self._lock:
            return list(self._chunks.get((index.tenant, index.name), {}).values())


class MemoryOverlay(MemoryChunkIndex):
    """An index with more chunks than were written to the one below."""

    def __init__(self, below: MemoryChunkIndex, chunks: Sequence[IndexedChunk]) -> None:
        super().__init__()
        self._below = below
        self._more = {chunk.id: chunk for chunk in chunks}

    def _called(self, operation: str, deadline: Deadline) -> None:
        self._below._called(operation, deadline)

    def _stored(self, index: IndexRef) -> list[IndexedChunk]:
        return list({**{chunk.id: chunk for chunk in self._below._stored(index)}, **self._more}.values())


def matches(filters: Filters, key: DocumentKey, facts: Facts) -> bool:
    """Whether a chunk of *key* with *facts* passes *filters*.

    >>> facts = Facts("Pump", "v1", "2024-05-01T00:00:00Z", date="2024-05-01T10:00:00Z")
    >>> matches(Filters(date_to="2024-05-01"), DocumentKey("acme", "team", "a.md"), facts)
    True
    """
    if filters.excluded is not None and any(matches(each, key, facts) for each in _apart(filters.excluded)):
        return False
    pairs = (
        (key.vault, filters.vaults),
        (facts.doc_type, filters.doc_types),
        (facts.content_type, filters.content_types),
        (facts.category, filters.categories),
        (facts.session_id, filters.session_ids),
        (facts.promotion_level, filters.promotion_levels),
    )
    return (
        all(not required or value in required for value, required in pairs)
        and (not filters.folders or any(folder.holds(key) for folder in filters.folders))
        and (not filters.tags or not set(filters.tags).isdisjoint(facts.tags))
        and all(facts.attributes.get(name) in values for name, values in filters.alternatives)
        and (filters.date_from is None or (facts.date is not None and facts.date >= filters.date_from))
        and (filters.date_to is None or (facts.date is not None and _until(facts.date, filters.date_to)))
    )


def _apart(filters: Filters) -> Iterator[Filters]:
    """Filters of one field each, that together name what *filters* name."""
    for each in fields(filters):
        value = getattr(filters, each.name)
        if each.name == "attributes":
            yield from (Filters(attributes={name: values}) for name, values in filters.alternatives)
        elif value:
            yield Filters(**{each.name: value})


def _until(date: str, last: str) -> bool:
    return (date[:10] if len(last) == len("2026-01-31") else date) <= last  # a day includes all of its times


def _candidates(stored: list[IndexedChunk], query: CandidateQuery) -> Candidates:
    allowed = [
        chunk
        for chunk in stored
        if matches(query.filters, chunk.key, chunk.facts)
        and (chunk.key, chunk.revision) not in query.without
        and not any(
            each.folder.holds(chunk.key) and not any(folder.holds(chunk.key) for folder in each.but)
            for each in query.hidden
        )
    ]
    near: dict[str, float] = {}
    if query.vector is not None and has_direction(query.vector):
        near = {chunk.id: _cosine(query.vector, chunk.vector) for chunk in allowed if has_direction(chunk.vector)}
    found = _typed(stored, query) if query.match != "any" else _bm25(set(_words(query.text or "")), stored)
    worded = [replace(hit, cosine=near.get(hit.chunk_id)) for hit in _best(allowed, found, query.limit)]
    return Candidates(_best(allowed, near, query.limit), worded)


def _typed(stored: list[IndexedChunk], query: CandidateQuery) -> dict[str, float]:
    """Scores of chunks that have every word as typed, each taken for a beginning; of names those of `name_match`."""
    words, found = typed_words(query.text or ""), dict[str, float]()
    for chunk in stored if words else ():
        if query.match == "begun":
            text = " ".join((chunk.chunk.in_context, chunk.facts.names, *chunk.chunk.heading_path, *chunk.facts.tags))
            if set(words) == {word for word in words for one in typed_words(text) if one.startswith(word)}:
                found[chunk.id] = 1.0
        elif not chunk.chunk.ordinal and (match := name_match(words, name_line(chunk.key.path, chunk.facts))):
            found[chunk.id] = match[0]
    return found


def _without(found: Candidates, parts: Collection[str]) -> Candidates:
    if not parts:
        return found
    error = DatabaseError("a part of the index does not answer", service="index")
    return Candidates(
        [] if "vector" in parts else found.vector,
        [] if "lexical" in parts else found.lexical,
        error if "vector" in parts else None,
        error if "lexical" in parts else None,
    )


def _best(allowed: list[IndexedChunk], scores: dict[str, float], limit: int) -> list[Hit]:
    hits = [_hit(chunk, scores[chunk.id]) for chunk in allowed if chunk.id in scores]
    return best_first(hits)[:limit]


def _cosine(left: Vector, right: Vector) -> float:
    dot = sum(one * other for one, other in zip(left, right, strict=True))
    return max(-1.0, min(1.0, dot / (math.hypot(*left) * math.hypot(*right))))


def _bm25(required: set[str], stored: list[IndexedChunk]) -> dict[str, float]:
    """Okapi BM25 over all chunks stored; words of the text count twice those of title, headings and tags."""
    counts: dict[str, Counter[str]] = {}
    for chunk in stored if required else []:
        beside = " ".join((chunk.facts.title, *chunk.chunk.heading_path, *chunk.facts.tags))
        counts[chunk.id] = Counter(2 * _words(chunk.chunk.in_context) + _words(beside))
    mean = sum(count.total() for count in counts.values()) / max(1, len(counts)) or 1.0
    scores: dict[str, float] = {}
    for word in sorted(required):
        having = sum(1 for count in counts.values() if word in count)
        rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for name, count in counts.items():
            if word in count:
                long = _BM25_K1 * (1 - _BM25_B + _BM25_B * count.total() / mean)
                scores[name] = scores.get(name, 0.0) + rarity * count[word] * (_BM25_K1 + 1) / (count[word] + long)
    return scores


def _nearest(chunks: list[IndexedChunk], required: Vector | None) -> Hit:
    near = [chunk for chunk in chunks if required and has_direction(required) and has_direction(chunk.vector)]
    hits = [_hit(chunk, _cosine(required, chunk.vector)) for chunk in near if required]
    best = next(iter(best_first(hits)), _hit(chunks[0], 0.0))
    return replace(best, links=chunks[0].links)


def _words(text: str) -> list[str]:
    bare = "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )
    return [_stem(word) for word in re.findall(r"[^\W_]+", bare.casefold())]


def _stem(word: str) -> str:
    return re.sub(r"(ing|ed|es|s)$", "", word) if len(word) > 4 else word


def _hit(chunk: IndexedChunk, score: float) -> Hit:
    return Hit(chunk.key, chunk.revision, chunk.chunk, chunk.facts, score, chunk.links)


def _check_stored(stored: Iterable[IndexedChunk], index: IndexRef) -> None:
    first = next(iter(stored), None)
    if first is not None:
        check_dimension(len(first.vector), index.dimension)
