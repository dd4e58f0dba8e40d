"""What a reader returns: text, headings, tables, places, links, warnings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Syntax = Literal["markdown", "text"]
ContentType = Literal["chat", "code", "documentation"]

SPEAKER = re.compile(r"^\[[^\]\n]{1,60}\]\s+\S", re.MULTILINE)
"""How a message of a chat begins: `[Name] text`."""
MAX_TARGET_CHARACTERS = 1_000  # of a link
MAX_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, order=True, slots=True)
class WrittenLink:
    """A link as written: `target` with the brackets of a wikilink, `text` as a reader sees it."""

    target: str
    text: str = ""

    @classmethod
    def cut(cls, target: str, text: str) -> WrittenLink:
        """A link with both cut to their limits, and the text on one line."""
        return cls(target[:MAX_TARGET_CHARACTERS], " ".join(text.split())[:MAX_SHOWN_CHARACTERS])


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

    `header` is the text of a header that stands in another part of the document.
    """

    start: int
    rows_start: int
    end: int
    header: str = ""

    def moved(self, by: int) -> Table:
        """The same table in a text with *by* more characters before it."""
        return Table(self.start + by, self.rows_start + by, self.end + by, self.header)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the parsed text, such as a page, a slide or cells of a sheet; it ends where the next place starts.

    With `columns` its lines are rows of a sheet: `row` is the number of the first one, `rows` their count.
    """

    start: int
    name: str
    columns: tuple[str, str] | None = None
    row: int = 0
    rows: int = 0

    def named(self, text: str, begin: int, end: int) -> str:
        r"""The name of the part of *text* from *begin* to *end*, both within this place.

        >>> Place(0, "Budget", ("A", "C"), 2, 3).named("| a |\n| b |\n| c |\n", 6, 18)
        'Budget!A3:C4'
        """
        if self.columns is None:
            return self.name
        first = min(text.count("\n", self.start, begin), self.rows - 1)
        last = min(first + text[begin:end].rstrip("\n").count("\n"), self.rows - 1)
        sheet = f"{self.name}!" if self.name else ""  # a CSV has one sheet, without a name
        return f"{sheet}{self.columns[0]}{self.row + first}:{self.columns[1]}{self.row + last}"

    def cut(self, start: int, skipped: str) -> Place:
        r"""What is left of the place in a text that starts at *start*; *skipped* is its text before that.

        >>> Place(10, "Budget", ("A", "C"), 2, 3).cut(16, "| a |\n")
        Place(start=0, name='Budget', columns=('A', 'C'), row=3, rows=2)
        """
        lines = skipped.count("\n") if self.columns else 0
        return replace(self, start=max(self.start - start, 0), row=self.row + lines, rows=max(self.rows - lines, 1))


Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page as a picture, with the places of a part of its text.

    Attributes:
        picture: A PNG in colour.
        width, height: Of the picture, in pixels.
        pages: How many pages the document has.
        marks: Where the requested text stands: left, top, width and height as shares of the page, 0 to 1.
        located: The share of the requested letters and digits that `marks` cover, 0 to 1.
    """

    picture: bytes
    width: int
    height: int
    pages: int
    marks: tuple[Box, ...] = ()
    located: float = 0.0


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Text and structure; offsets count code points of `text`, and every tuple is in order of position."""

    text: str
    syntax: Syntax  # how a splitter should read the text
    media_type: str  # what the reader found the file to be, such as `text/markdown`
    body_start: int = 0  # where the body starts: text before it (front matter) is not chunked
    headings: tuple[Heading, ...] = ()
    # what the document states about itself, as written (front matter)
    metadata: dict[str, Any] = field(default_factory=dict)
    content_type: ContentType = "documentation"  # which chunking suits it
    links: tuple[WrittenLink, ...] = ()
    warnings: tuple[str, ...] = ()  # what was wrong but did not prevent reading
    pages: tuple[int, ...] = ()  # where each page starts; empty if the format has no pages
    tables: tuple[Table, ...] = ()  # None of them inside another
    places: tuple[Place, ...] = ()  # empty for a document that has nothing but pages

    def heading_path(self, start: int) -> tuple[str, ...]:
        r"""The headings in force at *start*, outermost first.

        >>> document = ParsedDocument("# A\n## B\nx", "markdown", "text/markdown",
        ...     headings=(Heading(1, "A", 0), Heading(2, "B", 4)))
        >>> document.heading_path(9), document.heading_path(0)
        (('A', 'B'), ('A',))
        """
        return tuple(heading.text for heading in self._headings_at(start))

    def page(self, start: int) -> int | None:
        """The page, from 1 on, with the character at *start*; None if the format has no pages.

        >>> ParsedDocument("onetwo", "text", "application/pdf", pages=(0, 3)).page(4)
        2
        """
        return max(bisect_right(self.pages, start), 1) if self.pages else None

    def places_in(self, start: int, end: int) -> tuple[tuple[int, str], ...]:
        """The places from *start* to *end* (exclusive), counted from *start*; none if one page is all of them.

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
        stops = [*starts[first + 1 : last], end][: last - first]  # none where the part ends before the first place
        return tuple(
            (max(place.start - start, 0), place.named(self.text, max(place.start, start), stop))
            for place, stop in zip(self.places[first:last], stops, strict=True)
        )

    def _headings_at(self, start: int) -> list[Heading]:
        path: list[Heading] = []
        level = 7
        for heading in reversed(self.headings[: bisect_right(self.headings, start, key=lambda each: each.start)]):
            if heading.level < level:
                path.append(heading)
                level = heading.level
            if level == 1:
                break
        return path[::-1]

    def fields(self) -> dict[str, Any]:
        """All fields as plain values for JSON; `document_of` is the inverse."""
        return asdict(self)


def document_of(fields: Mapping[str, Any]) -> ParsedDocument:
    """The document with these *fields*; fields that an older version did not write take their defaults.

    >>> document = ParsedDocument("a", "text", "text/plain", headings=(Heading(1, "a", 0),), pages=(0,))
    >>> document_of(document.fields()) == document
    True
    """
    values = dict(fields)
    for name in ("warnings", "pages"):
        values[name] = tuple(values.get(name, ()))
    for name, kind in (("links", WrittenLink), ("headings", Heading), ("tables", Table)):
        values[name] = tuple(kind(**each) for each in values.get(name, ()))
    values["places"] = tuple(
        Place(**{**place, "columns": tuple(place["columns"]) if place["columns"] is not None else None})
        for place in values.get("places", ())
    )
    return ParsedDocument(**values)


def part_of(document: ParsedDocument, start: int, end: int, text: Callable[[int, int], str]) -> ParsedDocument:
    r"""The part *start* to *end* (exclusive) as a document whose offsets count from *start*.

    Headings in force at the start come along, and so does the header of a table that continues there.

    Args:
        document: The structure; its text is not read, so that nobody needs it in memory.
        start: First code point of the part.
        end: One behind the last.
        text: Returns the text between two positions of the document.

    >>> whole = ParsedDocument("# A\nx\ny", "markdown", "text/markdown", headings=(Heading(1, "A", 0),))
    >>> part = part_of(whole, 6, 7, lambda start, end: whole.text[start:end])
    >>> part.text, part.heading_path(0)
    ('y', ('A',))
    """
    above = document._headings_at(start - 1) if start else []
    first, last = (bisect_left(document.headings, at, key=lambda each: each.start) for at in (start, end))
    inside = [replace(heading, start=heading.start - start) for heading in document.headings[first:last]]
    tables = document.tables[bisect_right(document.tables, start, key=lambda each: each.end) :]
    return replace(
        document,
        text=text(start, end),
        body_start=min(max(document.body_start - start, 0), end - start),
        headings=(*(replace(heading, start=0) for heading in above), *inside),
        pages=tuple(max(page - start, 0) for page in document.pages if page < end),
        tables=tuple(_within(table, start, end, text) for table in tables if table.start < end),
        places=_places_of(document.places, start, end, text),
    )


def _within(table: Table, start: int, end: int, text: Callable[[int, int], str]) -> Table:
    """The rows of *table* between *start* and *end*, with the header of one that begins before."""
    header = table.header
    if table.start < start and not header:
        header = text(table.start, table.rows_start).strip()
    first, last = max(table.start - start, 0), min(table.end, end) - start
    return Table(first, min(max(table.rows_start - start, 0), last), last, header)


def _places_of(places: Sequence[Place], start: int, end: int, text: Callable[[int, int], str]) -> tuple[Place, ...]:
    """The places between *start* and *end*; of one with rows that begins before, the remaining rows."""
    first = max(bisect_right(places, start, key=lambda each: each.start) - 1, 0)
    last = bisect_left(places, end, key=lambda each: each.start)
    return tuple(
        place.cut(start, text(place.start, start) if place.columns and place.start < start else "")
        for place in places[first:last]
    )


def column_name(number: int) -> str:
    """The letters of a sheet's column, counted from 0.

    >>> column_name(0), column_name(25), column_name(26), column_name(16_383)
    ('A', 'Z', 'AA', 'XFD')
    """
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def sheet_name(name: str) -> str:
    """The name of a sheet as a formula writes it: quoted unless it is one plain word.

    >>> sheet_name("Budget"), sheet_name("Q1 2026"), sheet_name("Ann's")
    ('Budget', "'Q1 2026'", "'Ann''s'")
    """
    plain = " ".join(name.split())
    return plain if re.fullmatch(r"[^\W\d]\w*", plain) else "'" + plain.replace("'", "''") + "'"
