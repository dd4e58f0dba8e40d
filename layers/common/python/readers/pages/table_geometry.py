"""Words and ruling lines of a page: lines of text, gaps between columns, and grids of ruling lines; pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

GAP = 0.8  # of a line's height: words of justified prose are nearer, cells of a table are not
LEAST_GUTTER = 0.35  # of a line's height: what must be left of a gap that all lines of a table share
FAR = 2.2  # heights of a line: what is further below does not go on
NEAR = 3.0  # points: lines that end so near to another one meet it
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
    """The words in lines from the top down, each from left to right.

    >>> place = lambda x, y: PlacedWord(x, y, x + 20, y + 10, 0, 0)
    >>> [[word.x0 for word in line] for line in lines_of([place(50, 1), place(0, 20), place(0, 0)])]
    [[0, 50], [0]]
    """
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
    """What two lists of gaps have in common, where it is at least so wide.

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
        held: list[list[list[PlacedWord]]] = [[[] for _ in self.xs[1:]] for _ in self.ys[1:]]
        for word in words:
            x, y = word.middle
            row, column = bisect_right(self.ys, y) - 1, bisect_right(self.xs, x) - 1
            if not (0 <= row < len(self.ys) - 1 and 0 <= column < len(self.xs) - 1):
                continue
            row, column = self._owner(row, column)
            held[row][column].append(word)
        return held

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
        """Whether a line at *place* stands between the middles of what is before and behind it."""
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
    held = list(rules)
    for flat in (True, False):
        spans = [(r.y0, r.x0, r.x1) if flat else (r.x0, r.y0, r.y1) for r in held if r.is_flat == flat]
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
    """What lines that meet each other make, with at least two rows and two columns."""
    flat, upright = [r for r in rules if r.is_flat], [r for r in rules if not r.is_flat]
    if len(flat) * len(upright) > MAX_MEETINGS:
        return []
    group = {id(rule): {id(rule)} for rule in rules}
    for one in flat:
        for other in upright:
            if _meet(one, other) and group[id(one)] is not group[id(other)]:
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


def _meet(flat: Rule, upright: Rule) -> bool:
    across = flat.x0 - NEAR <= upright.x0 <= flat.x1 + NEAR
    return across and upright.y0 - NEAR <= flat.y0 <= upright.y1 + NEAR


def _places(lines: list[float], start: float, end: float) -> list[float]:
    """Where lines stand, each once, and where the table ends if it has no line there."""
    places: list[float] = []
    for at in sorted(lines):
        if not places or at - places[-1] > NEAR:
            places.append(at)
    open_start = [start] if places[0] - start > 2 * NEAR else []
    open_end = [end] if end - places[-1] > 2 * NEAR else []
    return [*open_start, *places, *open_end]
