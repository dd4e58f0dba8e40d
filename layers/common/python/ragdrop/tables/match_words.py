"""Find the words of a question in a table: in its headers, cells, units, periods and name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from groundcheck.sentences import STOP_WORDS
from ragdrop.tables.asked import Asked
from ragdrop.tables.cell_values import unit_name
from ragdrop.tables.plans import Part, RowFilter
from ragdrop.tables.table_words import SMALL, table_words
from ragdrop.tables.typed import MAX_INDEXED, TypedColumn, TypedTable
from ragdrop.tables.vocabulary import (
    ARTICLES,
    CONCEPTS,
    DOCUMENT_NOUNS,
    FILLERS,
    MEASURED_IN,
    NOUNS,
    PAYS,
    STATES,
    VERBS,
    WEEKDAY_WORDS,
    english_root,
    number_of,
    plain_words,
)

MAX_WORDS = 6  # of a value that a question names
_SPENDS = frozenset(map(english_root, ("spend", "spent")))
WHICH = frozenset(["which", "what", "welche", "welcher", "welches", "welchem", "welchen"])
_FEW = 30  # texts of a column of kinds
_TIMES = frozenset({"time", "times", "hours", "hour", "minutes"})


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column that the question names at words `start` to `end`."""

    column: int
    start: int
    end: int
    weight: float


@dataclass(slots=True)
class _Reading:
    """What of a question was found in a table so far."""

    used: set[int]
    score: float = 0.0
    named: list[NamedColumn] = field(default_factory=list)
    filters: list[tuple[int, list[RowFilter]]] = field(default_factory=list)  # the word, and what it may mean
    measures: set[int] = field(default_factory=set)  # columns that a period or a unit chose
    needs: list[frozenset[int]] = field(default_factory=list)  # of each word that means columns, those it means


class WordMatcher:
    """Finds the words of one question in one table."""

    def __init__(self, asked: Asked, table: TypedTable) -> None:
        self.asked, self.table = asked, table
        self.vocabulary = table_words(table, asked.root)
        self.found = _Reading(set(asked.used))
        self.part: tuple[int, Part] | None = None  # a column of dates, and what of them rows are grouped by

    def _nouns(self) -> frozenset[str]:
        nouns = NOUNS if self.table.path else DOCUMENT_NOUNS
        return nouns if self.found.score >= 1 else frozenset()

    def _free(self, start: int, end: int) -> bool:
        return end <= len(self.asked.words) and self.found.used.isdisjoint(range(start, end))

    def _values(self) -> None:
        """Whole cells, the longest first."""
        asked = self.asked
        for size in range(MAX_WORDS, 0, -1):
            for at in range(len(asked.words) - size + 1):
                if not self._free(at, at + size) or (size == 1 and not self._may_be_value(at)):
                    continue
                if size == 1 and self._in_header(at):
                    continue
                if size > 1 and self._is_filler(at) and self._is_filler(at + size - 1):
                    continue
                phrase = " ".join(asked.stems[at : at + size])
                options = [
                    self._equal(at, column, codes)
                    for column, found in self._codes(phrase)
                    if not self._is_header(at, at + size, column)
                    and (codes := [code for code in found if self._is_form(at + size - 1, column, code)])
                ]
                if options:
                    self._add(at, at + size, options, 3.0 * size)

    def _may_be_value(self, at: int) -> bool:
        word = self.asked.words[at]
        dates = [each for each in self.vocabulary.with_word(self.asked.stems[at]) if self._is_date(each)]
        if dates and "did" in self.asked.words[:at]:
            return False  # `how many bugs did Ivan open` is of `Opened`
        if [word] in self.vocabulary.spoken and not any(
            text.casefold() == word for column in self.table.columns for text in column.texts[:MAX_INDEXED]
        ):
            return False  # `delay` is the column, not the value `delayed`
        is_cell = word in FILLERS - STOP_WORDS and any(
            english_root(word) == english_root(text.casefold())
            for column in self.table.columns
            for text in column.texts[:_FEW]
        )
        return (is_cell or not self._is_filler(at)) and all(
            word != column.name.casefold() for column in self.table.columns
        )

    def _is_date(self, at: int) -> bool:
        return self.table.columns[at].kind == "date"

    def _in_header(self, at: int) -> bool:
        """Whether a word is of a whole header of several words: of `finish time` none is the value `finished`."""
        for header in self.vocabulary.headers:
            for start in range(max(at - len(header) + 1, 0), at + 1) if len(header) > 1 else ():
                if self.asked.stems[start : start + len(header)] == header:
                    return True
        return False

    def _codes(self, phrase: str) -> Iterator[tuple[int, list[int]]]:
        for at, column in enumerate(self.table.columns):
            codes = column.codes(self.asked.root).get(phrase) if column.kind == "text" else None
            codes = codes or (self._turned(column, phrase) if column.kind == "text" and " " in phrase else None)
            if codes:
                yield at, codes

    def _is_sized(self, named: NamedColumn) -> bool:
        """Whether a column measures what words count: of `Pack (g)` nobody sums grams to know how many packs."""
        column = self.table.columns[named.column]
        is_unit = any(map(unit_name, self.asked.words[named.start : named.end + 1]))
        return column.kind == "number" and bool(column.unit) and not is_unit

    def _turned(self, column: TypedColumn, phrase: str) -> list[int]:
        """Cells with all the words in another order: `Rosa Lang` of `Lang, Rosa`."""
        stems = phrase.split()
        known = column.by_word(self.asked.root)
        sets = [known.get(each, set()) for each in stems]
        codes = set.intersection(*sets) if all(sets) else set()
        return sorted(code for code in codes if len(plain_words(column.texts[code])) == len(stems))

    def _is_filler(self, at: int) -> bool:
        word = self.asked.words[at]
        is_noun = self.asked.words[at - 1 : at] == ("many",) and word.endswith("s") and word not in _TIMES | STOP_WORDS
        if word in {"zu", "auf"} and at + 1 == len(self.asked.words):
            return False  # closed, open
        return word in FILLERS and at not in self.asked.upper and not (is_noun and self.asked.stems[at] not in NOUNS)

    def _is_form(self, at: int, column: int, code: int) -> bool:
        """Whether a cell of one word says what is going on only if the question does: `read` is not `reading`."""
        text = self.table.columns[column].texts[code].casefold()
        said = self.asked.words[at].endswith("ing") or self.asked.words[at - 1 : at] == ("being",)
        return not text.isalpha() or text.endswith("ing") == said

    def _is_header(self, start: int, end: int, column: int) -> bool:
        said = " ".join(self.asked.words[start:end])
        return any(said == each.name.casefold() for at, each in enumerate(self.table.columns) if at != column)

    def _equal(self, at: int, column: int, codes: Sequence[int]) -> RowFilter:
        texts = self.table.columns[column].texts
        name = self.table.columns[column].name
        negated = self._is_negated(at)
        shown = " or ".join(f'"{texts[code]}"' for code in list(codes)[:3]) + (" or …" if len(codes) > 3 else "")
        return RowFilter(column, f"{name} {'is not' if negated else 'is'} {shown}", frozenset(codes), negated=negated)

    def _yes_or_no(self, at: int, *, no: bool) -> RowFilter:
        """That a column says yes; or no, which an empty cell says only where none says no in words."""
        column = self.table.columns[at]
        if no and 0 in column.keys:
            return RowFilter(at, f"{column.name} is no", frozenset({0}))
        return RowFilter(at, f"{column.name} is {'not yes' if no else 'yes'}", frozenset({1}), negated=no)

    def _number_behind(self, at: int) -> tuple[Decimal | None, int]:
        place = at + (self.asked.words[at : at + 1] in {("of",), ("is",), ("von",), ("=",), ("no",), ("nr",)})
        if place < len(self.asked.words) and place not in self.found.used:
            return number_of(self.asked.words[place]), place
        return None, place

    def _is_negated(self, at: int) -> bool:
        glossed = self.asked.glossed
        return any(
            0 < at - place <= 3 and (at in glossed) == (place in glossed) and not self._is_verb_between(place, at)
            for place in self.asked.negated
        )

    def _is_verb_between(self, start: int, end: int) -> bool:
        """Whether what was negated ends: at a conjunction, or at what a column of yes and no says."""
        between = range(start + 1, end)
        if any(self.asked.words[at] in {"and", "but", "or", "und"} for at in between):
            return True
        columns = {column for at in between for column in self.vocabulary.with_word(self.asked.stems[at])}
        return any(self.table.columns[at].kind == "boolean" for at in columns)

    def _add(self, start: int, end: int, options: list[RowFilter], weight: float) -> None:
        found = self.found
        near = [each for each in options if self._header_near(each.column, start, start)]  # `to Porto`
        near = near or [each for each in options if self._header_near(each.column, start, end)]
        found.used.update(range(start, end))
        found.filters.append((start, near or options))
        found.score += weight

    def _header_near(self, column: int, start: int, end: int) -> bool:
        behind = min(end + 2, len(self.asked.words)) if end > start else end
        around = range(max(start - 2, 0), start), range(end, behind)
        stems = self.vocabulary.headers[column]
        said = {self.asked.stems[at] for places in around for at in places}
        return bool(stems) and all(each in said for each in stems)

    def _headers(self) -> None:
        """Headers whose every word is there, then those with some: of words side by side the columns of all of them."""
        asked = self.asked
        self._agents()
        self._weekday_headers()
        headers = [sorted(header) for header in self.vocabulary.headers]
        for stems in sorted(headers, key=len, reverse=True):
            for at in range(len(asked.words)):
                end = self._end_of(stems, at) if stems else 0
                if at and asked.words[at - 1] in {"how", "wie"} and asked.concepts:
                    continue  # `how far` is no `Fare`
                is_last = (
                    end == len(asked.words) and asked.words[at] in STOP_WORDS
                )  # `which platform does it leave from`
                if end and self._free(at, end) and not is_last:
                    same = [column for column, header in enumerate(headers) if header == stems]
                    same = self.vocabulary.closest(same, asked.words[at:end])
                    if at and asked.words[at - 1] in {"per", "pro", "je"}:  # of Pack and Price per pack
                        same = self.vocabulary.with_word(stems[0])
                    self._name(same, at, end, 3.0 * len(stems))
        start, columns = 0, list[int]()
        for at, each in enumerate(asked.stems):
            is_open = self._free(at, at + 1) and asked.words[at] not in FILLERS
            mine = self.vocabulary.with_word(each) if is_open else []
            if each in PAYS and self.vocabulary.of_concept("money"):
                mine = [column for column in mine if self.table.columns[column].kind != "text"]  # `Paid by`
            both = [column for column in columns if column in mine]
            if columns and not both:
                self._name_part(columns, start, at)
            start, columns = (start, both) if both else (at, mine)
        if columns:
            self._name_part(columns, start, len(asked.words))
        self._units()

    def _weekday_headers(self) -> None:
        """Columns that are called like a day of the week: `Mon`."""
        for at, word in enumerate(self.asked.words):
            days = WEEKDAY_WORDS.get(word, frozenset())
            columns = [
                column
                for column, said in enumerate(self.vocabulary.spoken)
                if len(said) == 1 and len(days) == 1 and len(said[0]) > 1 and word.startswith(said[0])
            ]
            if len(columns) == 1 and self._free(at, at + 1):
                self._name(columns, at, at + 1, 3.0)

    def _end_of(self, stems: list[str], start: int) -> int:
        """Where the words of a header end in the question, small words between them; 0 if they do not start there."""
        rest, end = list(stems), start
        while rest and end < len(self.asked.words):
            if self.asked.stems[end] in rest:
                rest.remove(self.asked.stems[end])
            elif end == start or self.asked.words[end] not in SMALL | ARTICLES:
                return 0
            end += 1
        return 0 if rest else end

    def _agents(self) -> None:
        """Whose column `who` asks for, by what they do: `who borrowed`."""
        for at, word in enumerate(self.asked.words if self.asked.wants == "who" else ()):
            columns = self.vocabulary.agents(word) if self._free(at, at + 1) and word not in FILLERS else []
            if columns:
                self._name(columns, at, at + 1, 3.0)

    def _name_part(self, columns: list[int], start: int, end: int) -> None:
        """Name columns by some words of their headers, less so by a part of a word."""
        header = self.vocabulary.headers[columns[0]]
        whole = any(self.vocabulary.says(self.asked.stems[at], header) for at in range(start, end))
        columns = self.vocabulary.headed(columns, [*self.asked.stems[start:end]])
        self._name(columns, start, end, 2.0 * (end - start) if whole else 1.0)
        if not whole:
            self.found.needs.pop()

    def _asks_what_rows(self) -> bool:
        """Whether `what` begins a question with nothing but whole cells as conditions."""
        conditions = [each for _, options in self.found.filters for each in options]
        is_whole = all(" has " not in each.said for each in conditions)
        return self.asked.words[0] in {"what", "was"} and bool(conditions) and is_whole

    def _units(self) -> None:
        """A unit that is asked for by its name: `how many km`, `in hours`."""
        for at, word in enumerate(self.asked.words):
            before = self.asked.words[at - 1] if at else ""
            is_asked = at in {0, len(self.asked.words) - 1, self.asked.fold_end, self.asked.superlative_end}
            is_asked = is_asked or before in {"many", "in", "viele", "viel", "much", "total", "of"}
            unit = unit_name(word) if is_asked and self._free(at, at + 1) and word not in {"a", "day", "days"} else ""
            unit = "GBP" if word in {"pound", "pounds"} and not self._with_unit(unit) else unit
            columns = self._with_unit(unit)
            if columns:
                self._name(columns, at, at + 1, 2.0)

    def _with_unit(self, unit: str) -> list[int]:
        return [at for at in range(len(self.table.columns)) if unit and self.vocabulary.has_unit(at, unit)]

    def _name(self, columns: list[int], start: int, end: int, weight: float) -> None:
        self.found.used.update(range(start, end))
        self.found.named += [NamedColumn(column, start, end, weight / max(1, len(columns))) for column in columns]
        self.found.needs += [frozenset(columns)] if columns else []
        self.found.score += weight

    def _titles(self) -> None:
        for at, each in enumerate(self.asked.stems):
            if self._free(at, at + 1) and self.asked.words[at] not in FILLERS and self.vocabulary.titled(each):
                self.found.used.add(at)
                self.found.score += 2.0

    def _parts_of_values(self) -> None:
        """Words that are a part of cells: of one column all of them."""
        asked = self.asked
        groups: list[list[int]] = []
        for at in range(len(asked.words)):
            if self._free(at, at + 1) and not self._is_filler(at):
                groups += [] if groups and groups[-1][-1] == at - 1 else [[]]
                groups[-1].append(at)
        for places in groups:
            if not self._partly(places[0], places[-1] + 1):
                for at in places:
                    if not asked.words[at].isdigit():
                        self._partly(at, at + 1)

    def _partly(self, start: int, end: int) -> bool:
        options: list[RowFilter] = []
        if self.asked.superlative is not None and start and self.asked.words[start - 1] in WHICH:
            return False  # `which ship` asks for what rows are, not for those whose type has the word
        for at, column in enumerate(self.table.columns):
            is_state = not STATES.isdisjoint(self.vocabulary.spoken[at])  # `to read` is another than `read`
            if column.kind != "text" or len(column.texts) > MAX_INDEXED or is_state:
                continue
            sets = [column.by_word(self.asked.root).get(each, set()) for each in self.asked.stems[start:end]]
            codes = set.intersection(*sets) if sets else set()
            if codes:
                name, said = column.name, " ".join(self.asked.words[start:end])
                negated = self._is_negated(start)
                verb = "has not" if negated else "has"
                options.append(RowFilter(at, f'{name} {verb} "{said}"', frozenset(codes), negated=negated))
        if options:
            self._add(start, end, options, 1.5 * (end - start))
        return bool(options)

    def _is_named_in(self, at: int, concepts: Sequence[str]) -> bool:
        """Whether a column is named, and its unit measures one of *concepts*."""
        column, is_named = self.table.columns[at], any(each.column == at for each in self.found.named)
        units = set[str]().union(*(MEASURED_IN.get(name, set()) for name in concepts))
        return is_named and (column.unit in units or ("money" in concepts and column.kind == "amount"))

    def _concepts(self) -> None:
        """Words that mean a column without its name, such as `cost`."""
        for at, each in enumerate(self.asked.stems):
            is_row = self.asked.fold in {"count", "share"} and self.asked.words[at - 1] in {"many", "the", "of", "all"}
            if at in self.found.used or (is_row and self.vocabulary.titled(each)):
                continue  # of how many charges, in a log of charging, nobody asks what they cost
            names = [name for name, said in CONCEPTS.items() if each in said]
            columns = {column for name in names for column in self.vocabulary.of_concept(name)}
            if not columns:  # `deposit money`, `how deep was the draught`
                columns = {each.column for each in self.found.named if self._is_named_in(each.column, names)}
            if (
                "place" in names and len(columns) == 1 and self.asked.words[at - 1] in WHICH
            ):  # `what country is it from`
                self._name(list(columns), at, at + 1, 2.0)
            elif each in _SPENDS and not _TIMES.isdisjoint(self.asked.words):
                self.found.used.add(at)
            elif columns:
                self.found.used.add(at)
                if self.asked.words[at] not in FILLERS:
                    self.found.score += 1.0
                    self.found.measures.update(columns)
                    if each not in VERBS and self.asked.fold not in {"count", "distinct"}:
                        self.found.needs.append(frozenset(columns))
