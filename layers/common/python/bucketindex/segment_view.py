"""A view: all live segments of an index at one moment, searched as one."""

from __future__ import annotations

import heapq
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from bucketindex.lexical import (
    ACCESS,
    DATE,
    STOPS,
    WORDS,
    FacetFilter,
    facet,
    groups_of,
    hidden_of,
    numbering,
    query_terms,
    revision_facet,
    split,
)
from bucketindex.manifest import Manifest
from bucketindex.rows import RevisionKey, as_found
from bucketindex.segment import OpenSegment, gone_from
from bucketindex.shared_words import SharedLexicalSearch, WordStatistics
from bucketindex.vectors import COMPARED, COMPARED_SHARE, SCANNED, ComparedVector, closest, nearest_places
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import (
    CandidateQuery,
    Candidates,
    ChunkRange,
    Hit,
    IndexedRevision,
    RevisionPage,
    Vector,
    best_first,
    ranked_by,
)
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import typed_words
from ragdrop.domain.keys import DocumentKey, Order, order_of
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, IndexLostError

AHEAD = 64  # questions of one view whose words were looked for, and whose vectors are not there yet
Place = tuple[RevisionKey, OpenSegment, int]
"""A document of a segment: its order and number."""
Scored = tuple[float, OpenSegment, int]
"""A score, and the chunk that has it: a segment and a number."""
_SCORE = itemgetter(0)
Rows = tuple[OpenSegment, bytes | memoryview, Callable[[int], int]]
"""Vectors of a segment, one after another, and the number of the chunk at each place."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Segments that could not be opened: how many of how many, and why."""

    segments: tuple[str, ...]
    of: int
    why: IndexLostError | None


class SegmentView:
    """The live segments of an index at one moment, the latest last; *lexical* is None if there are none."""

    ranged = False  # whether it reads by range, as there are no copies

    def __init__(
        self,
        index: IndexRef,
        manifest: Manifest,
        segments: Sequence[OpenSegment],
        *,
        lexical: SharedLexicalSearch | None,
        lost: Lost,
    ) -> None:
        self.index = index
        self.manifest = manifest
        self.segments = list(segments)
        self.lost = lost
        self._lexical = lexical
        self._by_tag = {each.tag: each for each in segments}
        self._ahead: BoundedCache[tuple[str | None, FacetFilter, int], list[Scored]] = BoundedCache(size=AHEAD)
        self._gone = {each.tag: gone_from(each, segments, manifest.removals) for each in segments}

    @cached_property
    def _vaults(self) -> list[str]:
        return self._values(facet("vault", ""))

    @cached_property
    def _dates(self) -> list[str]:
        return self._values(facet(DATE, ""))

    @cached_property
    def _stated(self) -> list[str]:
        return self._values(facet(ACCESS, ""))

    def _values(self, kind: str) -> list[str]:
        return sorted({value for each in self.segments for value in each.values(kind)})

    def count(self) -> int:
        return sum(each.chunks - len(self._gone[each.tag]) for each in self.segments)

    def gone(self, segment: OpenSegment) -> frozenset[int]:
        """The chunks of a segment that were removed or replaced since it was written."""
        return self._gone[segment.tag]

    def look_ahead(self, queries: Sequence[CandidateQuery], deadline: Deadline) -> None:
        """Search the words of *queries* and read the hits: `candidates` of the same queries uses them, once."""
        with suppress(DatabaseError):  # the search meets the error again, and handles it
            for query in queries:
                if query.match != "any":
                    continue
                deadline.timeout_s(1.0, stage="index")
                facets = self._facets(query)
                worded = self._worded(query.text, facets, query.limit)
                self._known(worded, deadline)  # the segments cache it
                self._ahead.put((query.text, facets, query.limit), worded, now_s=0.0)

    def statistics(self, terms: Sequence[str], field: str) -> WordStatistics:
        """What these segments have of *terms*, removed and replaced chunks too: words are ranked by it."""
        return WordStatistics(0, 0.0, {}) if self._lexical is None else self._lexical.statistics(terms, field)

    def candidates(
        self, queries: Sequence[CandidateQuery], deadline: Deadline, whole: Mapping[str, WordStatistics] | None = None
    ) -> list[Candidates]:
        """What *queries* find, ranked by the statistics of the *whole* index by field where this is a part of it."""
        vectors: dict[int, ComparedVector] = {}
        found: list[tuple[list[Scored], list[Scored], ComparedVector]] = []
        for query in queries:
            compared_to = vectors.setdefault(id(query.vector), ComparedVector(query.vector))
            deadline.timeout_s(1.0, stage="index")
            facets = self._facets(query)
            near = self._near(compared_to, facets, query.limit) if compared_to.there else []
            if query.match == "any":
                worded = self._looked_up(query.text, facets, query.limit, whole)
            else:
                typed = self._named if query.match == "names" else self._begun
                worded = typed(query.text or "", facets, query.limit)
            found.append((near, worded, compared_to))
        known = self._known((each for near, worded, _ in found for each in (*near, *worded)), deadline)
        return [
            Candidates(self._hits(near, known), self._hits(worded, known, compared_to))
            for near, worded, compared_to in found
        ]

    def read(self, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        places = [
            self._of_revision(each.key, each.revision, each.first, each.last)
            if each.key.tenant == self.index.tenant
            else []
            for each in ranges
        ]
        known = self._known((each for found in places for each in found), deadline)
        return [sorted(self._hits(found, known), key=lambda hit: hit.chunk.ordinal) for found in places]

    def nearest_of(
        self, vector: Vector | None, revisions: Iterable[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the nearest chunk, or the first one, with the links of the first."""
        compared_to = ComparedVector(vector)
        chosen: list[tuple[Scored, Scored]] = []
        for key, revision in sorted(set(revisions), key=lambda each: (each[0].s3_key, each[1])):
            places = self._of_revision(key, revision, 0, 1 << 32) if key.tenant == self.index.tenant else []
            if places:
                first = min(places, key=lambda each: each[1].ordinals(each[2], each[2] + 1)[0])
                best = max(self._with_cosines(places, compared_to), key=lambda each: each[0], default=first)
                chosen.append((best, first))
        known = self._known((each for pair in chosen for each in pair), deadline)
        hits = [
            replace(hit, links=first.links)
            for (best, first_place) in chosen
            for hit, first in zip(self._hits([best], known), self._hits([first_place], known), strict=True)
        ]
        return best_first(hits)

    def revisions(self, cursor: str | None, limit: int) -> RevisionPage:
        after: RevisionKey = tuple(json.loads(cursor)) if cursor else ("", "", -1)
        found: dict[RevisionKey, IndexedRevision] = {}
        streams = [self._documents_from(each, after) for each in self.segments]
        for order, segment, number in heapq.merge(*streams, key=lambda each: each[0]):
            if order in found:
                continue
            if len(found) == limit:
                return RevisionPage(list(found.values()), json.dumps(next(reversed(found))))
            document = segment.document(number)
            found[order] = IndexedRevision(document.key, document.revision, document.facts.indexed_at)
        return RevisionPage(list(found.values()), None)

    def chunks_in(self, key: DocumentKey, first: int, before: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for each in self.segments:
            numbers = [
                number
                for document in each.documents_of(key.vault, key.path, first, before)
                for number in range(*each.chunk_range(document))
                if number not in self._gone[each.tag]
            ]
            if numbers:
                found[each.name] = numbers
        return found

    def _documents_from(
        self, segment: OpenSegment, after: RevisionKey
    ) -> Iterator[tuple[RevisionKey, OpenSegment, int]]:
        gone = self._gone[segment.tag]
        for order, number in segment.documents_from(after):
            first, behind = segment.chunk_range(number)
            if not gone or any(each not in gone for each in range(first, behind)):
                yield order, segment, number

    def _facets(self, query: CandidateQuery) -> FacetFilter:
        filters = query.filters
        folders = any(each.vault is None for each in filters.folders)
        dated = filters.date_from is not None or filters.date_to is not None
        groups = groups_of(filters, self._vaults if folders else (), self._dates if dated else ())
        tenant = self.index.tenant
        without = sorted(revision_facet(k.vault, k.path, r) for k, r in query.without if k.tenant == tenant)
        excluded = groups_of(filters.excluded, self._vaults, ()) if filters.excluded else []
        unlike = tuple((name, ()) for group in excluded for name in group)
        stated = self._stated if query.groups is not None else ()
        return FacetFilter(tuple(groups), tuple(without), (*hidden_of(query, stated), *unlike))

    def _without(self, segment: OpenSegment, facets: FacetFilter) -> set[int]:
        """Chunks that do not count: removed and replaced ones, and those of revisions that the query excludes."""
        left_out = set(self._gone[segment.tag])
        for name in facets.without:
            _, vault, path, revision = name.split("\x1f")
            left_out.update(segment.chunks_of(vault, path, int(revision)))
        return left_out

    def _near(self, compared_to: ComparedVector, facets: FacetFilter, limit: int) -> list[Scored]:
        filters = replace(facets, without=())
        masks = [(each, *each.left_out(filters), self._without(each, facets)) for each in self.segments if each.chunks]
        if sum(left for _, _, left, _ in masks) <= SCANNED:
            left = [(each, split(each.ranges(filters), gone | each.without_direction)) for each, _, _, gone in masks]
            chosen: list[Rows] = [
                (each, each.rows_within(ranges), numbering(ranges)) for each, ranges in left if ranges
            ]
        else:
            chosen = self._closest_by_signs(compared_to, masks)
        return self._best(self._with_cosines(_nearest(compared_to, chosen, limit), compared_to), limit)

    def _closest_by_signs(
        self, compared_to: ComparedVector, masks: Sequence[tuple[OpenSegment, int, int, set[int]]]
    ) -> list[Rows]:
        distances, total = bytearray(), 0
        for segment, mask, left, without in masks:
            found = compared_to.distances(segment.signs, segment.chunks)
            if left < segment.chunks:
                found = (int.from_bytes(found, "little") | mask).to_bytes(len(found), "little")
            at = len(distances)
            distances += found
            for number in without:
                distances[at + number] = 255
            total += left
        numbers = closest(bytes(distances), max(COMPARED, total // COMPARED_SHARE))
        chosen: list[Rows] = []
        at, start = 0, 0
        for segment, _, _, _ in masks:
            behind = bisect_left(numbers, start + segment.chunks, at)
            own = [number - start for number in numbers[at:behind]]
            chosen.append((segment, segment.rows(own), own.__getitem__))
            at, start = behind, start + segment.chunks
        return chosen

    def _looked_up(
        self, text: str | None, facets: FacetFilter, limit: int, whole: Mapping[str, WordStatistics] | None
    ) -> list[Scored]:
        """The lexical hits, from `look_ahead` if it has them."""
        ahead = self._ahead.get((text, facets, limit), now_s=0.0)
        if ahead is None or whole is not None:
            return self._worded(text, facets, limit, whole)
        self._ahead.drop((text, facets, limit))
        return ahead

    def _worded(
        self, text: str | None, facets: FacetFilter, limit: int, whole: Mapping[str, WordStatistics] | None = None
    ) -> list[Scored]:
        terms, stops = query_terms(text) if text and self._lexical is not None else ([], False)
        if not terms or self._lexical is None:
            return []
        asked, field = limit, STOPS if stops else WORDS
        while True:
            found = self._lexical.best(terms, facets, asked, field=field, whole=(whole or {}).get(field))
            placed = [(score, self._by_tag[place >> 32], place & 0xFFFFFFFF) for score, place in found]
            live = [each for each in placed if each[2] not in self._gone[each[1].tag]]
            if len(live) >= limit or len(found) < asked:
                return self._best(live, limit)
            asked *= 4  # removed and replaced chunks took the room

    def _begun(self, text: str, facets: FacetFilter, limit: int) -> list[Scored]:
        """Chunks that have all words; of equal ones any come, as thousands may begin like the last word."""
        found = self._lexical.begun(text, facets, 2 * limit) if self._lexical is not None else []
        placed = [(score, self._by_tag[place >> 32], place & 0xFFFFFFFF) for score, place in found]
        return [each for each in placed if each[2] not in self._gone[each[1].tag]][:limit]

    def _named(self, text: str, facets: FacetFilter, limit: int) -> list[Scored]:
        """The first chunks of documents that the words of *text* name."""
        words, found = typed_words(text), list[Scored]()
        for segment in self.segments if words else ():
            ranges, without = segment.ranges(facets), self._without(segment, facets)
            for score, document in segment.named(words):
                first, behind = segment.chunk_range(document)
                at = bisect_right(ranges, (first, segment.chunks + 1)) - 1
                if first < behind and first not in without and at >= 0 and first < ranges[at][1]:
                    found.append((score, segment, first))
        return self._best(found, limit)

    def _with_cosines(self, places: Iterable[Scored], compared_to: ComparedVector) -> list[Scored]:
        if not compared_to.there:
            return []
        known = [(segment, number) for _, segment, number in places if segment.norms[number]]
        rows = b"".join([segment.rows([number]) for segment, number in known])
        cosines = compared_to.cosines(rows, [segment.norms[number] for segment, number in known])
        return [(cosine, *place) for cosine, place in zip(cosines, known, strict=True)]

    def _best(self, scored: list[Scored], limit: int) -> list[Scored]:
        """The *limit* best, ties by their order."""
        scored.sort(key=_SCORE, reverse=True)
        if len(scored) > limit:
            least = scored[limit - 1][0]
            behind = limit
            while behind < len(scored) and scored[behind][0] == least:
                behind += 1
            del scored[behind:]
        return ranked_by(scored, _SCORE, lambda each: self._order(each[1], each[2]))[:limit]

    def _order(self, segment: OpenSegment, number: int) -> Order:
        document = segment.document(segment.document_of_chunk(number))
        return order_of(document.key, document.revision, segment.ordinals(number, number + 1)[0])

    def _of_revision(self, key: DocumentKey, revision: int, first: int, last: int) -> list[Scored]:
        return [
            (0.0, segment, number)
            for segment in self.segments
            for number in segment.chunks_of(key.vault, key.path, revision)
            if number not in self._gone[segment.tag] and first <= segment.ordinals(number, number + 1)[0] <= last
        ]

    def _known(self, places: Iterable[Scored], deadline: Deadline) -> dict[tuple[int, int], Hit]:
        by_tag: dict[int, dict[int, None]] = {}
        for _, segment, number in places:
            by_tag.setdefault(segment.tag, {})[number] = None
        read = {tag: self._by_tag[tag].hits(numbers, deadline) for tag, numbers in by_tag.items()}
        return {(tag, number): hit for tag, hits in read.items() for number, hit in hits.items()}

    def _hits(
        self, places: Sequence[Scored], known: dict[tuple[int, int], Hit], compared_to: ComparedVector | None = None
    ) -> list[Hit]:
        cosines: dict[tuple[int, int], float] = {}
        if compared_to is not None:
            cosines = {(segment.tag, n): cosine for cosine, segment, n in self._with_cosines(places, compared_to)}
        keyed = ((score, (segment.tag, number)) for score, segment, number in places)
        return [as_found(known[key], score, cosines.get(key)) for score, key in keyed]


def _nearest(compared_to: ComparedVector, chosen: Sequence[Rows], limit: int) -> list[Scored]:
    """Of the *chosen* chunks the *limit* nearest and those that may be tied with the last, in no order."""
    compared = [compared_to.from_bytes(rows) for _, rows, _ in chosen]
    ends = list(accumulate(map(len, compared)))
    found = []
    for place in nearest_places(compared, limit):
        at = bisect_right(ends, place)
        segment, _, number = chosen[at]
        found.append((0.0, segment, number(place - ends[at] + len(compared[at]))))
    return found
