"""Where the words and the ruling lines of a PDF's page are; asked only of pages that may hold a table."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from ragdrop.formats.pages.table_geometry import Rule, Word, gaps_of, lines_of

MAX_OBJECTS = 20_000  # of a page that are looked at for lines: a map has more, a table never
MAX_SEGMENTS = 5_000  # of all paths of a page
MAX_WORDS = 5_000  # of a page whose words are placed
THIN = 3.0  # points: a rectangle that is thinner is a line
MIN_RULE = 8.0  # points: a shorter line is a tick, or a part of a letter
MIN_LINES = 3  # with gaps, before the words of a page without lines are placed
SHORT = 12.0  # heights of a line: a piece of text that is wider is one of a column of prose
_WORD = re.compile(r"\S+")
Turn = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Layout:
    """A page as a reader sees it: x grows to the right, y downwards.

    `font` gives the name of the font of a character of the text.
    """

    words: list[Word]
    rules: list[Rule]
    font: Callable[[int], str]


def layout_of(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str) -> Layout | None:
    """Where everything stands; None where nothing tells of a table.

    *text* has one letter for each character of *textpage*; where it has not, the places are not known.
    """
    turn = _TURNS[page.get_rotation() % 360]
    rules = list(_rules(page, turn))
    if len(text) != textpage.count_chars() or not (_may_be_ruled(rules) or _has_gaps(textpage, turn)):
        return None
    found = [(each.start(), each.end()) for each in _WORD.finditer(text)]
    if len(found) > MAX_WORDS:
        return None
    box = _Boxes(textpage, turn)
    words = []
    for start, end in found:
        x0, y0, x1, y1 = box(start)
        last = box(end - 1) if end - start > 1 else (x0, y0, x1, y1)
        words.append(Word(min(x0, last[0]), min(y0, last[1]), max(x1, last[2]), max(y1, last[3]), start, end))
    return Layout(words, rules, lambda index: _font(textpage, index))


_TURNS: dict[int, Turn] = {
    0: lambda x, y: (x, -y),
    90: lambda x, y: (y, x),
    180: lambda x, y: (-x, y),
    270: lambda x, y: (-y, -x),
}


def _may_be_ruled(rules: list[Rule]) -> bool:
    """Whether two lines of the same width lie above each other, or several stand upright."""
    flat = sorted((round(rule.x0 / 4), round(rule.x1 / 4)) for rule in rules if rule.is_flat)
    return len(rules) - len(flat) > 2 or len(set(flat)) < len(flat)


def _has_gaps(textpage: pypdfium2.PdfTextPage, turn: Turn) -> bool:
    """Whether several lines consist of short pieces of text with gaps between them."""
    sides = [ctypes.c_double() for _ in range(4)]
    references = [ctypes.byref(side) for side in sides]
    pieces = []
    for index in range(min(pdfium.FPDFText_CountRects(textpage, 0, -1), MAX_WORDS)):
        pdfium.FPDFText_GetRect(textpage, index, *references)
        left, top, right, bottom = (side.value for side in sides)
        pieces.append(Word(*_turned(turn, left, bottom, right, top), index, index))
    found = 0
    for line in lines_of(pieces):
        gaps = gaps_of(line)
        short = sum(word.x1 - word.x0 < SHORT * word.height for word in line)
        found += len(gaps) > 1 or (len(gaps) == 1 and short > 0)
        if found >= MIN_LINES:
            return True
    return False


def _turned(turn: Turn, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
    x0, y0 = turn(left, bottom)
    x1, y1 = turn(right, top)
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


class _Boxes:
    """The boxes of a page's characters, as high as their fonts."""

    def __init__(self, textpage: pypdfium2.PdfTextPage, turn: Turn) -> None:
        self._textpage, self._turn = textpage, turn
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)

    def __call__(self, index: int) -> tuple[float, float, float, float]:
        pdfium.FPDFText_GetLooseCharBox(self._textpage, index, self._reference)
        return _turned(self._turn, self._box.left, self._box.bottom, self._box.right, self._box.top)


def _font(textpage: pypdfium2.PdfTextPage, index: int) -> str:
    name = ctypes.create_string_buffer(128)
    pdfium.FPDFText_GetFontInfo(textpage, index, name, len(name), None)
    return name.value.decode("utf-8", "replace")


def _rules(page: pypdfium2.PdfPage, turn: Turn) -> Iterator[Rule]:
    """The straight lines of the page, and the edges of its rectangles."""
    rest = MAX_SEGMENTS
    sides = [ctypes.c_float() for _ in range(4)]
    references = [ctypes.byref(side) for side in sides]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), MAX_OBJECTS)):
        held = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(held) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        count = pdfium.FPDFPath_CountSegments(held)
        rest -= count
        if rest < 0:
            return
        if count <= 2 or not pdfium.FPDFPageObj_GetBounds(held, *references):
            yield from _segments(held, count, turn)
            continue
        left, bottom, right, top = (side.value for side in sides)
        if min(right - left, top - bottom) < THIN:  # a line that is drawn as a rectangle
            yield from _as_rule(*_turned(turn, left, bottom, right, top))
        else:
            yield from _segments(held, count, turn)


def _segments(held: object, count: int, turn: Turn) -> Iterator[Rule]:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(held, ctypes.byref(matrix))
    x, y = ctypes.c_float(), ctypes.c_float()
    before = begun = None
    for number in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(held, number)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        here = turn(
            matrix.a * x.value + matrix.c * y.value + matrix.e, matrix.b * x.value + matrix.d * y.value + matrix.f
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            begun = here
        elif kind == pdfium.FPDF_SEGMENT_LINETO and before is not None:
            yield from _between(before, here)
        if begun is not None and pdfium.FPDFPathSegment_GetClose(segment):
            yield from _between(here, begun)
        before = here


def _between(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Rule]:
    yield from _as_rule(*map(min, start, end), *map(max, start, end))


def _as_rule(x0: float, y0: float, x1: float, y1: float) -> Iterator[Rule]:
    """The line in the middle of a thin box; none where it is neither flat nor upright."""
    if y1 - y0 < THIN and x1 - x0 >= MIN_RULE:
        yield Rule(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)
    elif x1 - x0 < THIN and y1 - y0 >= MIN_RULE:
        yield Rule((x0 + x1) / 2, y0, (x0 + x1) / 2, y1)
