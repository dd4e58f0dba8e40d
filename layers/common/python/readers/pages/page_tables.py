"""Find the tables of a page by its ruling lines and by the gaps between its words; pure.

Running text must never become a table: what may be none stays text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from readers.pages.page_layout import (
    FAR,
    LEAST_GUTTER,
    Line,
    PlacedWord,
    Rule,
    columns_of,
    gaps_of,
    grids_of,
    grown,
    in_columns,
    joined,
    lines_of,
    open_gaps,
    shared,
)

MIN_ROWS = 3  # of a table without lines
MAX_CELL_WORDS = 60  # on average: more is a page that is laid out by lines
PROSE_WORDS = 4.0  # of a column's cell, on average: more is running text
NUMBERS = 0.6  # the share of a column's cells that makes it one of numbers
_NUMBER = re.compile(r"[(+\-−–±$€£¥<>~]*\s?\d[\d.,:/%’'\s–-]*(?:[%°)*]|\s?[A-Za-zµ€£$²³/]{1,4})?")
_MARKER = re.compile(r"[•◦▪–*-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]")
_LEADERS = re.compile(r"\.{4}|(?:\. ){4}|…")
_REFERENCE = re.compile(r".*[^\d\s],?\s\d{1,4}(?:[–-]\d{1,4})?(?:, \d{1,4}(?:[–-]\d{1,4})?)*")
_CODE = re.compile(r"[;{}]|\w\(|[^<>]=|//|^(?:# |(?:def|for|if|return|import|print|function)\b)")
Cells = list[list[PlacedWord]]


@dataclass(frozen=True)
class FoundTable:
    """The words of a table by row and column, and where its columns are separated."""

    rows: list[Cells]
    borders: tuple[float, ...]

    @property
    def words(self) -> list[PlacedWord]:
        """All of its words."""
        return [word for row in self.rows for cell in row for word in cell]

    @property
    def start(self) -> int:
        """Where its first word is in the page's text."""
        return min(word.start for word in self.words)


class PageTables:
    """Finds the tables of one page; `doubtful` counts those that became text because they may be none.

    *font* returns the font of a character of *text*.
    """

    def __init__(self, text: str, font: Callable[[int], str]) -> None:
        self._text, self._font = text, font
        self.doubtful = 0

    def find(self, words: Sequence[PlacedWord], rules: Sequence[Rule]) -> list[FoundTable]:
        """The tables: those in a grid, those between flat lines, and then those without lines."""
        heights = median(word.height for word in words) if words else 1.0
        rest = [word for word in words if word.height < 3 * heights]
        lines = joined(rules)
        found: list[FoundTable] = []
        for look in (self._in_grids, self._between_lines, self._without_lines):
            for table in look(rest, lines):
                taken = {word.start for word in table.words}
                rest = [word for word in rest if word.start not in taken]
                found.append(table)
        return found

    def _in_grids(self, words: list[PlacedWord], rules: list[Rule]) -> list[FoundTable]:
        found = []
        for grid in grids_of(rules):
            inside = [
                w for w in words if grid.xs[0] < w.middle[0] < grid.xs[-1] and grid.ys[0] < w.middle[1] < grid.ys[-1]
            ]
            cells = grid.cells(inside)
            bands = _without_empty(cells)
            filled = [len(cell) for band in bands for cell in band if cell]
            if len(bands) < 2 or len(bands[0]) < 2 or len(filled) < 0.4 * len(bands) * len(bands[0]):
                continue
            if grid.crossed(inside) > 0.05 * len(inside) or mean(filled) > MAX_CELL_WORDS:
                self.doubtful += 1
                continue
            rows = _in_rows(bands)
            if rows is bands:
                rows = _without_empty(grid.filled(cells), cells)
            found.append(FoundTable(rows, tuple(grid.xs[1:-1])))
        return found

    def _between_lines(self, words: list[PlacedWord], rules: list[Rule]) -> list[FoundTable]:
        """Tables whose rows, or at least whose start and end, are marked by flat lines of one width."""
        found = []
        ordered = sorted(words, key=lambda word: word.y0 + word.y1)
        for group in _of_one_width(rules):
            left, right = group[0].x0 - 3, group[0].x1 + 3
            column = [word for word in ordered if left < (word.x0 + word.x1) / 2 < right]
            middles = [(word.y0 + word.y1) / 2 for word in column]
            run: list[list[Line]] = []
            for above, below in [*pairwise([rule.y0 for rule in group]), (0.0, 0.0)]:
                first, last = bisect_left(middles, above), bisect_left(middles, below)
                lines = lines_of(column[first:last])
                if lines and sum(bool(gaps_of(line)) for line in lines) >= 0.5 * len(lines):
                    run.append(lines)
                    continue
                found += self._of_bands(run, column)
                run = []
        return found

    def _of_bands(self, bands: list[list[Line]], words: list[PlacedWord]) -> list[FoundTable]:
        if not bands:
            return []
        above = [word for word in words if word.middle[1] < bands[0][0][0].y0]
        head = lines_of(above)[-1:]
        if len(bands) > 1 and head and _is_head(head[0], bands[0][0]):
            bands = [head, *bands]
        if len(bands) > 1:
            bands = [*bands, *([line] for line in _further(bands[-1], words))]
        body = [line for band in (bands[1:] or bands) for line in band]
        gaps = open_gaps(body[0])
        for line in body[1:]:
            gaps = shared(gaps, open_gaps(line), LEAST_GUTTER * line[0].height)
        borders = _filled_together(body, columns_of(gaps))
        if not borders:
            return []
        if len(bands) == 1:
            rows = _rows_of_lines(bands[0], borders)
        else:
            rows = _in_rows([_merged([in_columns(line, borders) for line in band]) for band in bands])
        if len(rows) < 2 or not self._is_table(rows, ruled=True):
            self.doubtful += len(rows) >= MIN_ROWS and not self._flowing(rows)
            return []
        return [FoundTable(rows, tuple(borders))]

    def _without_lines(self, words: list[PlacedWord], rules: list[Rule], depth: int = 0) -> list[FoundTable]:
        """Tables of neighbouring lines that share gaps."""
        found: list[FoundTable] = []
        lines = lines_of(words)
        at = 0
        while at < len(lines):
            block, gaps = grown(lines, at)
            later, better = grown(lines, at + 1)
            if len(columns_of(better)) > len(columns_of(gaps)) and len(later) >= MIN_ROWS:
                at += 1
                continue
            block = _trimmed(block)
            borders = _filled_together(block, columns_of(gaps))
            if len(block) < MIN_ROWS or not borders:
                at += 1
                continue
            rows = _rows_of_lines(block, borders)
            prose = self._flowing(rows)
            if self._is_table(rows, ruled=False):
                found.append(FoundTable(rows, tuple(borders)))
            elif prose and depth < 2:
                for group in _beside(rows, prose):
                    found += self._without_lines(group, rules, depth + 1)
            at += len(block)
        return found

    def _is_table(self, rows: list[Cells], *, ruled: bool) -> bool:
        columns = [[self._said(row[number]) for row in rows] for number in range(len(rows[0]))]
        filled = [[cell for cell in column[1:] if cell] for column in columns]
        if sum(map(len, filled)) < 0.5 * len(columns) * (len(rows) - 1) or not all(filled):
            return False
        words = [mean(len(cell.split()) for cell in column) for column in filled]
        if sum(count > PROSE_WORDS for count in words) > (1 if len(columns) > 2 or ruled else 0):
            return False
        if not ruled and self._flowing(rows):
            return False
        cells = [cell for column in columns for cell in column if cell]
        if sum(bool(_LEADERS.search(cell)) for cell in cells) > 1 or self._is_contents(columns):
            return False
        if len(columns) == 2 and all(_MARKER.fullmatch(cell) for cell in filled[0]):
            return False
        if sum(bool(_CODE.search(cell)) for cell in cells) > 0.25 * len(cells):
            return False
        if ruled:
            return True
        if len(rows) < MIN_ROWS or sum(bool(_REFERENCE.fullmatch(cell)) for cell in cells) > 0.4 * len(cells):
            return False
        numbers = [sum(bool(_NUMBER.fullmatch(cell)) for cell in column) >= NUMBERS * len(column) for column in filled]
        headed = bool(columns[-1][0]) and not _NUMBER.fullmatch(columns[-1][0])
        if any(numbers) and (len(columns) > 2 or (numbers[-1] and headed)):
            return True
        if len(columns) > 2 and self._has_head(rows):
            return True
        self.doubtful += len(columns) > 2 and len(rows) > MIN_ROWS and _lines_up(rows)
        return False

    def _flowing(self, rows: list[Cells]) -> list[int]:
        """The columns of running text: long cells, many of which continue the sentence of the cell above."""
        found = []
        for number in range(len(rows[0])):
            cells = [row[number] for row in rows if row[number]]
            going_on = sum(self._text[cell[0].start].islower() for cell in cells)
            if mean(map(len, cells or [[]])) > PROSE_WORDS and going_on > 0.3 * len(cells):
                found.append(number)
        return found

    def _said(self, cell: Sequence[PlacedWord]) -> str:
        return " ".join(self._text[word.start : word.end] for word in cell)

    @staticmethod
    def _is_contents(columns: list[list[str]]) -> bool:
        """Whether the last column is page numbers that grow, and no other one is numbers."""
        pages = [cell for cell in columns[-1] if cell]
        if not all(page.isdecimal() and len(page) < 5 for page in pages[1:]):
            return False
        growing = all(int(a) <= int(b) for a, b in pairwise(pages[1:]))
        return growing and not any(_NUMBER.fullmatch(cell) for column in columns[1:-1] for cell in column)

    def _has_head(self, rows: list[Cells]) -> bool:
        """Whether the first row has a font that no other row begins with."""
        head = {self._font(word.start) for cell in rows[0] for word in cell}
        return all(rows[0]) and not head & {self._font(cell[0].start) for row in rows[1:] for cell in row if cell}


def _of_one_width(rules: list[Rule]) -> list[list[Rule]]:
    """Flat lines that start and end at about the same places, from the top down; two of them or more."""
    groups: list[list[Rule]] = []
    for rule in sorted((rule for rule in rules if rule.is_flat), key=lambda each: each.y0):
        for group in groups:
            if abs(group[0].x0 - rule.x0) < 4 and abs(group[0].x1 - rule.x1) < 4:
                group.append(rule)
                break
        else:
            groups.append([rule])
    return [group for group in groups if len(group) > 1]


def _is_head(line: Line, below: Line) -> bool:
    near = below[0].middle[1] - line[0].middle[1] < FAR * line[0].height
    return near and len(gaps_of(line)) >= 1 and len(gaps_of(line)) >= len(gaps_of(below)) - 1


def _further(band: list[Line], words: Sequence[PlacedWord]) -> list[Line]:
    """The lines right below the last flat line that have the same columns as the band above it."""
    block = [line for line in band if len(gaps_of(line)) == max(len(gaps_of(each)) for each in band)][-1:]
    below = lines_of(word for word in words if word.middle[1] > band[-1][0].y1)
    together = grown([*block, *below], 0)[0]
    return [line for line in together[1:] if len(gaps_of(line)) == len(gaps_of(block[0]))] if block else []


def _trimmed(block: list[Line]) -> list[Line]:
    """Without lines of a single piece before and behind: a caption, or the paragraph that follows."""
    while block and not gaps_of(block[0]):
        block = block[1:]
    while block and not gaps_of(block[-1]) and abs(block[-1][0].x0 - block[0][0].x0) < block[-1][0].height:
        block = block[:-1]
    return block


def _filled_together(lines: list[Line], borders: list[float]) -> list[float]:
    """Without borders between columns that no line fills both of: a head that stands beside its numbers."""
    at = 0
    while at < len(borders):
        if any(all(in_columns(line, borders)[at : at + 2]) for line in lines):
            at += 1
        else:
            borders = borders[:at] + borders[at + 1 :]
    return borders


def _rows_of_lines(lines: list[Line], borders: Sequence[float]) -> list[Cells]:
    """A row for each line; a line that only continues cells of the one above belongs to its row."""
    steps = [below[0].middle[1] - above[0].middle[1] for above, below in pairwise(lines)]
    tight = min(steps, default=0.0)
    later = steps[1:] if len(steps) > 2 else steps
    wide = sum(step > 1.2 * tight for step in later) >= 0.25 * max(len(later), 1)
    rows: list[Cells] = []
    for line, step in zip(lines, [0.0, *steps], strict=True):
        cells = in_columns(line, borders)
        filled = [number for number, cell in enumerate(cells) if cell]
        near = step <= 1.15 * tight and len(filled) < len(cells) if wide else len(filled) <= len(cells) / 2
        if rows and near and 0 not in filled and all(rows[-1][number] for number in filled):
            rows[-1] = _merged([rows[-1], cells])
        else:
            rows.append(cells)
    return rows


def _in_rows(bands: list[Cells]) -> list[Cells]:
    """The rows between flat lines: each band is one, unless the lines of most bands are whole rows."""
    several = [band for band in bands if max(len(lines_of(cell)) for cell in band) > 1]
    whole = [_split(band) for band in several]
    full = [sum(map(bool, line)) >= max(len(line) - 1, 2) and bool(line[0]) for lines in whole for line in lines]
    if not full or sum(full) < 0.8 * len(full):
        return bands
    return [row for band in bands for row in (_split(band) if any(band is each for each in several) else [band])]


def _split(band: Cells) -> list[Cells]:
    column_of = {word.start: number for number, cell in enumerate(band) for word in cell}
    rows = []
    for line in lines_of(word for cell in band for word in cell):
        row: Cells = [[] for _ in band]
        for word in line:
            row[column_of[word.start]].append(word)
        rows.append(row)
    return rows


def _merged(rows: list[Cells]) -> Cells:
    """The cells of several lines as one row, in the order of the lines."""
    return [[word for row in rows for word in row[number]] for number in range(len(rows[0]))]


def _without_empty(rows: list[Cells], own: list[Cells] | None = None) -> list[Cells]:
    """Without the rows and columns that have no text, or without their *own* text."""
    own = own or rows
    used = [number for number, row in enumerate(own) if any(row)]
    columns = [column for column in range(len(own[0])) if any(own[number][column] for number in used)]
    return [[rows[number][column] for column in columns] for number in used]


def _beside(rows: list[Cells], prose: list[int]) -> list[list[PlacedWord]]:
    """The words of the columns between those of prose, as far as they are neighbours."""
    groups: list[list[PlacedWord]] = [[]]
    for number in range(len(rows[0])):
        if number in prose:
            groups.append([])
        else:
            groups[-1] += [word for row in rows for word in row[number]]
    return [group for group in groups if group]


def _lines_up(rows: list[Cells]) -> bool:
    """Whether the cells of every column begin at one place."""
    for number in range(len(rows[0])):
        lefts = [row[number][0].x0 for row in rows if row[number]]
        if sum(abs(left - median(lefts)) < 2 for left in lefts) < 0.8 * len(lefts):
            return False
    return True
