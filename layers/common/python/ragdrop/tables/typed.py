"""Tables of a parsed document as typed columns, with the place of every cell."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Any

from ragdrop.tables.cell_values import (
    CURRENCIES,
    DAY_S,
    ColumnKind,
    decimal_comma,
    read_column,
    split_row,
    unit_in,
    unit_name,
)
from ragdrop.tables.vocabulary import Root, plain_words

if TYPE_CHECKING:  # only ingest loads the readers
    from readers.parsed import ParsedDocument, Place

MAX_WHOLE = 200_000  # distinct texts of a column that are found at all: more take seconds and 100 MB
MAX_INDEXED = 50_000  # distinct texts of a column whose words are looked up one by one; of others only whole cells are
MAX_SEVERAL = 200  # characters of a cell with several values, such as tags, each of which is a value too
MAX_TOTALS = 200  # of a table: rows behind them that are named so are data
_TOTAL_NAME = (
    r"(?:grand |sub-?|zwischen|gesamt|end)?(?:totals?|sums?|summen?|gesamt|insgesamt|averages?|mean|durchschnitt|Σ|Ø)"
)
_TOTAL = re.compile(rf"{_TOTAL_NAME}(?:\W.*)?", re.I)
_MERELY_TOTAL = re.compile(rf"{_TOTAL_NAME}\W*(?:\d{{4}}|eur|usd|gbp|chf|all|[€$£]|costs?|amount|kosten)?\W*", re.I)
_TOTAL_BEGINS = frozenset("gGsSzZeEtTaAmMdDiIΣØ")
_RANK = re.compile(r"(?i)\b(?:pos|position|place|platz|rank|rang|year|jahr|season|week|day|month|round)\b")


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """One column.

    Attributes:
        name: Its header, with those above it.
        kind: What its cells are.
        unit: The unit or currency of all its cells, `mixed` if they differ, empty if none is stated.
        keys: A whole number for each row: of a number its value times 10 to the power of `scale`, of a date and of a
            duration seconds, of a boolean 0 or 1, of a text its place in `texts`.  `missing` stands for no value.
        texts: The distinct texts of a text column, and of one whose units differ (`units` then has the unit of each).
        unread: Rows whose cell is of another kind, such as `#REF!`.
    """

    name: str
    kind: ColumnKind
    unit: str
    keys: Any
    scale: int = 0
    texts: tuple[str, ...] = ()
    units: tuple[str, ...] = ()  # of each row, where `unit` is `mixed`
    unread: frozenset[int] = frozenset()

    @cached_property
    def missing(self) -> int:
        """The key of an empty cell: the lowest that fits."""
        return -(1 << (8 * int(self.keys.itemsize) - 1))

    @property
    def own_unit(self) -> str:
        """The unit of its numbers: of durations seconds."""
        return "s" if self.kind == "duration" else self.unit

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest key of a cell that is not empty; 0 and -1 of a column without any."""
        low, high = min(self.keys, default=0), max(self.keys, default=-1)
        if low == self.missing:
            low = min((key for key in self.keys if key != self.missing), default=0)
        return (low, high) if high != self.missing else (0, -1)

    @cached_property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self.texts) or len(set(self.keys) - {self.missing})

    @cached_property
    def _indexes(self) -> dict[str, Any]:
        return {}

    def codes(self, root: Root) -> dict[str, list[int]]:
        """The places in `texts` of each text, and of each of several values with commas between; words by *root*."""
        name = f"codes {root.__name__}"
        if name not in self._indexes:
            self._indexes[name] = self._codes(root)
        return self._indexes[name]  # type: ignore[no-any-return]

    def _codes(self, root: Root) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for code, text in enumerate(self.texts if len(self.texts) <= MAX_WHOLE else ()):
            parts = text.split(",") if "," in text and len(text) < MAX_SEVERAL else ()
            for each in dict.fromkeys((text, *parts)):
                found[" ".join(map(root, plain_words(each)))].append(code)
        return dict(found)

    def by_word(self, root: Root) -> dict[str, set[int]]:
        """The places in `texts` of the texts with a word, by its root; empty where there are too many."""
        name = f"words {root.__name__}"
        if name not in self._indexes:
            self._indexes[name] = self._by_word(root)
        return self._indexes[name]  # type: ignore[no-any-return]

    def _by_word(self, root: Root) -> dict[str, set[int]]:
        found: dict[str, set[int]] = defaultdict(set)
        for code, text in enumerate(self.texts if len(self.texts) <= MAX_INDEXED else ()):
            for word in plain_words(text):
                found[root(word)].add(code)
        return dict(found)

    def value(self, row: int) -> Decimal | date | bool | str | None:
        """The value of a cell; a duration in seconds, of a date only its day."""
        key: int = self.keys[row]
        if key == self.missing or row in self.unread:
            return None
        match self.kind:
            case "text":
                return self.texts[key]
            case "boolean":
                return bool(key)
            case "date":
                return date.fromordinal(key // DAY_S + 1)
            case _:
                return Decimal(key).scaleb(-self.scale)


@dataclass(frozen=True, eq=False)
class TypedTable:
    """A table of a document.

    Attributes:
        path: The document's path in its vault.
        name: Its sheet, or the heading above it.
        columns: Left to right.
        totals: Rows that sum up others; no plan counts them.
        starts: Where each row's line starts in the parsed text, and where the last one ends.
        header: Where the header starts there.
        places: First row, number of that row in the sheet, and letters of the first column, of runs of rows; what
            cells are called.
        sheet: What stands before the `!` of a cell's name; empty for a CSV.
    """

    path: str
    name: str
    columns: tuple[TypedColumn, ...]
    totals: frozenset[int] = frozenset()
    starts: Any = field(default_factory=lambda: array("q", [0]))
    header: int = 0
    places: tuple[tuple[int, int], ...] = ((0, 2),)
    left: int = 0
    sheet: str = ""

    @property
    def row_count(self) -> int:
        """Rows without the header, totals included."""
        return len(self.columns[0].keys) if self.columns else 0

    @property
    def rows(self) -> Sequence[int]:
        """The rows that count."""
        return (
            [row for row in range(self.row_count) if row not in self.totals] if self.totals else range(self.row_count)
        )

    def cell(self, row: int, column: int) -> str:
        """The name of a cell, such as `Sheet1!B2`.

        >>> table = TypedTable("a.csv", "a", (), places=((0, 2), (5, 9)), sheet="Sheet1")
        >>> table.cell(0, 1), table.cell(6, 27)
        ('Sheet1!B2', 'Sheet1!AB10')
        """
        return f"{self.sheet}!{self._at(row, column)}" if self.sheet else self._at(row, column)

    def range_of(self, first: int, last: int) -> str:
        """The name of whole rows."""
        return f"{self.cell(first, 0)}:{self._at(last, len(self.columns) - 1)}"

    def runs(self, rows: Sequence[int], *, most: int) -> Iterator[tuple[int, int]]:
        """Where *rows* that follow each other start and end in the text, at most *most* together."""
        at = 0
        while at < len(rows):
            last = at
            while last + 1 < len(rows) and rows[last + 1] == rows[last] + 1 and last - at < most:
                last += 1
            yield self.starts[rows[at]], self.starts[rows[last] + 1]
            at = last + 1

    def _at(self, row: int, column: int) -> str:
        first, number = self.places[bisect_right(self.places, row, key=lambda place: place[0]) - 1]
        letters, rest = "", self.left + column + 1
        while rest:
            rest, letter = divmod(rest - 1, 26)
            letters = chr(65 + letter) + letters
        return f"{letters}{number + row - first}"

    @cached_property
    def label(self) -> int | None:
        """The column that names the rows: the first of texts that mostly differ, else the first of texts or dates."""
        texts = [at for at, column in enumerate(self.columns) if column.kind == "text" and not _is_numbered(column)]
        distinct = [at for at in texts if len(self.columns[at].texts) * 10 >= self.row_count * 8]
        dates = [at for at, column in enumerate(self.columns) if column.kind == "date"]
        return next(iter([*distinct, *texts, *dates]), None)

    @cached_property
    def naming(self) -> int | None:
        """The column that names one row: the label, unless another column has the same names."""
        label = self.label
        others = [at for at, column in enumerate(self.columns) if column.kind == "text" and at != label]
        if label is not None and any(_same_names(self.columns[label], self.columns[at]) for at in others):
            return self.row_name
        return label

    @cached_property
    def row_name(self) -> int | None:
        """The column that names rows apart in a list: the label, or dates where labels repeat and dates do not."""
        days = [at for at, column in enumerate(self.columns) if column.kind == "date"]
        apart = [at for at in days if self.columns[at].distinct * 10 >= self.row_count * 8]
        if self.label is None or self.columns[self.label].distinct * 10 >= self.row_count * 8:
            return self.label
        ids = [
            at for at, column in enumerate(self.columns) if _is_numbered(column) and column.distinct == self.row_count
        ]
        return next(iter([*ids, *apart, self.label]))


def _same_names(one: TypedColumn, other: TypedColumn) -> bool:
    """Whether half of the texts of one column are in another, as those of hosts are among the guests."""
    texts = {*one.texts[:1_000]}
    return 2 * len(texts.intersection(other.texts[:1_000])) >= len(texts) > 0


def _is_numbered(column: TypedColumn) -> bool:
    """Whether the texts of a column are plain numbers, such as those of articles: they name nothing for people."""
    return bool(column.texts) and all(text.isdigit() for text in column.texts[:100])


def tables_of(document: ParsedDocument, path: str = "") -> Sequence[TypedTable]:
    r"""Every table of *document* that has rows, in order; *path* is the document's path in its vault.

    >>> from readers import read
    >>> table = tables_of(read(b"item,EUR\nDog food,\"1,200.50\"\nVet,80\nTotal,1280.50\n", name="a.csv"), "a.csv")[0]
    >>> [column.kind for column in table.columns], table.columns[1].value(0), table.totals, table.cell(0, 1)
    (['text', 'amount'], Decimal('1200.50'), frozenset({2}), 'B2')
    """
    found = []
    for number, table in enumerate(document.tables, start=1):
        lines = document.text[table.rows_start : table.end].split("\n")
        starts = array("q", accumulate((len(line) + 1 for line in lines), initial=table.rows_start))
        while lines and not lines[-1].strip():
            lines.pop()
        rows = _split_rows(lines)
        del lines
        headers = [split_row(line) for line in document.text[table.start : table.rows_start].strip().split("\n")]
        headers = [row for row in headers if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
        if not rows or not headers:
            continue
        more = _header_rows(headers[-1], rows)
        headers, rows = [*headers, *rows[:more]], rows[more:]
        if not rows:
            continue
        columns, named = typed_columns(headers, rows)
        heading = document.heading_path(table.start)
        sheet, left, places = _places(document, starts)
        if not places:
            sheet, places = f"table {number}", [(0, len(headers) - more + 1)]
        placed = [(max(first - more, 0), row + max(more - first, 0)) for first, row in places]
        found.append(
            TypedTable(
                path,
                heading[-1] if heading else "",
                columns,
                totals_of(columns, named),
                array("I" if starts[-1] < 1 << 32 else "q", starts[more : more + len(rows) + 1]),
                table.start,
                tuple(dict(placed).items()),
                left,
                sheet,
            )
        )
    return found


def _places(document: ParsedDocument, starts: Sequence[int]) -> tuple[str, int, list[tuple[int, int]]]:
    """The sheet of a table, its first column, and its runs of rows with the number of the first in the sheet."""
    first, last = (
        bisect_right(document.places, at, key=lambda place: place.start) for at in (starts[0], starts[-1] - 1)
    )
    placed = [place for place in document.places[max(first - 1, 0) : last] if place.columns]
    if not placed:
        return "", 0, []
    runs = []
    for place in placed:
        skipped = document.text.count("\n", place.start, starts[0]) if place.start < starts[0] else 0
        runs.append((max(bisect_left(starts, place.start), 0), place.row + skipped))
    return placed[0].name, _number_of(placed[0]), runs


def _number_of(place: Place) -> int:
    number = 0
    for letter in place.columns[0] if place.columns else "A":
        number = number * 26 + ord(letter) - 64
    return number - 1


def _header_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How many rows under the header belong to it: one of mere words over columns of numbers.

    >>> _header_rows(["", "2025", "2025"], [["Item", "Plan", "Spent"], ["Dog", "5", "7"], ["Cat", "4", "3"]])
    1
    """
    if len(rows) < 2:
        return 0
    first, rest = rows[0], rows[1:12]
    is_number = re.compile(r"[^\w]*\d[\d.,:/' -]*\D{0,4}").fullmatch
    numeric = [
        at
        for at in range(min(map(len, [header, *rest])))
        if sum(bool(is_number(row[at])) for row in rest) * 10 >= 8 * sum(bool(row[at]) for row in rest) > 0
    ]
    filled = [name for name in header if name]
    repeats = len(set(filled)) < len(header)
    is_text = all(at < len(first) and first[at] and not re.search(r"\d", first[at]) for at in numeric)
    return int(len(numeric) > 1 and repeats and is_text)


def _split_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of each line; of many lines that hold no mark of Markdown at once."""
    is_plain = re.compile(r"\| [^\\[*_`]* \|").fullmatch
    return [line[2:-2].split(" | ") if is_plain(line) else split_row(line) for line in lines]


def _named_totals(texts: Sequence[Sequence[str]], distinct: Sequence[Mapping[str, int]]) -> dict[int, bool]:
    """The rows whose first filled cell begins like a total, and whether it says nothing else."""
    names = {
        cell
        for column in distinct
        for cell in column
        if cell[:1] in _TOTAL_BEGINS and _TOTAL.fullmatch(cell) is not None
    }
    if not names:
        return {}
    rows = {at for column in texts for at, cell in enumerate(column) if cell in names}
    labels = {at: next((column[at] for column in texts if column[at]), "") for at in sorted(rows)}
    found = {at: _MERELY_TOTAL.fullmatch(label) is not None for at, label in labels.items() if label in names}
    return found if len(found) <= MAX_TOTALS else {}


def typed_columns(
    headers: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]
) -> tuple[tuple[TypedColumn, ...], dict[int, bool]]:
    """The columns of rows of texts, and the rows that are named like totals; whether these say nothing else."""
    width = max(map(len, headers))
    if min(map(len, rows)) >= width:
        texts: list[list[str]] = [list(column) for column in islice(zip(*rows, strict=False), width)]
    else:
        texts = [[row[at] if at < len(row) else "" for row in rows] for at in range(width)]
    distinct = [Counter(column) for column in texts]
    named = _named_totals(texts, distinct)
    for at in named:  # the name of a total in a column of dates or numbers is none of its cells
        label = next(column for column in range(width) if texts[column][at])
        if not any(_TOTAL.fullmatch(text) is None and not re.search(r"\d", text) for text in texts[label][:50] if text):
            texts[label][at] = ""
    distinct = [Counter(column) for column in texts] if named else distinct
    votes = [decimal_comma(list(islice(each, 1_000))) for each in distinct]
    comma = True if True in votes and False not in votes else False if False in votes and True not in votes else None
    columns = []
    for at in range(width):
        parts = dict.fromkeys(row[at].strip() for row in headers if at < len(row) and row[at].strip())
        columns.append(_column(" ".join(parts) or f"column {at + 1}", texts[at], distinct[at], comma=comma))
    if _is_numbering(columns[0]):
        columns[0] = _text_column(columns[0].name, texts[0], distinct[0])
    return tuple(_in_currency(columns)), named


def _is_numbering(column: TypedColumn) -> bool:
    """Whether the first column of a table numbers its rows: orders 5001, 5002, ...; ranks are numbers all the same."""
    keys = column.keys
    if column.kind != "number" or column.unit or column.scale or len(keys) < 3 or _RANK.search(column.name):
        return False
    return all(after - before == 1 for before, after in pairwise(keys))


def _in_currency(columns: Sequence[TypedColumn]) -> Sequence[TypedColumn]:
    """Numbers beside a column of currencies are amounts in them."""
    stated = [
        each for each in columns if each.kind == "text" and re.fullmatch(r"(?i)currency|währung|curr\.?", each.name)
    ]
    names = [unit_name(text) for text in stated[0].texts] if len(stated) == 1 else []
    if not names or not set(names) <= set(CURRENCIES.values()):
        return columns
    one = names[0] if len(set(names)) == 1 else "mixed"
    keys, missing = stated[0].keys, stated[0].missing
    units = () if one != "mixed" else tuple("" if key == missing else names[key] for key in keys)
    money = re.compile(r"(?i)amount|betrag|price|cost|preis|kosten|total|sum|value|fee|saldo|balance")
    return [
        replace(each, kind="amount", unit=one, units=units)
        if each.kind == "number" and not each.unit and money.search(each.name)
        else each
        for each in columns
    ]


def _text_column(name: str, cells: Sequence[str], distinct: Mapping[str, int]) -> TypedColumn:
    codes = {text: code for code, text in enumerate(text for text in distinct if text)}
    keys = packed_keys(list(map(codes.get, cells)))
    return TypedColumn(name, "text", unit_in(name), keys, 0, tuple(codes))


def _column(name: str, cells: Sequence[str], distinct: Mapping[str, int], *, comma: bool | None) -> TypedColumn:
    found = read_column(name, distinct, comma=comma)
    if found.kind == "text":
        return _text_column(name, cells, distinct)
    exponents = (value.as_tuple().exponent for value in found.values.values() if isinstance(value, Decimal))
    scale = max((-int(exponent) for exponent in exponents), default=0)
    scale = max(scale, 0)
    numbers = {
        text: None if value is None else int(Decimal(value).scaleb(scale)) for text, value in found.values.items()
    }
    if any(value is not None and abs(value) >= 1 << 63 for value in numbers.values()):
        return _text_column(name, cells, distinct)
    keys = packed_keys(list(map(numbers.__getitem__, cells)))
    units = tuple(found.units.get(text, "") for text in cells) if found.unit == "mixed" else ()
    unread = frozenset(row for row, text in enumerate(cells) if text in found.unread) if found.unread else frozenset()
    return TypedColumn(name, found.kind, found.unit, keys, scale, (), units, unread)


def packed_keys(keys: Sequence[int | None]) -> Any:
    """Keys in the smallest array that has room for them and for the key of an empty cell.

    >>> packed_keys([1, None, 300])
    array('h', [1, -32768, 300])
    """
    present = {key for key in set(keys) if key is not None}
    low, high = min(present, default=0), max(present, default=0)
    for code, bits in (("b", 7), ("h", 15), ("i", 31), ("q", 63)):
        if -(1 << bits) < low and high < 1 << bits:
            missing = -(1 << bits)
            return array(code, [missing if key is None else key for key in keys])
    raise OverflowError("a key has more than 63 bits")


def totals_of(columns: Sequence[TypedColumn], named: Mapping[int, bool]) -> frozenset[int]:
    """Rows that sum up others: they are named so, or the last has no name, or each number of it sums up all above."""
    found: set[int] = set()
    texts = [column for column in columns if column.kind == "text"]
    sums = [column for column in columns if column.kind in {"number", "amount", "duration"}]
    for row, merely in named.items():
        others = sum(column.keys[row] != column.missing for column in texts)
        if (merely and others < 2) or any(_adds_up(column, row, found) for column in sums):
            found.add(row)
    last = len(columns[0].keys) - 1
    unnamed = texts and all(column.keys[last] == column.missing for column in texts)
    filled = [column for column in sums if column.keys[last] != column.missing]
    all_add_up = len(filled) > 2 and all(_adds_up(column, last, found) for column in filled)
    if (
        last > 1
        and last not in found
        and (all_add_up or (unnamed and any(_adds_up(column, last, found) for column in sums)))
    ):
        found.add(last)
    return frozenset(found)


def _adds_up(column: TypedColumn, row: int, totals: set[int]) -> bool:
    key = column.keys[row]
    if key == column.missing or row < 2:
        return False
    since = max((each for each in totals if each < row), default=-1) + 1
    every = sum(key for at, key in enumerate(column.keys[:row]) if key != column.missing and at not in totals)
    part = sum(key for key in column.keys[since:row] if key != column.missing)
    return bool(key in {every, part})
