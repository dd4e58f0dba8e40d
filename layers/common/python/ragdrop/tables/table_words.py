"""The words of one table: its headers, its name, and the columns that words without a header mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from weakref import WeakKeyDictionary

from groundcheck.sentences import words
from ragdrop.tables.cell_values import MONTH_NUMBERS, unit_name
from ragdrop.tables.typed import TypedColumn, TypedTable
from ragdrop.tables.vocabulary import (
    ALIASES,
    HEADERS,
    MONEY_WAYS,
    OTHER_MONEY,
    RANKED,
    STATES,
    SYNONYMS,
    UMLAUTS,
    UNITS_OF,
    Root,
    english_root,
    german_root,
    plain_words,
)
from ragdrop.tables.word_relations import PERSON, sorts

NUMBERS = frozenset({"number", "amount", "duration"})
_BUDGETS = re.compile(r"(?i)budget|cost|expens|spend|price|account|haushalt|konto|kosten|ausgaben|invoice|rechnung")
_DOER = re.compile(r"(?:er|or|ee|ist|ant)s?$")
_NOT_DOERS = (
    "number order quarter color paper letter weather water floor chapter sensor meter printer computer folder register "
    "monitor motor filter cover power center alter flavor sector factor nummer zimmer wetter wasser other winter "
    "summer plant über unter"
)
_NO_DOERS = frozenset(_NOT_DOERS.split())
SMALL = frozenset({"in", "of", "the", "per", "and", "no", "nr"})  # words of a header that nobody needs to say
_PERIODS = {*words("mon tue tues wed thu thurs fri sat sun mo di mi do fr sa so"), *MONTH_NUMBERS}
_HEAD = re.compile(r" (?:per|on|of|in|at|for|to|by|from|pro|je|von|am|im|in|an)\b.*")
_PARTICIPLE = re.compile(r"^(auf|ab|an|ein|aus|her|zu|vor|nach|mit|weg|um)?ge(?=\w{3})|ier(?:t|en)$|e?t$")
_NOUNS_OF = {"nomm": "nahm", "komm": "kunf", "geb": "gab", "zog": "zug"}
_STRONG = re.compile("(?:nomm|komm|geb|zog)$")
_KIND_OF = re.compile(r"(?i)(?:kind|type|sort|category|class|art) (?:of|der|des|von) (.+)")  # of the rows
MIN_PART = 4  # letters of a word that stands within another, as in `Stromkosten`


class TableWords:
    """The roots of the words of one table's headers and name.

    Attributes:
        headers: Of each column.
        title: Of path, heading and sheet, and what is said of such tables.
        named: The words of that name, and of the header of what names the rows, as they are said.
        years, months: That the name states.
        numeric: Columns of numbers, but for `numbered`: the first one, where it numbers the rows.
        running: Columns of numbers that add up another one, such as balances and meters: nobody sums them.
        is_cross: Whether several columns of numbers are of weekdays or months: a cell is how much there was then.
    """

    def __init__(self, table: TypedTable, root: Root) -> None:
        name = re.sub(r"[_./'-]", " ", f"{table.path} {table.name} {table.sheet}")
        self.table = table
        self.headers = [_header_stems(column.name, root) for column in table.columns]
        self.spoken = [header_words(column.name) for column in table.columns]
        self._head = [root((plain_words(_HEAD.sub("", each.name.casefold())) or [""])[-1]) for each in table.columns]
        kinds_of = [_KIND_OF.fullmatch(column.name) for column in table.columns]
        self._rows = [frozenset(map(root, plain_words(each[1]))) if each else frozenset[str]() for each in kinds_of]
        title = frozenset(map(root, plain_words(name))).union(*self._rows)
        self.title = title | {
            root(word) for key, said in ALIASES.items() if any(key in each for each in title) for word in said.split()
        }
        label = {*self.spoken[table.label]} if table.label is not None else set()
        self.named = {*plain_words(name.replace(".", " ")), *label} - {table.path.rpartition(".")[2].casefold(), *SMALL}
        self.years = {int(year) for year in re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", name)}
        self.months = {MONTH_NUMBERS[word] for word in words(name) if word in MONTH_NUMBERS}
        self.numbered = frozenset({0} if table.columns and numbers_its_rows(table) else ())
        kinds = enumerate(each.kind for each in table.columns)
        self.numeric = frozenset(at for at, kind in kinds if kind in NUMBERS) - self.numbered
        periods = [_PERIODS & {*words(each.name)} for each in table.columns if each.kind in NUMBERS]
        self.is_cross = sum(map(bool, periods)) >= 3
        self.running = frozenset(at for at in self.numeric if self._is_running(at))
        self._is_german = root is german_root
        self._concepts: dict[str, list[int]] = {}

    def _is_running(self, at: int) -> bool:
        """Whether a column goes up from row to row by what another column has there."""
        rows, mine = self.table.rows[:200], self.table.columns[at]
        if len(rows) < 4 or mine.missing in mine.keys[: len(rows) + 1]:
            return False
        steps = [mine.keys[after] - mine.keys[before] for before, after in pairwise(rows)]
        for other in self.numeric - {at}:
            its = self.table.columns[other]
            scale = 10 ** abs(mine.scale - its.scale)
            scaled = [key * scale if its.scale < mine.scale else key for key in map(its.keys.__getitem__, rows)]
            steps_of = [step * scale for step in steps] if its.scale > mine.scale else steps
            for places in (scaled[1:], [-key for key in scaled[:-1]]):
                if any(steps_of) and sum(map(int.__eq__, steps_of, places)) * 10 >= 9 * len(steps_of):
                    return True
        return False

    def with_word(self, word: str) -> list[int]:
        """The columns whose header has a word, or else one that it is a part of."""
        headers = [(at, each) for at, each in enumerate(self.headers) if word not in self._rows[at]]
        found = [at for at, header in headers if self.says(word, header)]
        if found or len(word) < MIN_PART + (not self._is_german):
            return found
        return [at for at, header in headers if any(self._alike(word, each) for each in header)]

    def closest(self, columns: list[int], said: Sequence[str]) -> list[int]:
        """Those of *columns* whose header has the words as they are said: `plants` are of `Plant`, not of `Planted`."""
        single = [word.removesuffix("s") for word in said]
        exact = [at for at in columns if [each.removesuffix("s") for each in self.spoken[at]] == single]
        return exact or columns

    def headed(self, columns: list[int], said: Sequence[str]) -> list[int]:
        """Those of *columns* whose header begins with a word: boxes are of `Boxes on hand`, not of `Pieces per box`."""
        first = [at for at in columns if self._head[at] in said]
        return first or columns

    def agents(self, word: str) -> list[int]:
        """The columns of texts whose header names who does what a word says: of `borrowed` the `Borrower`."""
        base = re.sub(r"^ge(?=\w{4})|(?:e?t|en)$", "", word) if self._is_german else english_root(word)
        ends = ("er", "or", "ee", "t", "ist", f"{base[-1:]}er")
        doers = {f"{base}{end}".translate(UMLAUTS) for end in ends} | {f"{base.removesuffix('y')}ier"}
        texts = (at for at, column in enumerate(self.table.columns) if column.kind == "text" and len(base) > 2)
        return [
            at
            for at in texts
            if self.spoken[at][-1:] and self.spoken[at][-1].removesuffix("s").translate(UMLAUTS) in doers
        ]

    def says(self, word: str, header: Sequence[str]) -> bool:
        """Whether a header has a word, or, where none has it, another word for it."""
        is_said = any(word in each for each in self.headers)
        return word in header if is_said else not SYNONYMS.get(word, frozenset()).isdisjoint(header)

    def titled(self, word: str) -> bool:
        """Whether the table's name has a word, or a longer one that begins with it."""
        is_long = len(word) > MIN_PART - self._is_german
        return (
            word in self.title
            or not SYNONYMS.get(word, frozenset()).isdisjoint(self.title)
            or (is_long and any(self._alike(word, each) for each in self.title))
        )

    def _alike(self, word: str, other: str) -> bool:
        if self._is_german and len(word) <= MIN_PART:
            return other.startswith(word) and len(other) >= len(word) + MIN_PART  # of `Miete` the `Mietpreis`
        if self._is_german and len(other) >= MIN_PART:
            base = _PARTICIPLE.sub(r"\1", word)  # `geerntet` of `Ernte`, `abgereist` of `Abreise`
            base = german_root(_STRONG.sub(lambda found: _NOUNS_OF[found[0]], base))  # `aufgenommen` of `Aufnahme`
            return word in other or (len(base) >= MIN_PART and other.startswith(base))
        longer, shorter = (other, word) if len(other) > len(word) else (word, other)
        return len(shorter) >= MIN_PART and longer.startswith(shorter) and len(longer) - len(shorter) <= 5

    def of_concept(self, name: str) -> list[int]:
        """The columns that a concept may mean."""
        if name not in self._concepts:
            self._concepts[name] = [at for at in range(len(self.headers)) if self._fits(name, at)]
        return self._concepts[name]

    def money(self, way: str) -> list[int]:
        """The columns of money that came `in` or went `out`, by their headers."""
        said = MONEY_WAYS[way][1]
        amounts = [at for at in self.of_concept("money") if self.table.columns[at].kind in NUMBERS]
        return [at for at in amounts if not said.isdisjoint(self.headers[at])]

    def stocks(self) -> list[int]:
        """The columns of how many there are; where there are several, not of how many there were, as `Sold`."""
        columns = self.of_concept("quantity")
        present = [at for at in columns if not says_verb(self.table.columns[at].name)]
        return [at for at in present if self.table.columns[at].kind == "number"]

    def _fits(self, name: str, at: int) -> bool:
        column, header = self.table.columns[at], self.headers[at]
        named = {each for each, said in HEADERS.items() if not said.isdisjoint(header)}
        by_name = name in named
        by_unit = column.unit in UNITS_OF.get(name, set()) and not named - {name}
        if name == "date":
            return column.kind == "date"
        if name == "person" and column.kind == "text" and self._is_of_people(at):
            return True
        if name == "person":
            return by_name and column.kind == "text" and self.are_names(at)
        if name == "place":
            return by_name and column.kind == "text"
        if name == "money":
            is_other = column.kind == "amount" and not OTHER_MONEY.isdisjoint(self.headers[at]) and not by_name
            return (column.kind == "amount" and not is_other) or (
                column.kind == "number" and (by_name or self._is_bare_money(at))
            )
        if name == "thing":
            return by_name and column.kind == "text"
        if name == "returned":
            return by_name
        if name == "duration" and column.kind == "duration":
            return True
        return (by_name or by_unit) and column.kind in NUMBERS

    def _is_of_people(self, at: int) -> bool:
        """Whether a header ends like one who does something, and the cells look like names."""
        last = self.spoken[at][-1] if self.spoken[at] else ""
        is_doer = bool(_DOER.search(last)) and last not in _NO_DOERS
        return (is_doer or PERSON in sorts(last)) and self.are_names(at)

    def are_names(self, at: int) -> bool:
        """Whether nearly all texts of a column begin with a capital letter and have no digit."""
        texts = self.table.columns[at].texts[:50]
        named = sum(text[:1].isupper() and not any(map(str.isdigit, text)) for text in texts)
        return named * 10 >= len(texts) * 9

    def _is_bare_money(self, at: int) -> bool:
        """Whether a number without a unit is money: the table is a budget, and no column states a currency."""
        column = self.table.columns[at]
        is_month = any(word in MONTH_NUMBERS for word in words(column.name))
        has_amounts = not is_month and any(each.kind == "amount" for each in self.table.columns)
        named = {each for each, said in HEADERS.items() if not said.isdisjoint(self.headers[at])}
        title = f"{self.table.path} {self.table.name}"
        return (
            not has_amounts and not column.unit and not named and bool(_BUDGETS.search(title)) and not is_year(column)
        )

    def has_unit(self, at: int, unit: str) -> bool:
        """Whether a column is in a unit, or in hours and minutes."""
        column = self.table.columns[at]
        return (
            column.unit == unit or unit in column.units or (column.kind == "duration" and unit in UNITS_OF["duration"])
        )


def is_year(column: TypedColumn) -> bool:
    """Whether the numbers of a column are years."""
    if column.kind != "number" or column.scale or column.unit:
        return False
    present = [key for key in column.keys[:1_000] if key != column.missing]
    return bool(present) and all(1500 <= key <= 2200 for key in present)


def comes_and_goes(table: TypedTable, at: int) -> bool:
    """Whether a column holds money that comes and goes: its dearest may be its least."""
    return table.columns[at].ends[0] < 0


def is_additive(table: TypedTable, at: int) -> bool:
    """Whether the numbers of a column add up: money, times and distances do, temperatures and readings do not."""
    column = table.columns[at]
    stems = set(header_words(column.name))
    if column.kind == "number" and not column.unit and not column.scale and not is_year(column):
        return stems.isdisjoint(RANKED) and not _is_measure(stems)
    if column.unit in {"kg", "g"}:
        return not _is_measure(stems)
    return column.kind in {"amount", "duration"} or column.unit in {
        "h",
        "km",
        "m",
        "minute",
        "mile",
        "l",
        "kWh",
        "m³",
        "tonne",
    }


NOT_SUMMED = frozenset({"°c", "°f", "degree", "%", "cm", "kmh", "mph", "year"})


def _is_measure(header: set[str]) -> bool:
    """Whether a header says that its numbers are of each row alone, such as a weight or an age."""
    names = [name for name, said in HEADERS.items() if not said.isdisjoint({*map(english_root, header)})]
    return bool(
        {"weight", "age", "score", "rank", "temperature", "speed", "size", "height", "depth"}.intersection(names)
    )


def numbers_its_rows(table: TypedTable) -> bool:
    """Whether the first column numbers the rows."""
    first = table.columns[0]
    keys = [first.keys[row] for row in table.rows]
    whole = first.kind == "number" and not first.scale and not first.unit and len(keys) > 1
    return whole and keys == list(range(keys[0], keys[0] + len(keys)))


def has_repeats(table: TypedTable, at: int) -> bool:
    """Whether a column names kinds of rows: one of five cells or more is there before."""
    return table.columns[at].distinct * 10 < len(table.rows) * 8


_known: WeakKeyDictionary[TypedTable, dict[Root, TableWords]] = WeakKeyDictionary()


def table_words(table: TypedTable, root: Root) -> TableWords:
    """The words of *table*, which are read once."""
    found = _known.setdefault(table, {})
    if root not in found:
        found[root] = TableWords(table, root)
    return found[root]


@lru_cache(maxsize=4_096)
def says_verb(name: str) -> bool:
    """Whether a header has a participle, such as `Packs sold`, or is a status.

    >>> says_verb("Packs sold"), says_verb("Returned"), says_verb("Weight")
    (True, True, False)
    """
    return any(word in STATES or word.endswith("ed") for word in words(name))


def header_words(name: str) -> list[str]:
    """The words of a header without its unit and small words.

    >>> header_words("Distance (km)"), header_words("due_date"), header_words("Amount EUR")
    (['distance'], ['due', 'date'], ['amount'])
    """
    plain = re.sub(r"[_/.-]", " ", re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", name))
    plain = re.sub(r"(?<=[a-zäöü]{2})(?=[A-Z])", " ", plain)
    found = [word for word in plain_words(plain) if word not in SMALL]
    is_unit = len(found) > 1 and unit_name(found[-1]) and f"per {found[-1]}" not in plain.casefold()
    return found[:-1] if is_unit else found


def _header_stems(name: str, root: Root = english_root) -> tuple[str, ...]:
    """The stems of a header without its unit and small words.

    >>> _header_stems("Distance (km)"), _header_stems("due_date"), _header_stems("Amount EUR")
    (('distanc',), ('due', 'dat'), ('amount',))
    """
    return tuple(map(root, header_words(name)))
