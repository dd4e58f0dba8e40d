"""Parts of a long document: where it is cut, and what each part takes along of the structure around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace

from ragdrop.domain.chunk_units import Span, windows
from ragdrop.domain.parsed import Heading, ParsedDocument, Table


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
    )


def _within(table: Table, start: int, end: int, text: Callable[[int, int], str]) -> Table:
    """The rows of *table* between *start* and *end*; one that begins before is told its header."""
    header = table.header
    if table.start < start and not header:
        header = text(table.start, table.rows_start).strip()
    first, last = max(table.start - start, 0), min(table.end, end) - start
    return Table(first, min(max(table.rows_start - start, 0), last), last, header)
