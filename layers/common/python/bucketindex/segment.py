"""A segment: the format of its file, and an opened one, its documents and chunks by number.

    8 bytes   MAGIC
    4 bytes   length of the header (little endian)
    header    JSON: tenant, index, dimension, counts, and of each section its place, its length and its SHA-256
    sections  see SECTIONS

A copy has everything up to `texts`, fetched whole and checked when a segment is opened.  `texts` is the larger part
and is read by range: each of its blocks has a checksum in `text_sums`.  Before there is a copy a search fetches FIRST
alone, and what it needs of the rest by range; BY_RANGE, behind `texts`, is for that and in no copy.
"""

import hashlib
import json
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, BinaryIO

from bucketindex.lexical import ACCESS, DATE, FacetFilter, Ranges, admitted, facet
from bucketindex.manifest import Removal
from bucketindex.rows import RevisionKey, StoredDocument, stored_document, unscored_hit
from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import begins_word, name_line, name_match
from ragdrop.errors import IndexLostError

MAGIC = b"rdseg\x00\x00\x01"
PREFIX_BYTES = len(MAGIC) + 4
TEXT_BLOCK_BYTES = 1 << 16
SECTIONS = (
    "documents",  # JSON of each document (one revision with its facts), one after another
    "document_starts",  # uint64, one more than documents: where each begins in `documents`
    "first_chunks",  # uint32, one more than documents: the number of its first chunk
    "ordinals",  # uint32 of each chunk
    "digests",  # uint64, sorted: the first 8 bytes of `revision_digest` of each document
    "digest_documents",  # uint32: the document of each digest
    "facets",  # JSON: what filters ask for -> ranges of documents
    "signs",  # of each vector, SIGN_BITS at most, a bit each
    "vectors",  # of each vector, a signed byte a number
    "norms",  # float32: the length of each of `vectors`; 0 where a chunk has no direction
    "text_starts",  # uint64, one more than chunks: where each begins in `texts`
    "text_sums",  # uint32: CRC-32 of each block of `texts`
    "lexical",  # files of tantivy, divided by `lexical_files` of the header
    "texts",  # JSON of each chunk, one after another
)
FIRST = (
    "centroids",  # the direction of each list, a signed byte a number (bucketindex/lists.py); none of a small segment
    "list_starts",  # uint32, one more than lists: how many vectors are in the lists before
    "word_starts",  # uint64: words of both fields, then where each block of `word_blocks` begins, and the end
    "facet_values",  # JSON: what filters of the kinds in LISTED_FACETS may ask for
    "digests",
    "digest_documents",
    "first_chunks",
    "document_starts",
)
"""What a first search fetches, right behind the header.  Segments of older writers have no lists and no word blocks."""
BY_RANGE = (
    "list_rows",  # of each list: the number of each chunk, uint32; then the signs of each vector
    "word_blocks",  # words with the chunks that have them (bucketindex/postings.py)
    "packed_facets",  # `facets`, compressed by zlib
)
ORDER = (*FIRST, *(name for name in SECTIONS if name not in FIRST), *BY_RANGE)
"""How the sections follow one another in a file."""
LISTED_FACETS = (facet("vault", ""), facet(DATE, ""), facet(ACCESS, ""))  # all values of which some filters need
LITTLE = sys.byteorder == "little"
ReadTexts = Callable[[Sequence[tuple[int, int]], Deadline], list[bytes]]
"""The bytes of some ranges of the section `texts`; raises DatabaseError where they cannot be had."""
MASKS = 64  # cached of a segment, one a filter
MAX_NAMED = 2_000  # documents of a segment whose names are compared: those behind them share the first letters alone


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section is in the file, and the SHA-256 of its bytes in hex."""

    start: int
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Header:
    """The metadata of a segment.

    `lexical_files` are the names and sizes of the files in the section `lexical`; `lexical_segments` is tantivy's list
    of them.  `without_direction` counts chunks that no vector search finds.
    """

    tenant: str
    index: str
    segment: str
    dimension: int
    documents: int
    chunks: int
    without_direction: int
    sections: Mapping[str, Section]
    lexical_files: tuple[tuple[str, int], ...]
    lexical_segments: tuple[Mapping[str, Any], ...]

    @property
    def core_bytes(self) -> int:
        """Bytes of the file before `texts`."""
        return self.sections["texts"].start

    @property
    def first_bytes(self) -> int:
        """Bytes of the file that a first search fetches; 0 if an older writer wrote it."""
        last = self.sections[FIRST[-1]]
        return last.start + last.size if "word_blocks" in self.sections else 0


def write_header(target: BinaryIO, header: Mapping[str, Any], sizes: Mapping[str, tuple[int, str]]) -> None:
    """Write the beginning of a file whose sections have these sizes and digests."""
    places: dict[str, Any] = {name: asdict(Section(0, *sizes[name])) for name in ORDER}
    fields = {**header, "sections": places}
    room = len(json.dumps(fields).encode()) + 16 * len(ORDER)  # digits of the places, which are not known yet
    start = PREFIX_BYTES + room
    for name in ORDER:
        start += -start % 8
        places[name]["start"] = start
        start += sizes[name][0]
    encoded = json.dumps(fields).encode()
    target.write(MAGIC + room.to_bytes(4, "little") + encoded + b" " * (room - len(encoded)))


def header_bytes(beginning: bytes) -> int:
    """Where the header of a file ends, in bytes; raises IndexLostError if it is no segment."""
    if len(beginning) < PREFIX_BYTES or not beginning.startswith(MAGIC):
        raise IndexLostError("a segment of the index is damaged: it does not begin as one")
    return PREFIX_BYTES + int.from_bytes(beginning[len(MAGIC) : PREFIX_BYTES], "little")


def read_header(beginning: bytes) -> Header:
    """The header of a file that begins so; raises IndexLostError if it is damaged, or not whole."""
    end = header_bytes(beginning)
    try:
        fields = json.loads(beginning[PREFIX_BYTES:end])
        fields["sections"] = {name: Section(**each) for name, each in fields["sections"].items()}
        if not fields["sections"].keys() >= set(SECTIONS):
            raise KeyError("sections")
        fields["lexical_files"] = tuple((name, size) for name, size in fields["lexical_files"])
        fields["lexical_segments"] = tuple(fields["lexical_segments"])
        return Header(**fields)
    except (ValueError, KeyError, TypeError) as exc:
        raise IndexLostError("a segment of the index is damaged: its header cannot be read") from exc


def revision_digest(vault: str, path: str, revision: int) -> int:
    """A number that hardly any other revision of the tenant has.

    >>> revision_digest("team", "a.md", 1) == revision_digest("team", "a.md", 2)
    False
    """
    name = f"{vault}\x00{path}\x00{revision}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "little")


def block_sum(block: bytes) -> int:
    """The checksum of one block of `texts`."""
    return zlib.crc32(block)


KnownChunks = BoundedCache[tuple[object, int], Hit]
"""Chunks that were read, by their segment and number: a segment never changes."""


class OpenSegment:
    """One segment: *section* gives the bytes of each by name, *known* caches chunks that were read."""

    def __init__(
        self,
        name: str,
        tag: int,
        sequence: int,
        *,
        header: Header,
        section: Callable[[str], memoryview],
        read_texts: ReadTexts,
        known: KnownChunks,
    ) -> None:
        self.name = name
        self.tag = tag
        self.sequence = sequence
        self.header = header
        self._section = section
        self._read_texts = read_texts
        self._known = known
        self._own = object()  # no other segment's chunks are taken for its own, whatever their names
        self._masks: BoundedCache[FacetFilter, tuple[int, int]] = BoundedCache(size=MASKS)

    @cached_property
    def _document_starts(self) -> Any:
        return self._numbers("document_starts", "Q")

    @cached_property
    def _first_chunks(self) -> Any:
        return self._numbers("first_chunks", "I")

    @cached_property
    def _ordinals(self) -> Any:
        return self._numbers("ordinals", "I")

    @cached_property
    def _digests(self) -> Any:
        return self._numbers("digests", "Q")

    @cached_property
    def _digest_documents(self) -> Any:
        return self._numbers("digest_documents", "I")

    @cached_property
    def _text_starts(self) -> Any:
        return self._numbers("text_starts", "Q")

    @cached_property
    def _documents(self) -> memoryview:
        return self._section("documents")

    @cached_property
    def norms(self) -> Any:
        """The length of each quantised vector; 0 where a chunk has no direction."""
        return self._numbers("norms", "f")

    @cached_property
    def signs(self) -> memoryview:
        return self._section("signs")

    @cached_property
    def vectors(self) -> memoryview:
        return self._section("vectors")

    @property
    def chunks(self) -> int:
        return self.header.chunks

    @cached_property
    def facets(self) -> Mapping[str, Sequence[int]]:
        """What filters ask for, with the documents that have it."""
        try:
            found: dict[str, list[int]] = json.loads(bytes(self._section("facets")))
        except ValueError as exc:
            raise IndexLostError("a segment of the index is damaged: its facets cannot be read") from exc
        return found

    def values(self, kind: str) -> set[str]:
        """The values of the facets that begin with *kind*, one of LISTED_FACETS."""
        return {name[len(kind) :] for name in self.facets if name.startswith(kind)}

    def document(self, number: int) -> StoredDocument:
        start, end = self._document_starts[number], self._document_starts[number + 1]
        return stored_document(self.header.tenant, bytes(self._documents[start:end]))

    def document_bytes(self, number: int) -> bytes:
        return bytes(self._documents[self._document_starts[number] : self._document_starts[number + 1]])

    def document_of_chunk(self, number: int) -> int:
        return bisect_right(self._first_chunks, number) - 1

    def chunk_range(self, document: int) -> tuple[int, int]:
        """The numbers of a document's first chunk, and of the one behind its last."""
        return self._first_chunks[document], self._first_chunks[document + 1]

    def ordinals(self, first: int, behind: int) -> Sequence[int]:
        """The ordinals of some chunks, rising within a document."""
        found: Sequence[int] = self._ordinals[first:behind]
        return found

    def documents_of(self, vault: str, path: str, first: int, before: int) -> range:
        """The documents that are a path's revisions from *first* to below *before*."""
        low = self._place((vault, path, first))
        return range(low, max(low, self._place((vault, path, before))))

    def chunks_of(self, vault: str, path: str, revision: int) -> range:
        found = self.documents_of(vault, path, revision, revision + 1)
        return range(self._first_chunks[found.start], self._first_chunks[found.stop])

    def documents_from(self, order: RevisionKey) -> Iterator[tuple[RevisionKey, int]]:
        """Documents behind *order*, in order, with their numbers."""
        vault, path, revision = order
        for number in range(self._place((vault, path, revision + 1)), self.header.documents):
            yield self.document(number).order, number

    def named(self, words: Sequence[str]) -> Iterator[tuple[float, int]]:
        """Documents that *words* name (`name_match`), with how well, 2,000 at most."""
        lines, starts = self._names
        last, left = -1, MAX_NAMED
        for found in begins_word(max(words, key=len)).finditer(lines):
            number = bisect_right(starts, found.start()) - 1
            if number == last:
                continue
            last, left = number, left - 1
            if match := name_match(words, lines[starts[number] : starts[number + 1] - 1]):
                yield match[0], number
            if not left:
                return

    @cached_property
    def _names(self) -> tuple[str, Sequence[int]]:
        """A line a document, and where each begins; made when somebody first types."""
        documents = map(self.document, range(self.header.documents))
        lines = [name_line(each.key.path, each.facts) for each in documents]
        return "\n".join(lines), array("Q", accumulate((len(line) + 1 for line in lines), initial=0))

    @cached_property
    def digests(self) -> frozenset[int]:
        """What names the revisions of the segment, as numbers."""
        return frozenset(self._digests)

    def documents_with(self, digest: int) -> Iterator[int]:
        """Documents of that digest: of one revision, but for a chance of one in 2 to the 64th."""
        at = bisect_left(self._digests, digest)
        while at < len(self._digests) and self._digests[at] == digest:
            yield self._digest_documents[at]
            at += 1

    def bodies(self, numbers: Sequence[int], deadline: Deadline) -> list[bytes]:
        return self._read_texts([(self._text_starts[each], self._text_starts[each + 1]) for each in numbers], deadline)

    def hits(self, numbers: Iterable[int], deadline: Deadline) -> dict[int, Hit]:
        own = self._own
        required = dict.fromkeys(numbers)
        cached = self._known.many([(own, each) for each in required], now_s=0.0)
        hits = {each: hit for (_, each), hit in cached.items()}
        missing = [each for each in required if each not in hits]
        if missing:
            for each, body in zip(missing, self.bodies(missing, deadline), strict=True):
                hits[each] = unscored_hit(self.document(self.document_of_chunk(each)), body)
                self._known.put((self._own, each), hits[each], now_s=0.0, weight=len(body))
        return hits

    def left_out(self, filters: FacetFilter) -> tuple[int, int]:
        """A mask of the chunks that a filter excludes or that have no direction, and how many chunks are left.

        The mask is one number with a byte a chunk, 255 for an excluded one.
        """
        cached = self._masks.get(filters, now_s=0.0)
        if cached is not None:
            return cached
        mask = bytearray(b"\xff") * self.chunks
        for first, behind in self.ranges(filters):
            mask[first:behind] = bytes(behind - first)
        for number in self.without_direction:
            mask[number] = 255
        found = int.from_bytes(mask, "little"), mask.count(0)
        self._masks.put(filters, found, now_s=0.0)
        return found

    def ranges(self, filters: FacetFilter) -> Ranges:
        """The chunks that pass a filter, as ranges of numbers."""
        if not filters.groups and not filters.hidden:
            return [(0, self.chunks)]
        found = admitted(self.facets, filters, self.header.documents)
        return [(self._first_chunks[first], self._first_chunks[behind]) for first, behind in found]

    @cached_property
    def without_direction(self) -> frozenset[int]:
        """Chunks that no vector search finds."""
        if not self.header.without_direction:
            return frozenset()
        return frozenset(number for number, length in enumerate(self.norms) if length == 0.0)

    def rows(self, numbers: Sequence[int]) -> bytes:
        """The vectors of some chunks, one after another."""
        size, vectors = self.header.dimension, self.vectors
        return b"".join([vectors[start : start + size] for start in [number * size for number in numbers]])

    def rows_within(self, ranges: Ranges) -> bytes | memoryview:
        """The vectors of all chunks in *ranges*, one after another."""
        size, vectors = self.header.dimension, self.vectors
        if len(ranges) == 1:  # mostly all of them, which are not copied
            return vectors[ranges[0][0] * size : ranges[0][1] * size]
        return b"".join([vectors[first * size : behind * size] for first, behind in ranges])

    def _place(self, order: RevisionKey) -> int:
        """How many documents come before *order*."""
        return bisect_left(range(self.header.documents), order, key=lambda number: self.document(number).order)

    def _numbers(self, name: str, kind: Any) -> Any:
        """A section of numbers: a view of the file, or a copy on a machine with the other order of bytes."""
        found = self._section(name).cast(kind)
        if LITTLE:
            return found
        swapped = array(kind, found)
        swapped.byteswap()
        return swapped


def gone_from(segment: OpenSegment, segments: Sequence[OpenSegment], removals: Iterable[Removal]) -> frozenset[int]:
    """Chunks of a segment that a later one replaces, or that were removed since."""
    found: set[int] = set()
    for removal in removals:
        if removal.sequence > segment.sequence:
            documents = segment.documents_of(
                removal.vault, removal.path, removal.from_revision, removal.before_revision
            )
            for document in documents:
                found.update(range(*segment.chunk_range(document)))
    for later in segments:
        if later.sequence > segment.sequence:
            found.update(_replaced(segment, later))
    return frozenset(found)


def _replaced(segment: OpenSegment, later: OpenSegment) -> Iterator[int]:
    """Chunks of *segment* whose id *later* has too."""
    for digest in segment.digests & later.digests:
        for number in segment.documents_with(digest):
            order = segment.document(number).order
            later_ordinals = {later.ordinals(each, each + 1)[0] for each in later.chunks_of(*order)}
            first, behind = segment.chunk_range(number)
            ordinals = segment.ordinals(first, behind)
            yield from (first + place for place, ordinal in enumerate(ordinals) if ordinal in later_ordinals)
