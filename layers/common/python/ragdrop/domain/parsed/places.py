"""Places: what a reader calls a part of a document, such as a page, a slide, or cells of a sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

ChunkPlaces: TypeAlias = "tuple[tuple[int, str], ...]"
"""Where each place starts in a chunk's text, counted from the chunk's first code point, and its name."""

_CELLS = re.compile(
    r"(?P<sheet>.*)!(?P<left>[A-Z]{1,3})(?P<first>\d{1,7}):(?P<right>[A-Z]{1,3})(?P<last>\d{1,7})", re.S
)
_NUMBERED = re.compile(r"(?P<word>page|slide) (?P<number>\d{1,7})(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the parsed text that starts at `start` and ends where the next place starts.

    With `columns` its lines are rows of a sheet: `row` is the number of the first one, `rows` how many there are.
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
        return f"{self.name}!{self.columns[0]}{self.row + first}:{self.columns[1]}{self.row + last}"

    def cut(self, start: int, skipped: str) -> Place:
        r"""What is left of the place in a text that starts at *start*; *skipped* is its text before that.

        >>> Place(10, "Budget", ("A", "C"), 2, 3).cut(16, "| a |\n")
        Place(start=0, name='Budget', columns=('A', 'C'), row=3, rows=2)
        """
        lines = skipped.count("\n") if self.columns else 0
        return replace(self, start=max(self.start - start, 0), row=self.row + lines, rows=max(self.rows - lines, 1))


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
    """The name of a sheet as a formula writes it: quoted where it is not one plain word.

    >>> sheet_name("Budget"), sheet_name("Q1 2026"), sheet_name("Ann's")
    ('Budget', "'Q1 2026'", "'Ann''s'")
    """
    plain = " ".join(name.split())
    return plain if re.fullmatch(r"[^\W\d]\w*", plain) else "'" + plain.replace("'", "''") + "'"


def place_of(places: ChunkPlaces, page: int | None) -> str | None:
    """One name for all of a chunk; None where its document has no places and no pages.

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
        return f"{cells[0]['sheet']}!{left}{min(rows)}:{right}{max(rows)}"
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
    r"""The name of the place that holds *start* to *end* (exclusive) of a chunk's *text*; None where there is none.

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


def _rows(name: str, before: str, held: str) -> str:
    cells = _CELLS.fullmatch(name)
    if cells is None:
        return name
    last_row = int(cells["last"])
    first = min(int(cells["first"]) + before.count("\n"), last_row)
    last = min(first + held.rstrip("\n").count("\n"), last_row)
    return f"{cells['sheet']}!{cells['left']}{first}:{cells['right']}{last}"


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
