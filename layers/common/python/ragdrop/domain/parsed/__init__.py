"""A parsed document: text, headings, tables, pages, warnings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from ragdrop.domain.chunk_units import Span, windows
from ragdrop.domain.documents import ContentType
from ragdrop.domain.links import Link
from ragdrop.domain.parsed.places import ChunkPlaces, Place

Syntax = Literal["markdown", "text"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 to 6), its text, and where its line starts in the parsed text.

    Functions and classes of source code are headings too, from level 2 on.
    """

    level: int
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Table:
    """Lines that are a table: `start` to `rows_start` is its header, `rows_start` to `end` its rows.

    `header` is the header's text where it stands in another part of the document.
    """

    start: int
    rows_start: int
    end: int
    header: str = ""

    def moved(self, by: int) -> Table:
        """The same table in a text that has *by* characters more before it.

        >>> Table(0, 12, 20).moved(5)
        Table(start=5, rows_start=17, end=25, header='')
        """
        return Table(self.start + by, self.rows_start + by, self.end + by, self.header)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Text and structure.

    Args:
        text: The parsed text; offsets count its code points.
        syntax: How the splitter should read it.
        media_type: What the parser found it to be, such as `text/markdown`.
        body_start: Where the body starts: text before it (front matter) is not chunked.
        headings: In order of their position.
        metadata: What the document says of itself, as written (front matter).
        content_type: Which chunking suits it.
        links: As written, in order.
        warnings: What was wrong but did not prevent reading.
        pages: Where each page starts, in order; empty where the format has no pages.
        tables: In order of their position, none inside another.
        places: What readers call its parts, in order; a document that has pages alone needs none.
    """

    text: str
    syntax: Syntax
    media_type: str
    body_start: int = 0
    headings: tuple[Heading, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    content_type: ContentType = "documentation"
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    tables: tuple[Table, ...] = ()
    places: tuple[Place, ...] = ()

    def heading_path(self, start: int) -> tuple[str, ...]:
        r"""The headings in force at *start*, outermost first.

        >>> document = ParsedDocument("# A\n## B\nx", "markdown", "text/markdown",
        ...     headings=(Heading(1, "A", 0), Heading(2, "B", 4)))
        >>> document.heading_path(9), document.heading_path(0)
        (('A', 'B'), ('A',))
        """
        return tuple(heading.text for heading in self.headings_at(start))

    def page(self, start: int) -> int | None:
        """The page, from 1 on, that holds the character at *start*; None where the format has no pages.

        >>> ParsedDocument("onetwo", "text", "application/pdf", pages=(0, 3)).page(4)
        2
        """
        return max(bisect_right(self.pages, start), 1) if self.pages else None

    def places_in(self, start: int, end: int) -> ChunkPlaces:
        """The places that *start* to *end* (exclusive) touches; none where its one page says it all.

        >>> ParsedDocument("onetwo", "text", "application/pdf", pages=(0, 3)).places_in(1, 5)
        ((0, 'page 1'), (2, 'page 2'))
        >>> ParsedDocument("onetwo", "text", "application/pdf", pages=(0, 3)).places_in(3, 5)
        ()
        """
        starts: Sequence[int] = self.pages if not self.places else [place.start for place in self.places]
        first = max(bisect_right(starts, start) - 1, 0)
        last = max(bisect_left(starts, end), first)
        if not self.places:
            touched = [(max(starts[at] - start, 0), f"page {at + 1}") for at in range(first, last)]
            return tuple(touched) if len(touched) > 1 else ()
        stops = [*starts[first + 1 : last], end]
        return tuple(
            (max(place.start - start, 0), place.named(self.text, max(place.start, start), stop))
            for place, stop in zip(self.places[first:last], stops, strict=True)
        )

    def headings_at(self, start: int) -> list[Heading]:
        """The headings in force at *start*, outermost first."""
        path: list[Heading] = []
        level = 7
        for heading in reversed(self.headings[: bisect_right(self.headings, start, key=lambda held: held.start)]):
            if heading.level < level:
                path.append(heading)
                level = heading.level
            if level == 1:
                break
        return path[::-1]

    def fields(self) -> dict[str, Any]:
        """All of it as plain values, for JSON; `document_of` is the way back."""
        return asdict(self)


def document_of(fields: Mapping[str, Any]) -> ParsedDocument:
    """The document that gave these *fields*; those added since they were written take their defaults.

    >>> document = ParsedDocument("a", "text", "text/plain", headings=(Heading(1, "a", 0),), pages=(0,))
    >>> document_of(document.fields()) == document
    True
    """
    values = dict(fields)
    for name in ("warnings", "pages"):
        values[name] = tuple(values.get(name, ()))
    values["links"] = tuple(Link(**link) for link in values.get("links", ()))
    values["headings"] = tuple(Heading(**heading) for heading in values.get("headings", ()))
    values["tables"] = tuple(Table(**table) for table in values.get("tables", ()))
    values["places"] = tuple(
        Place(place["start"], place["name"], _pair(place["columns"]), place["row"], place["rows"])
        for place in values.get("places", ())
    )
    return ParsedDocument(**values)


def _pair(columns: Sequence[str] | None) -> tuple[str, str] | None:
    return None if columns is None else (columns[0], columns[1])


def part_places(document: ParsedDocument, size: int) -> list[Span]:
    r"""Where a document is cut into parts of at most *size* characters; a shorter one is one part.

    Parts end before a heading, at a blank line, a line end or a space, the same for the same text every time.

    >>> part_places(ParsedDocument("one two\n\nthree four", "text", "text/plain"), 12)
    [(0, 9), (9, 19)]
    """
    if len(document.text) <= size:
        return [(0, len(document.text))]
    starts = [heading.start for heading in document.headings]
    return list(windows(document.text, 0, len(document.text), size, starts))


def part_of(document: ParsedDocument, start: int, end: int, text: Callable[[int, int], str]) -> ParsedDocument:
    r"""The part *start* to *end* (exclusive) as a document whose offsets count from *start*.

    Headings in force at the start come along, and so does the header of a table that goes on.

    Args:
        document: The structure; its text is not looked at, so that nobody has to hold it.
        start: First code point of the part.
        end: One behind the last.
        text: Gives the text between two places of the document.

    >>> whole = ParsedDocument("# A\nx\ny", "markdown", "text/markdown", headings=(Heading(1, "A", 0),))
    >>> part = part_of(whole, 6, 7, lambda start, end: whole.text[start:end])
    >>> part.text, part.heading_path(0)
    ('y', ('A',))
    """
    above = document.headings_at(start - 1) if start else []
    first, last = (bisect_left(document.headings, place, key=lambda held: held.start) for place in (start, end))
    inside = [replace(heading, start=heading.start - start) for heading in document.headings[first:last]]
    tables = document.tables[bisect_right(document.tables, start, key=lambda held: held.end) :]
    return replace(
        document,
        text=text(start, end),
        body_start=min(max(document.body_start - start, 0), end - start),
        headings=(*(Heading(heading.level, heading.text, 0) for heading in above), *inside),
        pages=tuple(max(page - start, 0) for page in document.pages if page < end),
        tables=tuple(_within(table, start, end, text) for table in tables if table.start < end),
        places=_places_of(document.places, start, end, text),
    )


def _within(table: Table, start: int, end: int, text: Callable[[int, int], str]) -> Table:
    """The rows of *table* between *start* and *end*; one that begins before is told its header."""
    header = table.header
    if table.start < start and not header:
        header = text(table.start, table.rows_start).strip()
    first, last = max(table.start - start, 0), min(table.end, end) - start
    return Table(first, min(max(table.rows_start - start, 0), last), last, header)


def _places_of(places: Sequence[Place], start: int, end: int, text: Callable[[int, int], str]) -> tuple[Place, ...]:
    """The places between *start* and *end*; of one with rows that begins before, the rows that are left."""
    first = max(bisect_right(places, start, key=lambda held: held.start) - 1, 0)
    last = bisect_left(places, end, key=lambda held: held.start)
    inside = places[first:last]
    return tuple(
        place.cut(start, text(place.start, start) if place.columns and place.start < start else "") for place in inside
    )
