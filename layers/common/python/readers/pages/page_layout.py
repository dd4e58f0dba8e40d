"""Where the words and the ruling lines of a PDF's page are; asked only of pages that may hold a table."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from readers.pages.table_geometry import GAP, Line, PlacedWord, Rule, Span, gaps_of, grown, lines_of

MAX_OBJECTS = 20_000  # of a page that are looked at for lines: a map has more, a table never
MAX_SEGMENTS = 5_000  # of all paths of a page
MAX_WORDS = 5_000  # of a page whose words are placed
THIN = 3.0  # points: a rectangle that is thinner is a line
MIN_RULE = 8.0  # points: a shorter line is a tick, or a part of a letter
MIN_LINES = 3  # with gaps, before the words of a page without lines are placed
AIR = 0.3  # of a piece's height: what a font's line has above and below its letters
SHORT = 12.0  # heights of a line: a piece of text that is wider is one of a column of prose
MARGIN = 26.0  # points above and below: two lines
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"\S[^\r\n]*")
Box = tuple[float, float, float, float]
Turn = Callable[[float, float, float, float], Box]


@dataclass(frozen=True)
class Layout:
    """The parts of a page that may hold tables, as a reader sees them: x grows to the right, y downwards.

    Args:
        words: The words of these parts.
        rules: All ruling lines.
        lines: The middle of each line of the whole page.
        font: Gives the name of the font of a character of the text.
    """

    words: list[PlacedWord]
    rules: list[Rule]
    lines: list[float]
    font: Callable[[int], str]


def layout_of(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str) -> Layout | None:
    """Where everything stands that may be a table; None where nothing tells of one.

    *text* has one letter for each character of *textpage*; where it has not, the places are not known.
    """
    turn = _TURNS[page.get_rotation() % 360]
    rules = list(_rules(page, turn))
    parts = [*_ruled_parts(rules), *_parts_with_gaps(textpage, turn, text.count("\n"))]
    if not parts or len(text) != textpage.count_chars():
        return None
    box = _Boxes(textpage, turn)
    words: list[PlacedWord] = []
    lines = []
    for line in _LINE.finditer(text):
        _, top, _, bottom = box(line.start())
        lines.append((top + bottom) / 2)
        if not any(start < lines[-1] < end for start, end in parts):
            continue
        for found in _WORD.finditer(text, line.start(), line.end()):
            x0, y0, x1, y1 = box(found.start())
            if found.end() - found.start() > 1:
                a0, b0, a1, b1 = box(found.end() - 1)
                x0, y0, x1, y1 = min(x0, a0), min(y0, b0), max(x1, a1), max(y1, b1)
            words.append(PlacedWord(x0, y0, x1, y1, found.start(), found.end()))
        if len(words) > MAX_WORDS:
            return None
    return Layout(words, rules, lines, lambda index: font_of(textpage.raw, index))


_TURNS: dict[int, Turn] = {
    0: lambda left, bottom, right, top: (left, -top, right, -bottom),
    90: lambda left, bottom, right, top: (bottom, left, top, right),
    180: lambda left, bottom, right, top: (-right, bottom, -left, top),
    270: lambda left, bottom, right, top: (-top, -right, -bottom, -left),
}
"""What turns a box of PDF's coordinates into one from the top left, by the page's rotation."""


def _ruled_parts(rules: list[Rule]) -> Iterator[Span]:
    """From where to where lines of the same width lie above each other, or lines stand upright."""
    flat: dict[tuple[int, int], list[float]] = {}
    for rule in rules:
        if rule.is_flat:
            flat.setdefault((round(rule.x0 / 4), round(rule.x1 / 4)), []).append(rule.y0)
    yield from ((min(ys) - MARGIN, max(ys) + MARGIN) for ys in flat.values() if len(ys) > 1)
    upright = [rule for rule in rules if not rule.is_flat]
    if len(upright) > 1 or (upright and flat):
        yield min(rule.y0 for rule in upright) - MARGIN, max(rule.y1 for rule in upright) + MARGIN


def _parts_with_gaps(textpage: pypdfium2.PdfTextPage, turn: Turn, breaks: int) -> Iterator[Span]:
    """From where to where neighbouring lines consist of short pieces of text with gaps between them."""
    count = pdfium.FPDFText_CountRects(textpage, 0, -1)
    if not breaks + MIN_LINES < count < MAX_WORDS:  # a piece is a line, but for a few
        return
    left, top, right, bottom = sides = [ctypes.c_double() for _ in range(4)]
    references = [ctypes.byref(side) for side in sides]
    boxes: list[Box] = []
    raw, place, gaps = textpage.raw, pdfium.FPDFText_GetRect, 0
    reach = middle = 0.0
    for index in range(count):
        place(raw, index, *references)
        x0, y0, x1, y1 = turn(left.value, bottom.value, right.value, top.value)
        air = AIR * (y1 - y0)
        boxes.append((x0, y0 - air, x1, y1 + air))
        gaps += x0 - reach > GAP * (y1 - y0) and y0 < middle < y1
        reach, middle = x1, (y0 + y1) / 2
    if gaps < MIN_LINES:  # the pieces of a line follow each other
        return
    pieces = [PlacedWord(*box, index, index) for index, box in enumerate(boxes)]
    lines = lines_of(pieces)
    of_cells = [len(line) > 1 and _is_of_cells(line) for line in lines]
    at = 0
    while sum(of_cells[at:]) >= MIN_LINES:
        block = grown(lines, at)[0] if of_cells[at] else []
        if sum(of_cells[at : at + len(block)]) >= MIN_LINES:
            yield block[0][0].y0 - MARGIN, block[-1][0].y1 + MARGIN
            at += len(block)
        else:
            at += 1


def _is_of_cells(line: Line) -> bool:
    """Whether a line has gaps, and is none of two columns of prose, nor an item of a list behind its mark."""
    gaps = gaps_of(line)
    if len(gaps) != 1:
        return len(gaps) > 1
    height = line[0].height
    widths = gaps[0][0] - line[0].x0, line[-1].x1 - gaps[0][1]
    return widths[0] > 1.5 * height and min(widths) < SHORT * height


class _Boxes:
    """The boxes of a page's characters, as high as their fonts."""

    def __init__(self, textpage: pypdfium2.PdfTextPage, turn: Turn) -> None:
        self._textpage, self._turn, self._place = textpage.raw, turn, pdfium.FPDFText_GetLooseCharBox
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)

    def __call__(self, index: int) -> Box:
        box = self._box
        self._place(self._textpage, index, self._reference)
        return self._turn(box.left, box.bottom, box.right, box.top)


def font_of(textpage: object, index: int) -> str:
    """The name of the font of a character of a page's raw text."""
    name = ctypes.create_string_buffer(128)
    pdfium.FPDFText_GetFontInfo(textpage, index, name, len(name), None)
    return name.value.decode("utf-8", "replace")


def _rules(page: pypdfium2.PdfPage, turn: Turn) -> Iterator[Rule]:
    """The straight lines of the page, and the edges of its rectangles."""
    rest = MAX_SEGMENTS
    sides = [ctypes.c_float() for _ in range(4)]
    references = [ctypes.byref(side) for side in sides]
    objects, kind_of, path = page.raw, pdfium.FPDFPageObj_GetType, pdfium.FPDF_PAGEOBJ_PATH
    get = pdfium.FPDFPage_GetObject
    for index in range(min(pdfium.FPDFPage_CountObjects(objects), MAX_OBJECTS)):
        held = get(objects, index)
        if kind_of(held) != path:
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
            yield from _as_rule(*turn(left, bottom, right, top))
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
        here = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            begun = here
        elif kind == pdfium.FPDF_SEGMENT_LINETO and before is not None:
            yield from _as_rule(*turn(*_between(before, here)))
        if begun is not None and pdfium.FPDFPathSegment_GetClose(segment):
            yield from _as_rule(*turn(*_between(here, begun)))
        before = here


def _between(start: tuple[float, float], end: tuple[float, float]) -> Box:
    (x0, y0), (x1, y1) = start, end
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def _as_rule(x0: float, y0: float, x1: float, y1: float) -> Iterator[Rule]:
    """The line in the middle of a thin box; none where it is neither flat nor upright."""
    if y1 - y0 < THIN and x1 - x0 >= MIN_RULE:
        yield Rule(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2)
    elif x1 - x0 < THIN and y1 - y0 >= MIN_RULE:
        yield Rule((x0 + x1) / 2, y0, (x0 + x1) / 2, y1)
