"""Marks in the source of an RTF document for what striprtf drops: raised, lowered and struck text, merged cells."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from readers.markdown_writer import grid, lowered, one_line, raised, struck

_MARK = "\ufdd1"  # no character: stands before the letters of a run's state
_ROW = "\ufdd2"  # stands before and behind the cells of a row
NEAR = 20  # twips: borders of cells that are nearer to each other are the same
_WORDS = (
    "super|sub|nosupersub|up|dn|strike|striked|plain|deleted|trowd|cellx|clvmgf|clvmrg|clmgf|clmrg|row"  # of Word's
)
_TOKEN = re.compile(rf"\\({_WORDS})(?![a-zA-Z])(-?\d{{1,9}})? ?|\\[^a-zA-Z]|[{{}}]")
_RUN = re.compile(f"{_MARK}([udk]*);([^{_MARK}]*)")


@dataclass(frozen=True)
class _State:
    """How a run looks: `u` for raised, `d` for lowered, and whether it is struck or deleted."""

    shift: str = ""
    struck: bool = False
    deleted: bool = False

    def after(self, word: str, number: str | None) -> _State:
        """What holds behind a control word."""
        is_on = number is None or int(number) != 0
        match word:
            case "plain":
                return _State()
            case "super" | "up":
                return replace(self, shift="u" if is_on else "")
            case "sub" | "dn":
                return replace(self, shift="d" if is_on else "")
            case "nosupersub":
                return replace(self, shift="")
            case "strike" | "striked":
                return replace(self, struck=is_on)
            case "deleted":
                return replace(self, deleted=is_on)
        return self

    def __str__(self) -> str:
        return f"{_MARK}{self.shift}{'k' * self.struck};"


def marked(source: str) -> tuple[str, bool]:
    r"""The source with marks that striprtf takes for text, without deleted runs, and whether there were any.

    >>> marked(r"10{\super 6} m")[0].encode("ascii", "backslashreplace")
    b'10{\\super \\ufdd1u;6\\ufdd1;} m'
    """
    parts: list[str] = []
    outer: list[_State] = []
    state, cells, flag, at, has_deleted = _State(), list[str](), "", 0, False
    for found in _TOKEN.finditer(source):
        word, number, before = found[1], found[2], state
        if not state.deleted:
            parts.append(source[at : found.start()])
        at = found.end()
        if found[0] == "{":
            outer.append(state)
        elif found[0] == "}" and outer:
            state = outer.pop()
        elif word in {"trowd", "cellx", "row"}:
            if word == "cellx":
                cells.append(f"{number or 0}{flag}")
            elif word == "row":
                parts.append(f"{_ROW}{','.join(cells)}{_ROW}")
            cells, flag = [] if word == "trowd" else cells, ""
        elif word and word.startswith("cl"):
            flag = {"clvmrg": "v", "clmrg": "h"}.get(word, flag)
        elif word:
            state = state.after(word, number)
        has_deleted |= state.deleted
        mark = str(state) if str(state) != str(before) else ""
        keeps = not (state.deleted and before.deleted) or found[0] in "{}"
        parts.append((mark + found[0] if found[0] == "}" else found[0] + mark) if keeps else "")
    parts.append(source[at:])
    return "".join(parts), has_deleted


def without_marks(text: str) -> str:
    r"""Text with its marked runs in the common notation.

    >>> without_marks("10\ufdd1u;6\ufdd1; m, \ufdd1k;old\ufdd1; new")
    '10⁶ m, ~~old~~ new'
    """
    runs = [("", text.partition(_MARK)[0])]
    for look, run in _RUN.findall(text):
        if run and look == runs[-1][0]:
            runs[-1] = look, runs[-1][1] + run
        elif run:
            runs.append((look, run))
    parts: list[str] = []
    for look, run in runs:
        before = "".join(parts[-3:])[-20:]
        parts.append(re.sub(r"[^|\n]+", lambda found: _looking(found[0], look, before), run) if look else run)  # noqa: B023
    return "".join(parts)


def _looking(text: str, look: str, before: str) -> str:
    if "u" in look or "d" in look:
        text = raised(text, before) if "u" in look else lowered(text, before)
    return struck(text) if "k" in look else text


def cells_of(line: str) -> tuple[list[str], list[str]]:
    r"""The cells of a row and what defines them; none of a line that is no row.

    >>> cells_of("part|price|\ufdd2900,1800v\ufdd2"), cells_of("part | price")
    ((['part', 'price'], ['900', '1800v']), ([], []))
    """
    line, _, rest = line.rstrip().partition(_ROW)
    defined = rest.partition(_ROW)[0]
    return [one_line(cell) for cell in line.split("|")[:-1]] if line.rstrip().endswith("|") else [], (
        defined.split(",") if defined else []
    )


def filled(rows: list[tuple[list[str], list[str]]]) -> list[list[str]]:
    """The rows of a table with its merged cells filled, by the right borders of cells and their marks.

    >>> filled([(["EU", "Hub"], ["9", "99"]), (["", "Reel"], ["9v", "99"]), (["All"], ["99"])])
    [['EU', 'Hub'], ['EU', 'Reel'], ['All', '']]
    """
    if any(len(cells) != len(defined) for cells, defined in rows):
        return [cells for cells, _ in rows]
    edges = [[int(each.rstrip("vh")) for each in defined] for _, defined in rows]
    borders: list[int] = []
    for edge in sorted({edge for row in edges for edge in row}):
        if not borders or edge - borders[-1] > NEAR:
            borders.append(edge)
    owners: dict[int, list[int]] = {}  # by column: the size of the cell that began there
    own: list[list[tuple[str, list[int]]]] = []
    for (cells, defined), row in zip(rows, edges, strict=True):
        own.append([])
        column = 0
        for text, mark, edge in zip(cells, defined, row, strict=True):
            end = max(bisect_right(borders, edge), column + 1)
            if mark.endswith("h") and own[-1]:
                own[-1][-1][1][1] += end - column
            elif mark.endswith("v") and column in owners:
                owners[column][0] += 1
            else:
                owners[column] = [1, end - column]
                own[-1].append((text, owners[column]))
            column = end
    return grid([(text, down, across) for text, (down, across) in row] for row in own)
