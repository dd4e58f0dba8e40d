"""The text of a PDF's pages: paragraphs, and tables as Markdown in their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2

from readers.markdown_writer import first_twenty, one_line, table_row
from readers.pages.page_glyphs import PageGlyphs, in_words
from readers.pages.page_layout import Layout, layout_of
from readers.pages.page_tables import FoundTable, PageTables
from readers.pages.pdf_damage import HYPHEN, MARK, is_right_to_left, reflow
from readers.pages.table_geometry import PlacedWord, lines_of
from readers.parsed import Table

SAME_BORDER = 8.0  # points by which the columns of a table may move on its next page
_MARKED = re.compile(f"\n*{MARK}(\\d+)\n*")


@dataclass(frozen=True)
class PageText:
    """A page's text and its tables, which count from its start."""

    text: str
    tables: tuple[Table, ...] = ()


class PageTexts:
    """Reads one page after the other, as a table may go on over pages."""

    def __init__(self) -> None:
        self.flattened: list[int] = []  # numbers of pages, from 1, with what seems a table and is kept as text
        self.guessed = 0  # glyphs whose font maps them to no character
        self._last: tuple[FoundTable, str] | None = None  # the table that ends the last page, and its header

    def warnings(self) -> Iterator[str]:
        """A warning where tables became plain text, and where glyphs stand for no character."""
        if self.flattened:
            many, shown = len(self.flattened), first_twenty(self.flattened)
            yield f"tables of {many} pages could not be kept as rows and were flattened to text: {shown}"
        if self.guessed:
            yield f"{self.guessed} glyphs have no character in their font's map and are left out; text may be missing"

    def read(self, page: pypdfium2.PdfPage, number: int) -> PageText:
        """The text of the page with this number, from 1.

        Raises:
            pypdfium2.PdfiumError: It cannot be read.
        """
        textpage = page.get_textpage()
        plain = textpage.get_text_range().replace(MARK, " ")
        glyphs = PageGlyphs(textpage)
        raw = glyphs.mended(plain)
        self.guessed += glyphs.guessed
        layout = None if is_right_to_left(raw) else layout_of(page, textpage, raw)
        before, self._last = self._last, None
        tables: list[FoundTable] = []
        if layout is not None:
            finder = PageTables(plain, layout.font)
            tables = sorted(finder.find(layout.words, layout.rules), key=lambda table: table.start)
            if finder.doubtful:
                self.flattened.append(number)
        if layout is None or not tables:
            return PageText(in_words(reflow(raw)))
        parts: list[str] = []
        kept: list[Table] = []
        for at, part in enumerate(_MARKED.split("\n" + in_words(reflow(_marked(raw, tables))) + "\n")):
            if at % 2 == 0:
                parts += [part.strip("\n") + "\n"] if part.strip("\n") else []
                continue
            found = tables[int(part)]
            piece, table = _markdown(raw, found, before if _lines_beyond(found, layout, above=True) < 2 else None)
            kept.append(table.moved(sum(map(len, parts)) + len(parts)))
            parts.append(piece)
            if _lines_beyond(found, layout, above=False) < 2:
                self._last = found, table.header or piece[: table.rows_start]
        return PageText("\n".join(parts).rstrip("\n"), tuple(kept))


def _markdown(raw: str, found: FoundTable, before: tuple[FoundTable, str] | None) -> tuple[str, Table]:
    """A table as Markdown; one that goes on from *before*, the last page's, has the header of that."""
    rows = [[_said(raw, cell) for cell in row] for row in found.rows]
    columns = len(rows[0])
    lines = [table_row(row, columns) for row in rows]
    if before is not None and _same_borders(before[0], found) and not before[1].startswith(lines[0]):
        text = "".join(lines)
        return text, Table(0, 0, len(text), before[1].strip())
    head = lines[0] + "|" + " --- |" * columns + "\n"
    text = head + "".join(lines[1:])
    return text, Table(0, len(head), len(text))


def _marked(raw: str, tables: Sequence[FoundTable]) -> str:
    """The text with a mark in a line of its own where each table begins, and without the words of tables."""
    runs: list[list[int]] = []
    words = sorted((word.start, word.end, number) for number, table in enumerate(tables) for word in table.words)
    for start, end, number in words:
        if runs and runs[-1][2] == number and not raw[runs[-1][1] : start].strip():
            runs[-1][1] = end
        else:
            runs.append([start, end, number])
    pieces, at, begun = [], 0, set[int]()
    for start, end, number in runs:
        pieces.append(raw[at:start])
        if number not in begun:
            pieces.append(f"\n{MARK}{number}\n")
        begun.add(number)
        at = end
    return "".join([*pieces, raw[at:]])


def _said(raw: str, cell: Sequence[PlacedWord]) -> str:
    """The words of a cell, line by line; one that is broken at a line's end is joined."""
    words = [raw[word.start : word.end] for line in lines_of(cell) for word in line]
    return one_line(in_words(" ".join(words)).replace(HYPHEN + " ", "").replace(HYPHEN, ""))


def _lines_beyond(table: FoundTable, layout: Layout, *, above: bool) -> int:
    """How many lines of the page stand above or below the table; a head or a foot of the page is one."""
    top, bottom = min(word.y0 for word in table.words), max(word.y1 for word in table.words)
    return len({round(at / 4) for at in layout.lines if (at < top if above else at > bottom)})


def _same_borders(one: FoundTable, other: FoundTable) -> bool:
    pairs = zip(one.borders, other.borders, strict=False)
    return len(one.borders) == len(other.borders) and all(abs(a - b) < SAME_BORDER for a, b in pairs)
