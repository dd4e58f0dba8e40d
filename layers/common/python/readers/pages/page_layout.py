"""Where the words and the ruling lines of a PDF's page are, and the lines, gaps and grids that they form."""

import ctypes
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

GAP = 0.8  # of a line's height: words of justified prose are nearer, cells of a table are not
LEAST_GUTTER = 0.35  # of a line's height: what must be left of a gap that all lines of a table share
FAR = 2.2  # heights of a line: what is further below does not go on
NEAR = 3.0  # points: lines that end so near to another one meet it
HALF = 8.0  # heights of a line: a narrower piece is no line of a column
LINES_ACROSS = 8  # whose halves are prose: fewer are a head of a letter
MAX_MEETINGS = 250_000  # of flat with upright lines: more are a drawing
Span = tuple[float, float]


class PlacedWord(NamedTuple):
    """A word's box, in points from the top left, and its place in the page's text."""

    x0: float
    y0: float
    x1: float
    y1: float
    start: int
    end: int

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of the box."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    @property
    def height(self) -> float:
        """How high the box is; never 0."""
        return max(self.y1 - self.y0, 1.0)


class Rule(NamedTuple):
    """A ruling line, flat or upright."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def is_flat(self) -> bool:
        """Whether it goes from left to right."""
        return self.x1 - self.x0 > self.y1 - self.y0


Line = list[PlacedWord]


def lines_of(words: Iterable[PlacedWord]) -> list[Line]:
    """The words in lines from the top down, each from left to right."""
    lines: list[Line] = []
    begun = reach = -math.inf
    for word in sorted(words, key=_double_middle):
        middle = _double_middle(word)
        if middle < reach and middle < begun + word.y1 - word.y0:
            lines[-1].append(word)
        else:
            lines.append([word])
            begun, reach = middle, middle + word.y1 - word.y0
    for line in lines:
        line.sort()
    return lines


def _double_middle(word: PlacedWord) -> float:
    return word.y0 + word.y1


def gaps_of(line: Sequence[PlacedWord], least: float = GAP) -> list[Span]:
    """The gaps between the words of a line that are wider than words of prose leave.

    >>> gaps_of([PlacedWord(0, 0, 20, 10, 0, 1), PlacedWord(23, 0, 40, 10, 2, 3), PlacedWord(60, 0, 90, 10, 4, 5)])
    [(40, 60)]
    """
    gaps, reach = [], line[0].x1
    for x0, y0, x1, y1, _, _ in line[1:]:
        if x0 - reach > least * max(y1 - y0, 1.0):
            gaps.append((reach, x0))
        if x1 > reach:
            reach = x1
    return gaps


def shared(gaps: Sequence[Span], others: Sequence[Span], least: float) -> list[Span]:
    """The common parts of two lists of gaps that are at least *least* wide.

    >>> shared([(10, 30), (50, 60)], [(0, 20), (25, 58)], 5)
    [(10, 20), (25, 30), (50, 58)]
    """
    both = []
    for a, b in gaps:
        for c, d in others:
            start, end = (a if a > c else c), (b if b < d else d)
            if end - start >= least:
                both.append((start, end))
    both.sort()
    return both


def open_gaps(line: Sequence[PlacedWord]) -> list[Span]:
    """The gaps of a line, those before and behind it included."""
    return [(-math.inf, line[0].x0), *gaps_of(line), (max(word.x1 for word in line), math.inf)]


def grown(lines: list[Line], at: int) -> tuple[list[Line], list[Span]]:
    """The lines from *at* on that share gaps, and these."""
    if at >= len(lines) or not gaps_of(lines[at]):
        return [], []
    block, gaps = [lines[at]], open_gaps(lines[at])
    for line in lines[at + 1 :]:
        height = line[0].height
        left = shared(gaps, open_gaps(line), LEAST_GUTTER * height)
        far = line[0].middle[1] - block[-1][0].middle[1] > FAR * height
        if far or len(columns_of(left)) < max(len(columns_of(gaps)) if len(block) > 1 else 1, 1):
            break
        block.append(line)
        gaps = left
    return block, gaps


def columns_of(gaps: Sequence[Span]) -> list[float]:
    """The places between columns: the middle of each gap that is closed on both sides."""
    return [(a + b) / 2 for a, b in gaps if math.isfinite(a) and math.isfinite(b)]


def in_columns(line: Sequence[PlacedWord], borders: Sequence[float]) -> list[list[PlacedWord]]:
    """The words of a line by column."""
    cells: list[list[PlacedWord]] = [[] for _ in range(len(borders) + 1)]
    for word in line:
        cells[bisect_right(borders, word.middle[0])].append(word)
    return cells


@dataclass(frozen=True)
class RuledGrid:
    """Flat and upright lines that meet: places of both, from left to right and from the top down."""

    rules: list[Rule]
    xs: list[float]
    ys: list[float]

    def cells(self, words: Iterable[PlacedWord]) -> list[list[list[PlacedWord]]]:
        """The words by row and column; the words of merged cells are in the first of them."""
        placed: list[list[list[PlacedWord]]] = [[[] for _ in self.xs[1:]] for _ in self.ys[1:]]
        for word in words:
            x, y = word.middle
            row, column = bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1
            if not (0 <= row < len(self.ys) - 1 and 0 <= column < len(self.xs) - 1):
                continue
            row, column = self._owner(row, column)
            placed[row][column].append(word)
        return placed

    def filled(self, cells: list[list[list[PlacedWord]]]) -> list[list[list[PlacedWord]]]:
        """The same with the words of merged cells in each that they cover; those of a whole row in its first alone."""
        rows = []
        for number, row in enumerate(cells):
            owners = [self._owner(number, column) for column in range(len(row))]
            one = len(set(owners)) == 1
            rows.append(row if one else [cell or cells[at][of] for cell, (at, of) in zip(row, owners, strict=True)])
        return rows

    def _owner(self, row: int, column: int) -> tuple[int, int]:
        """The first of the cells that are merged with one."""
        while column and not self._parts(self.xs[column], self.ys[row], self.ys[row + 1], upright=True):
            column -= 1
        while row and not self._parts(self.ys[row], self.xs[column], self.xs[column + 1], upright=False):
            row -= 1
        return row, column

    def crossed(self, words: Iterable[PlacedWord]) -> int:
        """How many words are struck through by an upright line."""
        upright = [rule for rule in self.rules if not rule.is_flat]
        return sum(
            any(word.x0 + 2 < rule.x0 < word.x1 - 2 and rule.y0 < word.middle[1] < rule.y1 for rule in upright)
            for word in words
        )

    def _parts(self, place: float, start: float, end: float, *, upright: bool) -> bool:
        """Whether a line at *place* separates what is before and behind it."""
        middle = (start + end) / 2
        if upright:
            lines = ((rule.x0, rule.y0, rule.y1) for rule in self.rules if not rule.is_flat)
        else:
            lines = ((rule.y0, rule.x0, rule.x1) for rule in self.rules if rule.is_flat)
        return any(abs(at - place) <= NEAR and low - NEAR <= middle <= high + NEAR for at, low, high in lines)


def joined(rules: Iterable[Rule]) -> list[Rule]:
    """Lines drawn in pieces as one each.

    >>> joined([Rule(0, 5, 10, 5), Rule(11, 5, 20, 5), Rule(0, 5, 0, 9)])
    [Rule(x0=0, y0=5.0, x1=20, y1=5.0), Rule(x0=0, y0=5, x1=0, y1=9)]
    """
    whole: list[Rule] = []
    pieces_of = list(rules)
    for flat in (True, False):
        spans = [(r.y0, r.x0, r.x1) if flat else (r.x0, r.y0, r.y1) for r in pieces_of if r.is_flat == flat]
        for at, pieces in _by_place(spans):
            start, end = pieces[0]
            for low, high in [*pieces[1:], (math.inf, math.inf)]:
                if low > end + NEAR:
                    whole.append(Rule(start, at, end, at) if flat else Rule(at, start, at, end))
                    start, end = low, high
                end = max(end, high)
    return whole


def _by_place(spans: list[tuple[float, float, float]]) -> Iterator[tuple[float, list[Span]]]:
    """Lines at about the same place, as where they start and end, in order."""
    spans.sort()
    first = 0
    for number, (at, _, _) in enumerate(spans):
        if number + 1 == len(spans) or spans[number + 1][0] - at > NEAR / 2:
            together = spans[first : number + 1]
            yield median(each[0] for each in together), sorted((low, high) for _, low, high in together)
            first = number + 1


def grids_of(rules: Sequence[Rule]) -> list[RuledGrid]:
    """The grids of lines that meet, with at least two rows and two columns."""
    flat, upright = [r for r in rules if r.is_flat], [r for r in rules if not r.is_flat]
    if len(flat) * len(upright) > MAX_MEETINGS:
        return []
    group = {id(rule): {id(rule)} for rule in rules}
    for one in flat:
        for other in upright:
            under = one.x0 - NEAR <= other.x0 <= one.x1 + NEAR
            if under and other.y0 - NEAR <= one.y0 <= other.y1 + NEAR and group[id(one)] is not group[id(other)]:
                both = group[id(one)] | group[id(other)]
                group.update(dict.fromkeys(both, both))
    grids = []
    for members in {id(each): each for each in group.values()}.values():
        together = [rule for rule in rules if id(rule) in members]
        across = [rule for rule in together if rule.is_flat]
        down = [rule for rule in together if not rule.is_flat]
        if across and down:
            xs = _places([rule.x0 for rule in down], min(r.x0 for r in across), max(r.x1 for r in across))
            ys = _places([rule.y0 for rule in across], min(r.y0 for r in down), max(r.y1 for r in down))
            if len(xs) > 2 and len(ys) > 2:
                grids.append(RuledGrid(together, xs, ys))
    return sorted(grids, key=lambda grid: (grid.ys[0], grid.xs[0]))


def _places(lines: list[float], start: float, end: float) -> list[float]:
    """The positions of lines, each once, and the ends of a table that has no line there."""
    places: list[float] = []
    for at in sorted(lines):
        if not places or at - places[-1] > NEAR:
            places.append(at)
    open_start = [start] if places[0] - start > 2 * NEAR else []
    open_end = [end] if end - places[-1] > 2 * NEAR else []
    return [*open_start, *places, *open_end]


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
    """The parts of a page that may hold tables; x grows to the right, y downwards.

    `words` are those of these parts, `rules` all ruling lines, `lines` the middle of each line of the page; `font`
    returns the name of a character's font.
    """

    words: list[PlacedWord]
    rules: list[Rule]
    lines: list[float]
    font: Callable[[int], str]


def layout_of(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str) -> Layout | None:
    """What may be a table, by positions; None if nothing is, or *text* does not match the page's characters."""
    turn = _TURNS[page.get_rotation() % 360]
    rules = list(_rules(page, turn))
    parts = [*_ruled_parts(rules), *_parts_with_gaps(_lines_of_pieces(textpage, turn, text.count("\n")))]
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
    """The spans with several flat lines of one width, or with upright lines."""
    flat: dict[tuple[int, int], list[float]] = {}
    for rule in rules:
        if rule.is_flat:
            flat.setdefault((round(rule.x0 / 4), round(rule.x1 / 4)), []).append(rule.y0)
    yield from ((min(ys) - MARGIN, max(ys) + MARGIN) for ys in flat.values() if len(ys) > 1)
    upright = [rule for rule in rules if not rule.is_flat]
    if len(upright) > 1 or (upright and flat):
        yield min(rule.y0 for rule in upright) - MARGIN, max(rule.y1 for rule in upright) + MARGIN


def is_read_across(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str) -> bool:
    """Whether neighbouring lines are halves of two columns of prose that follow each other in *text*."""
    lines = _lines_of_pieces(textpage, _TURNS[page.get_rotation() % 360], text.count("\n"))
    at = 0
    while at < len(lines):
        block = grown(lines, at)[0]
        if sum(_is_across(line) for line in block) >= LINES_ACROSS:
            return True
        at += max(len(block), 1)
    return False


def _is_across(line: Line) -> bool:
    if len(line) != 2 or line[1].start != line[0].start + 1:
        return False
    return min(piece.x1 - piece.x0 for piece in line) >= HALF * line[0].height


def _lines_of_pieces(textpage: pypdfium2.PdfTextPage, turn: Turn, breaks: int) -> list[Line]:
    """The lines of a page that has pieces of text with gaps between them; a piece has its number as its place."""
    count = pdfium.FPDFText_CountRects(textpage, 0, -1)
    if not breaks + MIN_LINES < count < MAX_WORDS:  # a piece is a line, but for a few
        return []
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
        return []
    return lines_of([PlacedWord(*box, index, index) for index, box in enumerate(boxes)])


def _parts_with_gaps(lines: list[Line]) -> Iterator[Span]:
    """The spans whose lines are short pieces of text with gaps between them."""
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
    """Whether a line has gaps, but is not two columns of prose or an item of a list."""
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
        drawn = get(objects, index)
        if kind_of(drawn) != path:
            continue
        count = pdfium.FPDFPath_CountSegments(drawn)
        rest -= count
        if rest < 0:
            return
        if count <= 2 or not pdfium.FPDFPageObj_GetBounds(drawn, *references):
            yield from _segments(drawn, count, turn)
            continue
        left, bottom, right, top = (side.value for side in sides)
        if min(right - left, top - bottom) < THIN:  # a line that is drawn as a rectangle
            yield from _as_rule(*turn(left, bottom, right, top))
        else:
            yield from _segments(drawn, count, turn)


def _segments(drawn: object, count: int, turn: Turn) -> Iterator[Rule]:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(drawn, ctypes.byref(matrix))
    x, y = ctypes.c_float(), ctypes.c_float()
    before = begun = None
    for number in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(drawn, number)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        here = (matrix.a * x.value + matrix.c * y.value + matrix.e, matrix.b * x.value + matrix.d * y.value + matrix.f)
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
