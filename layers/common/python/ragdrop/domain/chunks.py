"""Chunks: parts of a revision's parsed text, as written to an index and as returned from it."""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter, mul
from typing import Any, Literal, TypeAlias, TypeVar

from ragdrop.domain.documents import Facts, PromotionLevel
from ragdrop.domain.keys import DocumentKey, Order, chunk_id
from ragdrop.domain.links import Link
from ragdrop.errors import ConfigurationError, DatabaseError

CHARACTERS_PER_TOKEN = 4
Span = tuple[int, int]
"""Start and end (exclusive) in a parsed text."""
ChunkPlaces: TypeAlias = "tuple[tuple[int, str], ...]"
"""Where each place starts in a chunk's text, counted from the chunk's first code point, and its name."""
_CELLS = re.compile(
    r"(?P<sheet>(?:.*!)?)(?P<left>[A-Z]{1,3})(?P<first>\d{1,7}):(?P<right>[A-Z]{1,3})(?P<last>\d{1,7})", re.S
)
_NUMBERED = re.compile(r"(?P<word>page|slide) (?P<number>\d{1,7})(?P<rest>.*)", re.DOTALL)
Vector: TypeAlias = "array[float]"
"""An `array('f')` of the model's dimension, normalised to length 1."""


def vector(values: Iterable[float]) -> Vector:
    """A Vector of *values*, scaled to length 1; all zeros stay zeros.

    >>> list(vector([3.0, 4.0]))  # float32 of 0.6 and 0.8
    [0.6000000238418579, 0.800000011920929]
    """
    raw = array("f", values)
    length = sum(map(mul, raw, raw)) ** 0.5
    return raw if length == 0 else array("f", [value / length for value in raw])


def has_direction(vector: Sequence[float]) -> bool:
    """Whether a cosine with *vector* is defined: not all zeros, nothing infinite, no NaN.

    >>> has_direction([0.0, 1.0]), has_direction([0.0, 0.0]), has_direction([float("nan"), 1.0])
    (True, False, False)
    """
    return 0.0 < math.hypot(*vector) < math.inf


def check_dimension(expected: int, given: int) -> None:
    """Return if the two are equal.

    Raises ConfigurationError: they differ: the model and the index were not made for each other.
    """
    if expected != given:
        raise ConfigurationError(
            f"the index holds vectors of {expected} dimensions, one of {given} was given: "
            "EMBEDDING_MODEL and EMBEDDING_DIMENSION must be those the index was built with",
            expected=expected,
            given=given,
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of the parsed text: `text == parsed.text[start:end]`, in code points, `end` exclusive.

    `context` is what must be read before it to understand it, and stands elsewhere: the header of the table whose rows
    it holds.  It counts for embedding, lexical search and prompts, not for offsets and quotes.  `after` is the white
    space between this chunk and the next, which no chunk holds: with it the text can be put together again exactly.
    `above` is the document's title and the headings over the chunk, as they are embedded with it.
    `places` are the parts of the document that it touches, where `page` does not say it all.
    """

    ordinal: int
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    context: str = ""
    after: str = ""
    above: str = ""
    places: ChunkPlaces = ()

    @property
    def place(self) -> str | None:
        """What a reader calls the part of the document that it is: a page, slides, cells of a sheet."""
        return place_of(self.places, self.page)

    def place_at(self, start: int, end: int) -> str | None:
        """The place of code points *start* to *end* (exclusive) of the document, which lie in this chunk."""
        return place_at(self.places, self.text, start - self.start, end - self.start) or self.place

    def page_at(self, start: int, end: int) -> int | None:
        """The page of the same."""
        return None if self.page is None else page_in(self.place_at(start, end)) or self.page

    @property
    def in_context(self) -> str:
        """What is searched by words, and shown to the chat model."""
        return f"{self.context}\n{self.text}" if self.context else self.text

    @property
    def passage(self) -> str:
        """What is embedded."""
        return f"{self.above}\n{self.in_context}" if self.above else self.in_context


BEGIN_CHARACTERS = 400  # of a chunk: a title that stands there is embedded already


def under(title: str, chunk: Chunk, *, tokens: int) -> Chunk:
    r"""*chunk* with *title* and its headings as `above`, shortened to about *tokens* from the right.

    A title or heading with which the chunk itself begins is not repeated.

    >>> under("Pumps", Chunk(0, 0, 4, "Oil.", ("Pumps", "Care")), tokens=24).passage
    'Pumps > Care\nOil.'
    """
    begin = " ".join(chunk.text[:BEGIN_CHARACTERS].casefold().split())
    parts = dict.fromkeys(" ".join(part.split()) for part in (title, *chunk.heading_path))
    added = [part for part in parts if part and part.casefold() not in begin]
    return replace(chunk, above=" > ".join(added)[: tokens * CHARACTERS_PER_TOKEN].rstrip(" >"))


def with_white_space(chunks: Sequence[Chunk], text: str) -> list[Chunk]:
    """*chunks* of *text*, in order, each with the white space that stands between it and the next, or the text's end.

    >>> [chunk.after for chunk in with_white_space([Chunk(0, 0, 1, "a"), Chunk(1, 3, 4, "b")], "a  b ")]
    ['  ', ' ']
    """
    starts = [*(chunk.start for chunk in chunks[1:]), len(text)]
    gaps = [text[chunk.end : start] for chunk, start in zip(chunks, starts, strict=True)] if chunks else []
    return [replace(chunk, after=gap) if gap.isspace() else chunk for chunk, gap in zip(chunks, gaps, strict=True)]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk with all that the index needs to find, filter and show it.

    `links` are the document's links that may be followed, at most 100; they stand with its first chunk.
    """

    key: DocumentKey
    revision: int
    chunk: Chunk
    facts: Facts
    vector: Vector
    links: tuple[Link, ...] = ()

    @property
    def id(self) -> str:
        """The chunk's id: the same piece of the same revision always has the same."""
        return chunk_id(self.key, self.revision, self.chunk.ordinal)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk as the index found it.

    `score` is raw: the cosine in [-1, 1] of a vector hit, the BM25 score of a lexical one, 0.0 of a chunk that was
    read and not searched.  `links` are those that the index keeps with a document's first chunk.  `stored_id` is the
    chunk's id where the index brought it, so that it need not be computed.  `cosine` is that of a lexical hit where the
    question's vector was given too; None where there was none, or the chunk has no vector.
    """

    key: DocumentKey
    revision: int
    chunk: Chunk
    facts: Facts
    score: float = 0.0
    links: tuple[Link, ...] = ()
    stored_id: str = field(default="", compare=False, repr=False)
    cosine: float | None = None

    @property
    def chunk_id(self) -> str:
        """The id of the chunk found."""
        return self.stored_id or chunk_id(self.key, self.revision, self.chunk.ordinal)

    @property
    def order(self) -> Order:
        """What equal hits are ordered by: the same after a document was indexed again, as its id is not."""
        return self.key.digest, self.chunk.ordinal, self.revision


def best_first(hits: Iterable[Hit]) -> list[Hit]:
    """Hits by their scores, the best first; equal ones by `Hit.order`."""
    return ranked_by(hits, attrgetter("score"), attrgetter("order"))


T = TypeVar("T")


def ranked_by(found: Iterable[T], score: Callable[[T], Any], order: Callable[[T], Any]) -> list[T]:
    """*found* by their scores, the highest first; equal ones by *order*, the lowest first.

    The order of a chunk takes a digest, so that of those is made that are equal, and of no others.

    >>> ranked_by(["b2", "a2", "c9"], score=lambda one: one[1], order=lambda one: one[0])
    ['c9', 'a2', 'b2']
    """
    ranked = sorted(found, key=score, reverse=True)
    if len(set(map(score, ranked))) == len(ranked):  # mostly none are equal
        return ranked
    best: list[T] = []
    for _, equal in groupby(ranked, key=score):
        tied = list(equal)
        best += tied if len(tied) == 1 else sorted(tied, key=order)
    return best


@dataclass(frozen=True, slots=True)
class Folder:
    """A path prefix on segment boundaries; in every vault where `vault` is None.  `path` has no slash at its ends."""

    path: str
    vault: str | None = None

    def holds(self, key: DocumentKey) -> bool:
        """Whether a document lies in this folder, or is what it names.

        >>> Folder("notes").holds(DocumentKey("acme", "team", "notes-old/a.md"))
        False
        """
        if self.vault not in (None, key.vault):
            return False
        return not self.path or key.path == self.path or key.path.startswith(self.path + "/")


@dataclass(frozen=True, slots=True)
class HiddenFolder:
    """A folder that a caller may not read, but for some folders in it."""

    folder: Folder
    but: tuple[Folder, ...] = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """What a chunk must match: fields are ANDed, the values of one field ORed, an empty field does not restrict.

    `date_from` and `date_to` compare the document's `date` as strings of ISO 8601, both ends included (a day as
    `date_to` includes all times of that day); a document without a field that is asked for does not match.  Nor does
    one that has any value of any field of `excluded`, which has no dates.
    """

    vaults: tuple[str, ...] = ()
    folders: tuple[Folder, ...] = ()
    doc_types: tuple[str, ...] = ()
    content_types: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    promotion_levels: tuple[PromotionLevel, ...] = ()
    date_from: str | None = None
    date_to: str | None = None
    attributes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    excluded: Filters | None = None

    @property
    def alternatives(self) -> list[tuple[str, tuple[str, ...]]]:
        """The attributes that are asked for, each with the values of which a document has one."""
        return [(name, (each,) if isinstance(each, str) else each) for name, each in self.attributes.items()]


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """One scope's question to the index."""

    text: str | None  # lexical query, plain words; None skips the lexical part
    vector: Vector | None  # vector query; None skips the vector part
    filters: Filters
    limit: int  # hits asked for from each part, 1 to 200
    # revisions that must not come back (superseded ones, seen in a first round)
    without: frozenset[tuple[DocumentKey, int]] = frozenset()
    # what the caller may not read, left out early: folders, and files that state groups of which the caller has none
    # (None leaves no such file out).  Another part of it may come back, and is dropped where heads are read.
    hidden: tuple[HiddenFolder, ...] = ()
    groups: tuple[str, ...] | None = None
    # `any` ranks chunks by any of the words.  The others are of the bucket index alone: `begun` wants all words, the
    # last of which may have only begun; `names` wants them in title, path and tags, and finds a document's first chunk
    match: Literal["any", "begun", "names"] = "any"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What one scope gave: each list best first, raw scores.

    Where the index failed for a part of one scope and not for all, that part is empty and its error says why.
    `warning` says what is missing where a part of the index could not be read.
    """

    vector: list[Hit]
    lexical: list[Hit]
    vector_error: DatabaseError | None = None
    lexical_error: DatabaseError | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkRange:
    """The chunks `first` to `last` (both included) of one revision; a whole document is 0 to a large number."""

    key: DocumentKey
    revision: int
    first: int
    last: int


def cached_part(part: ChunkRange, cached: Mapping[int, Hit]) -> list[Hit] | None:
    """The chunks of *part* among those of its document that are *cached*, by ordinal; None if one may be missing.

    A chunk is the last where it and the white space behind it reach the end of the text.
    """
    ends = (hit.chunk.ordinal for hit in cached.values() if _reaches_the_end(hit))
    last = min(part.last, next(ends, part.last))
    if last - part.first >= len(cached):
        return None
    found = [cached.get(ordinal) for ordinal in range(part.first, last + 1)]
    hits = [hit for hit in found if hit is not None and hit.revision == part.revision]
    return hits if len(hits) == len(found) else None


def _reaches_the_end(hit: Hit) -> bool:
    return hit.chunk.end + len(hit.chunk.after) >= hit.facts.char_count > 0


@dataclass(frozen=True, slots=True)
class IndexedRevision:
    """A revision that has chunks in an index; `indexed_at` is RFC 3339 UTC, of any one of them."""

    key: DocumentKey
    revision: int
    indexed_at: str


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Some revisions of an index; `cursor` asks for the next ones, None ends."""

    revisions: list[IndexedRevision]
    cursor: str | None


def text_windows(text: str, start: int, end: int, size: int, starts: Sequence[int]) -> Iterator[Span]:
    """Stretches of at most *size* characters, cut at the last of *starts* (headings), blank line, line end or space.

    >>> list(text_windows("aaa bbb ccc", 0, 11, 8, []))
    [(0, 8), (8, 11)]
    """
    while end - start > size:
        limit = start + size
        place = bisect_left(starts, limit) - 1
        cut = starts[place] if place >= 0 and starts[place] > start + size // 4 else 0
        for mark in ("\n\n", "\n", " "):
            if cut:
                break
            found = text.rfind(mark, start + size // 2, limit)
            cut = found + len(mark) if found >= 0 else 0
        yield start, cut or limit
        start = cut or limit
    if start < end:
        yield start, end


def place_of(places: ChunkPlaces, page: int | None) -> str | None:
    """One name for all of a chunk; None if its document has no places and no pages.

    >>> place_of(((0, "Budget!A1:C1"), (30, "Budget!A2:C9")), None), place_of(((0, "slide 2"), (90, "slide 4")), 2)
    ('Budget!A1:C9', 'slides 2 to 4')
    >>> place_of((), 3), place_of((), None)
    ('page 3', None)
    """
    if not places:
        return None if page is None else f"page {page}"
    names = list(dict.fromkeys(name for _, name in places))
    return _spanned(names)


def _spanned(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    cells = [found for name in names if (found := _CELLS.fullmatch(name))]
    sheets = {found["sheet"] for found in cells} | {name for name in names if not _CELLS.fullmatch(name)}
    if cells and len(sheets) == 1:
        left, right = (_widest([found[side] for found in cells], side) for side in ("left", "right"))
        rows = [int(found[end]) for found in cells for end in ("first", "last")]
        return f"{cells[0]['sheet']}{left}{min(rows)}:{right}{max(rows)}"
    first, last = (_NUMBERED.fullmatch(name) for name in (names[0], names[-1]))
    if first and last and first["word"] == last["word"]:
        if first["number"] == last["number"]:
            return f"{first['word']} {first['number']}"
        return f"{first['word']}s {first['number']} to {last['number']}"
    return f"{names[0]} to {names[-1]}"


def _widest(columns: Sequence[str], side: str) -> str:
    ordered = sorted(columns, key=lambda letters: (len(letters), letters))
    return ordered[0] if side == "left" else ordered[-1]


def place_at(places: ChunkPlaces, text: str, start: int, end: int) -> str | None:
    r"""The name of the place that holds *start* to *end* (exclusive) of a chunk's *text*; None if there is none.

    Of cells it names only the rows that the stretch touches.

    >>> rows = "| Ann | 1 |\n| Bob | 2 |\n| Cy | 3 |\n"
    >>> place_at(((0, "Budget!A2:B4"),), rows, 14, 22), place_at(((0, "slide 1"), (12, "slide 2")), rows, 14, 22)
    ('Budget!A3:B3', 'slide 2')
    """
    touched: list[str] = []
    for number, (at, name) in enumerate(places):
        stop = places[number + 1][0] if number + 1 < len(places) else len(text)
        begin, until = max(start, at), min(end, stop)
        if begin < until:
            touched.append(_rows(name, text[at:begin], text[begin:until]))
    return _spanned(list(dict.fromkeys(touched))) if touched else None


def _rows(name: str, before: str, touched: str) -> str:
    cells = _CELLS.fullmatch(name)
    if cells is None:
        return name
    last_row = int(cells["last"])
    first = min(int(cells["first"]) + before.count("\n"), last_row)
    last = min(first + touched.rstrip("\n").count("\n"), last_row)
    return f"{cells['sheet']}{cells['left']}{first}:{cells['right']}{last}"


def page_in(place: str | None) -> int | None:
    """The number of the page or slide that *place* starts with.

    >>> page_in("page 4"), page_in("slide 12, notes"), page_in("Budget!A1:B2"), page_in(None)
    (4, 12, None, None)
    """
    found = re.match(r"(?:page|slide)s? (\d+)", place or "")
    return int(found[1]) if found else None


def chunk_places(stored: Sequence[Sequence[int | str]]) -> ChunkPlaces:
    """The places of a chunk as JSON stored them.

    >>> chunk_places([[0, "slide 2"]])
    ((0, 'slide 2'),)
    """
    return tuple((int(at), str(name)) for at, name in stored)
