"""A view without local copies: a first search reads the small parts of its segments, and by range what it needs more.

Its steps, each of requests that go out at once: the beginning of every segment; the blocks of the question's words and
the rows of the nearest lists; the nearest vectors; texts and documents of the hits.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from bucketindex.lexical import STOPS, WORDS, FacetFilter, Ranges, query_terms
from bucketindex.manifest import Manifest, SegmentEntry, segment_name
from bucketindex.postings import Postings, WordBlocks, best_by_words, postings_of
from bucketindex.ranges import ObjectRange, RangeReader
from bucketindex.rows import StoredDocument, stored_document, unscored_hit
from bucketindex.segment import FIRST, Header, KnownChunks, OpenSegment, revision_digest
from bucketindex.segment_view import Lost, Scored, SegmentView
from bucketindex.shared_words import WordStatistics
from bucketindex.vectors import NEAREST, SCANNED, WEIGHED, ComparedVector, closest, nearest_places, norm, sign_bytes
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import CandidateQuery, Candidates, Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError

PROBED, PROBED_SHARE = 50_000, 20  # vectors whose signs are read, those of the nearest lists; one in so many at least
RUNS = 100  # of vectors that a filter leaves: more are not worth a request each
ORDINALS = 256  # that are read together
TIES = 200  # of equal scores that are put in order
CACHED = 1 << 14  # vectors, and places of texts, of one view
READ_S = 5.0  # of what a search reads on its way; its own deadline ends it between its steps
MOST_SHARE = 8.0  # times as many lists are read for a filter, at most
_INVERTED = bytes([1]) + bytes(255)

Row = tuple["RangedSegment", int, bytes]
"""A chunk and its vector."""


class RangedSegment(OpenSegment):
    """A segment of which the *beginning* is there."""

    def __init__(
        self,
        index: IndexRef,
        entry: SegmentEntry,
        header: Header,
        beginning: bytes,
        *,
        reader: RangeReader,
        known: KnownChunks,
    ) -> None:
        super().__init__(
            entry.name,
            entry.tag,
            entry.sequence,
            header=header,
            section=self._whole,
            read_texts=lambda ranges, deadline: self.read("texts", ranges, deadline),
            known=known,
        )
        self._object = segment_name(index, entry.name)
        self._beginning = memoryview(beginning)
        self._reader = reader
        self.centroids = self._whole("centroids")
        self.list_starts = self._numbers("list_starts", "I")
        self.word_blocks = WordBlocks(self._whole("word_starts"))

    def _whole(self, name: str) -> memoryview:
        """A section, which is fetched whole and checked unless it is in the beginning."""
        section = self.header.sections[name]
        if name in FIRST:
            return self._beginning[section.start : section.start + section.size]
        [body] = self.read(name, [(0, section.size)], _soon())
        if hashlib.sha256(body).hexdigest() != section.sha256:
            raise IndexLostError(f"a segment of the index is damaged: its {name} are not what they were")
        return memoryview(body)

    @cached_property
    def facets(self) -> Mapping[str, Sequence[int]]:
        try:
            found: dict[str, list[int]] = json.loads(zlib.decompress(self._whole("packed_facets")))
        except (ValueError, zlib.error) as exc:
            raise IndexLostError("a segment of the index is damaged: its facets cannot be read") from exc
        return found

    def values(self, kind: str) -> set[str]:
        names: list[str] = json.loads(bytes(self._whole("facet_values")))
        return {name[len(kind) :] for name in names if name.startswith(kind)}

    def place_of(self, section: str, start: int, end: int) -> ObjectRange:
        """Where a range of a section is in the bucket."""
        at = self.header.sections[section].start
        return self._object, at + start, at + end

    def read(self, section: str, ranges: Iterable[tuple[int, int]], deadline: Deadline) -> list[bytes]:
        """The bytes of some ranges of a section."""
        return self._reader([self.place_of(section, start, end) for start, end in ranges], deadline)

    def place_of_document(self, number: int) -> tuple[int, int]:
        """The range of `documents` that has a document."""
        return self._document_starts[number], self._document_starts[number + 1]

    def document(self, number: int) -> StoredDocument:
        [body] = self.read("documents", [self.place_of_document(number)], _soon())
        return stored_document(self.header.tenant, body)

    def chunks_of(self, vault: str, path: str, revision: int) -> range:
        """By the digest of the revision, as documents would have to be read to find it by its name."""
        found = sorted(self.documents_with(revision_digest(vault, path, revision)))
        return range(self._first_chunks[found[0]], self._first_chunks[found[-1] + 1]) if found else range(0)

    def ordinals(self, first: int, behind: int) -> Sequence[int]:
        blocks = [self.ordinals_near(number) for number in range(first - first % ORDINALS, behind, ORDINALS)]
        numbers = memoryview(b"".join(self._reader(blocks, _soon()))).cast("I")
        found: Sequence[int] = numbers[first % ORDINALS : first % ORDINALS + behind - first]
        return found

    def ordinals_near(self, number: int) -> ObjectRange:
        """Where the ordinal of a chunk is, with its neighbours'."""
        first = number - number % ORDINALS
        return self.place_of("ordinals", 4 * first, 4 * min(self.chunks, first + ORDINALS))

    def place_of_vector(self, number: int) -> ObjectRange:
        """Where the vector of a chunk is."""
        size = self.header.dimension
        return self.place_of("vectors", size * number, size * (number + 1))

    def list_rows(self, number: int) -> ObjectRange:
        """Where the numbers and signs of a list are."""
        size = 4 + sign_bytes(self.header.dimension)
        return self.place_of("list_rows", size * self.list_starts[number], size * self.list_starts[number + 1])


class RangedView(SegmentView):
    """All live segments of an index, none of them copied.

    It finds what a view of copies finds, but for near vectors in lists that are far.
    """

    ranged = True

    def __init__(
        self, index: IndexRef, manifest: Manifest, segments: Sequence[RangedSegment], *, reader: RangeReader, lost: Lost
    ) -> None:
        super().__init__(index, manifest.without_removals(), segments, lexical=None, lost=lost)
        self.manifest = manifest
        self._ranged = list(segments)
        self._read = reader
        self._vectors: BoundedCache[tuple[int, int], bytes] = BoundedCache(size=CACHED)
        self._text_places: BoundedCache[tuple[int, int], tuple[int, int]] = BoundedCache(size=CACHED)

    def candidates(
        self, queries: Sequence[CandidateQuery], deadline: Deadline, whole: Mapping[str, WordStatistics] | None = None
    ) -> list[Candidates]:
        """Twice as many are looked for where chunks were removed, which only reading a hit shows."""
        more = 2 if self.manifest.removals else 1
        found = super().candidates([replace(each, limit=more * each.limit) for each in queries], deadline, whole)
        return [
            Candidates(each.vector[: query.limit], each.lexical[: query.limit])
            for query, each in zip(queries, found, strict=True)
        ]

    def _near(self, compared_to: ComparedVector, facets: FacetFilter, limit: int) -> list[Scored]:
        deadline = _soon()
        filters = replace(facets, without=())
        everything = filters == FacetFilter()
        left: list[tuple[RangedSegment, Ranges, set[int]]] = [
            (each, each.ranges(filters), self._without(each, facets)) for each in self._ranged if each.chunks
        ]
        passing = sum(behind - first for _, ranges, _ in left for first, behind in ranges)
        few = passing <= SCANNED and sum(len(ranges) for _, ranges, _ in left) <= RUNS
        unlisted = [each for each in left if few or not each[0].centroids]
        found = self._all(unlisted, deadline)
        if not few:
            total = sum(segment.chunks for segment, _, _ in left)
            share = 1.0 if everything else total / max(1, passing)
            found += self._listed([each for each in left if each[0].centroids], compared_to, share, deadline)
        distances = compared_to.from_bytes(b"".join([row for _, _, row in found]))
        chosen = [found[place] for place in nearest_places([distances], limit)]
        for segment, number, row in chosen:
            self._vectors.put((segment.tag, number), row, now_s=0.0)
        return self._best(self._with_cosines([(0.0, each[0], each[1]) for each in chosen], compared_to), limit)

    def _all(self, left: Sequence[tuple[RangedSegment, Ranges, set[int]]], deadline: Deadline) -> list[Row]:
        """The vectors of all chunks that are left."""
        runs = [(each, first, behind, gone) for each, ranges, gone in left for first, behind in ranges]
        size = self.index.dimension
        bodies = self._read([each.place_of("vectors", size * a, size * b) for each, a, b, _ in runs], deadline)
        return [
            (segment, first + at, body[at * size : (at + 1) * size])
            for (segment, first, behind, gone), body in zip(runs, bodies, strict=True)
            for at in range(behind - first)
            if first + at not in gone
        ]

    def _listed(
        self,
        left: Sequence[tuple[RangedSegment, Ranges, set[int]]],
        compared_to: ComparedVector,
        share: float,
        deadline: Deadline,
    ) -> list[Row]:
        """The vectors that are nearest by their signs, of the lists that are nearest by their directions.

        With a filter that leaves one in *share* chunks so many times as many lists are read.
        """
        lists = sorted(
            (distance, at, number)
            for at, (segment, _, _) in enumerate(left)
            for number, distance in enumerate(compared_to.from_bytes(segment.centroids))
        )
        total = sum(segment.chunks for segment, _, _ in left)
        missing = min(total, max(PROBED, total // PROBED_SHARE) * min(share, MOST_SHARE))
        chosen: list[tuple[int, int]] = []
        for _, at, number in lists:
            if missing <= 0:
                break
            starts = left[at][0].list_starts
            missing -= starts[number + 1] - starts[number]
            chosen.append((at, number))
        bodies = self._read([left[at][0].list_rows(number) for at, number in chosen], deadline)
        masks = [self._mask(*each) for each in left]
        size = sign_bytes(self.index.dimension)
        distances, ends = bytearray(), list[int]()
        for (at, _), body in zip(chosen, bodies, strict=True):
            count = len(body) // (4 + size)
            own = compared_to.distances(memoryview(body)[4 * count :], count)
            if (mask := masks[at]) is not None:
                own = bytes(map(max, own, map(mask.__getitem__, memoryview(body)[: 4 * count].cast("I"))))
            distances += own
            ends.append(len(distances))
        places, signs = list[tuple[RangedSegment, int]](), list[bytes]()
        for each in closest(bytes(distances), WEIGHED):
            place = bisect_right(ends, each)
            body, at = bodies[place], chosen[place][0]
            count = len(body) // (4 + size)
            row = each - ends[place] + count
            places.append((left[at][0], int.from_bytes(body[4 * row : 4 * row + 4], "little")))
            signs.append(body[4 * count + size * row : 4 * count + size * (row + 1)])
        near = [places[each] for each in compared_to.weighed(signs, NEAREST)]
        rows = self._read([each.place_of_vector(number) for each, number in near], deadline)
        return [(*place, row) for place, row in zip(near, rows, strict=True)]

    @staticmethod
    def _mask(segment: RangedSegment, ranges: Ranges, gone: set[int]) -> bytes | None:
        """A byte a chunk, 255 for those that do not count; None where all do."""
        if ranges == [(0, segment.chunks)] and not gone:
            return None
        mask = bytearray(b"\xff") * segment.chunks
        for first, behind in ranges:
            mask[first:behind] = bytes(behind - first)
        for number in gone:
            mask[number] = 255
        return bytes(mask)

    def _worded(
        self,
        text: str | None,
        facets: FacetFilter,
        limit: int,
        whole: Mapping[str, WordStatistics] | None = None,  # noqa: ARG002 - a part of an index is read from copies
    ) -> list[Scored]:
        terms, stops = query_terms(text) if text else ([], False)
        if not terms:
            return []
        deadline, field = _soon(), STOPS if stops else WORDS
        asked = [(each, each.word_blocks.place(field, term), term) for each in self._ranged for term in terms]
        bodies = self._read([each.place_of("word_blocks", *place) for each, place, _ in asked], deadline)
        found: dict[int, dict[str, Postings]] = {each.tag: {} for each in self._ranged}
        for (segment, _, term), body in zip(asked, bodies, strict=True):
            found[segment.tag] |= postings_of(body, field, [term]) if body else {}
        masks = [self._counted(each, facets) for each in self._ranged]
        best = best_by_words(
            [found[each.tag] for each in self._ranged],
            masks,
            chunks=sum(each.chunks for each in self._ranged),
            words=sum(each.word_blocks.words(field) for each in self._ranged),
            limit=limit,
        )
        chosen = self._best([(score, self._ranged[at], number) for score, at, number in best], limit)
        self._fetch_vectors(chosen, deadline)
        return chosen

    def _counted(self, segment: RangedSegment, facets: FacetFilter) -> bytes | None:
        """A byte a chunk, 0 for those that do not count; None where all do."""
        mask = self._mask(segment, segment.ranges(replace(facets, without=())), self._without(segment, facets))
        return None if mask is None else mask.translate(_INVERTED)

    def _fetch_vectors(self, places: Iterable[Scored], deadline: Deadline) -> None:
        """Fetch vectors of chunks, and where their texts are."""
        missing = [
            (segment, number)
            for _, segment, number in places
            if isinstance(segment, RangedSegment) and self._vectors.get((segment.tag, number), now_s=0.0) is None
        ]
        asked = [each.place_of_vector(number) for each, number in missing]
        asked += [each.place_of("text_starts", 8 * number, 8 * number + 16) for each, number in missing]
        bodies = self._read(asked, deadline)
        for place, (segment, number) in enumerate(missing):
            starts = memoryview(bodies[len(missing) + place]).cast("Q")
            self._vectors.put((segment.tag, number), bodies[place], now_s=0.0)
            self._text_places.put((segment.tag, number), (starts[0], starts[1]), now_s=0.0)

    def _with_cosines(self, places: Iterable[Scored], compared_to: ComparedVector) -> list[Scored]:
        if not compared_to.there:
            return []
        listed = list(places)
        self._fetch_vectors(listed, _soon())
        rows = [self._vectors.get((segment.tag, number), now_s=0.0) or b"" for _, segment, number in listed]
        known = [
            (row, place[1:], array("f", [norm(row)])[0])
            for row, place in zip(rows, listed, strict=True)
            if row.strip(b"\0")
        ]
        cosines = compared_to.cosines(b"".join([row for row, _, _ in known]), [length for _, _, length in known])
        return [(cosine, *place) for cosine, (_, place, _) in zip(cosines, known, strict=True)]

    def _best(self, scored: list[Scored], limit: int) -> list[Scored]:
        """The *limit* best; where many are equal, some of them."""
        scored.sort(key=lambda each: -each[0])
        del scored[limit + TIES :]
        times = Counter(score for score, _, _ in scored)
        self._fetch_documents([each for each in scored if times[each[0]] > 1])
        return super()._best(scored, limit)

    def _fetch_documents(self, places: Iterable[Scored]) -> None:
        """Fetch what puts equal chunks in order."""
        asked: list[ObjectRange] = []
        for _, segment, number in places:
            if isinstance(segment, RangedSegment):
                asked.append(
                    segment.place_of("documents", *segment.place_of_document(segment.document_of_chunk(number)))
                )
                asked.append(segment.ordinals_near(number))
        self._read(asked, _soon())

    def _known(self, places: Iterable[Scored], deadline: Deadline) -> dict[tuple[int, int], Hit]:
        """The chunks as they were read; those that were removed are not among them."""
        listed = [(segment, number) for _, segment, number in places if isinstance(segment, RangedSegment)]
        missing = [each for each in dict.fromkeys(listed) if self._text_places.get(_key(each), now_s=0.0) is None]
        starts = self._read([each.place_of("text_starts", 8 * n, 8 * n + 16) for each, n in missing], deadline)
        for each, body in zip(missing, starts, strict=True):
            first, behind = memoryview(body).cast("Q")
            self._text_places.put(_key(each), (first, behind), now_s=0.0)
        chunks = list(dict.fromkeys(listed))
        asked = [
            each.place_of("texts", *(self._text_places.get(_key((each, n)), now_s=0.0) or (0, 0))) for each, n in chunks
        ]
        documents = [each.place_of_document(each.document_of_chunk(n)) for each, n in chunks]
        asked += [each.place_of("documents", *place) for (each, _), place in zip(chunks, documents, strict=True)]
        bodies = self._read(asked, deadline)
        found: dict[tuple[int, int], Hit] = {}
        for place, (segment, number) in enumerate(chunks):
            document = stored_document(self.index.tenant, bodies[len(chunks) + place])
            if not any(each.hides(document.order, segment.sequence) for each in self.manifest.removals):
                found[segment.tag, number] = unscored_hit(document, bodies[place])
        return found

    def _hits(
        self, places: Sequence[Scored], known: dict[tuple[int, int], Hit], compared_to: ComparedVector | None = None
    ) -> list[Hit]:
        return super()._hits([each for each in places if (each[1].tag, each[2]) in known], known, compared_to)


def _key(place: tuple[OpenSegment, int]) -> tuple[int, int]:
    return place[0].tag, place[1]


def _soon() -> Deadline:
    return Deadline.after(READ_S)
