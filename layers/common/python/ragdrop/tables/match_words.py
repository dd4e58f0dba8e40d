"""Find the words of a question in a table: in its headers, cells, units, periods and name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal

from groundcheck.sentences import words
from ragdrop.tables.asked import Asked, Bound, Moment, Period
from ragdrop.tables.cell_values import DAY_S, MONTH_NUMBERS, unit_factor, unit_name
from ragdrop.tables.plans import WEEKDAYS, RefusedPlanError, RowFilter, days_between
from ragdrop.tables.table_words import NUMBERS, is_year, table_words
from ragdrop.tables.typed import MAX_INDEXED, TypedTable
from ragdrop.tables.vocabulary import CONCEPTS, FILLERS, NOUNS, PARTS, VERBS, WEEKDAY_WORDS, english_root, number_of

MAX_WORDS = 6  # of a value that a question names
_SPENDS = frozenset(map(english_root, ("spend", "spent")))
_WHICH = frozenset(["which", "what", "welche", "welcher", "welches", "welchem", "welchen"])
_TIMES = frozenset({"time", "hours", "hour", "minutes"})


@dataclass(frozen=True, slots=True)
class _Named:
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
    named: list[_Named] = field(default_factory=list)
    filters: list[tuple[int, list[RowFilter]]] = field(default_factory=list)  # the word, and what it may mean
    measures: set[int] = field(default_factory=set)  # columns that a period or a unit chose
    needs: list[frozenset[int]] = field(default_factory=list)  # of each word that means columns, those it means


class WordMatcher:
    """Finds the words of one question in one table."""

    def __init__(self, asked: Asked, table: TypedTable) -> None:
        self.asked, self.table = asked, table
        self.vocabulary = table_words(table, asked.root)
        self.found = _Reading(set(asked.used))
        self.part: tuple[int, str] | None = None  # a column of dates, and what of them rows are grouped by

    def _nouns(self) -> frozenset[str]:
        return NOUNS if self.found.score >= 1 else frozenset()

    def _free(self, start: int, end: int) -> bool:
        return end <= len(self.asked.words) and self.found.used.isdisjoint(range(start, end))

    def _values(self) -> None:
        """Whole cells, the longest first."""
        asked = self.asked
        for size in range(MAX_WORDS, 0, -1):
            for at in range(len(asked.words) - size + 1):
                if not self._free(at, at + size) or (size == 1 and not self._may_be_value(at)):
                    continue
                if asked.words[at] in FILLERS and asked.words[at + size - 1] in FILLERS:
                    continue
                phrase = " ".join(asked.stems[at : at + size])
                options = [
                    self._equal(at, column, codes)
                    for column, codes in self._codes(phrase)
                    if not self._is_header(at, at + size, column)
                ]
                if options:
                    self._add(at, at + size, options, 3.0 * size)

    def _may_be_value(self, at: int) -> bool:
        word = self.asked.words[at]
        return word not in FILLERS and all(word != column.name.casefold() for column in self.table.columns)

    def _codes(self, phrase: str) -> Iterator[tuple[int, list[int]]]:
        for at, column in enumerate(self.table.columns):
            codes = column.codes(self.asked.root).get(phrase) if column.kind == "text" else None
            if codes:
                yield at, codes

    def _is_header(self, start: int, end: int, column: int) -> bool:
        said = " ".join(self.asked.words[start:end])
        return any(said == each.name.casefold() for at, each in enumerate(self.table.columns) if at != column)

    def _equal(self, at: int, column: int, codes: Sequence[int]) -> RowFilter:
        texts = self.table.columns[column].texts
        name = self.table.columns[column].name
        negated = self._is_negated(at)
        shown = " or ".join(f'"{texts[code]}"' for code in list(codes)[:3]) + (" or …" if len(codes) > 3 else "")
        return RowFilter(column, f"{name} {'is not' if negated else 'is'} {shown}", frozenset(codes), negated=negated)

    def _is_negated(self, at: int) -> bool:
        return any(0 < at - place <= 3 and not self._is_verb_between(place, at) for place in self.asked.negated)

    def _is_verb_between(self, start: int, end: int) -> bool:
        return any(self.asked.words[at] in {"and", "but", "or", "und"} for at in range(start + 1, end))

    def _add(self, start: int, end: int, options: list[RowFilter], weight: float) -> None:
        found = self.found
        near = [each for each in options if self._header_near(each.column, start, end)]
        found.used.update(range(start, end))
        found.filters.append((start, near or options))
        found.score += weight

    def _header_near(self, column: int, start: int, end: int) -> bool:
        around = range(max(start - 2, 0), start), range(end, min(end + 2, len(self.asked.words)))
        stems = self.vocabulary.headers[column]
        said = {self.asked.stems[at] for places in around for at in places}
        return bool(stems) and all(each in said for each in stems)

    def _headers(self) -> None:
        """Headers whose every word is there, then those with some: of words side by side the columns of all of them."""
        asked = self.asked
        headers = [sorted(header) for header in self.vocabulary.headers]
        for stems in sorted(headers, key=len, reverse=True):
            size = len(stems)
            for at in range(len(asked.words) - size + 1):
                if size and self._free(at, at + size) and sorted(asked.stems[at : at + size]) == stems:
                    same = [column for column, header in enumerate(headers) if header == stems]
                    self._name(same, at, at + size, 3.0 * size)
        start, columns = 0, list[int]()
        for at, each in enumerate(asked.stems):
            is_open = self._free(at, at + 1) and asked.words[at] not in FILLERS
            mine = self.vocabulary.with_word(each) if is_open else []
            both = [column for column in columns if column in mine]
            if columns and not both:
                self._name_part(columns, start, at)
            start, columns = (start, both) if both else (at, mine)
        if columns:
            self._name_part(columns, start, len(asked.words))
        self._units()

    def _name_part(self, columns: list[int], start: int, end: int) -> None:
        """Name columns by some words of their headers, less so by a part of a word."""
        whole = any(self.asked.stems[at] in self.vocabulary.headers[columns[0]] for at in range(start, end))
        self._name(columns, start, end, 2.0 * (end - start) if whole else 1.0)

    def _units(self) -> None:
        """A unit that is asked for by its name: `how many km`, `in hours`."""
        for at, word in enumerate(self.asked.words):
            before = self.asked.words[at - 1] if at else ""
            is_asked = at == 0 or before in {"many", "in", "viele", "viel", "much", "total", "of"}
            unit = unit_name(word) if is_asked and self._free(at, at + 1) and word not in {"a", "day", "days"} else ""
            columns = [at for at in range(len(self.table.columns)) if unit and self.vocabulary.has_unit(at, unit)]
            if columns:
                self._name(columns, at, at + 1, 2.0)

    def _name(self, columns: list[int], start: int, end: int, weight: float) -> None:
        self.found.used.update(range(start, end))
        self.found.named += [_Named(column, start, end, weight / len(columns)) for column in columns]
        self.found.needs.append(frozenset(columns))
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
            if self._free(at, at + 1) and asked.words[at] not in FILLERS:
                groups += [] if groups and groups[-1][-1] == at - 1 else [[]]
                groups[-1].append(at)
        for places in groups:
            if not self._partly(places[0], places[-1] + 1):
                for at in places:
                    self._partly(at, at + 1)

    def _partly(self, start: int, end: int) -> bool:
        options = []
        for at, column in enumerate(self.table.columns):
            if column.kind != "text" or len(column.texts) > MAX_INDEXED:
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

    def _concepts(self) -> None:
        """Words that mean a column without its name, such as `cost`."""
        for at, each in enumerate(self.asked.stems):
            if at in self.found.used:
                continue
            names = [name for name, said in CONCEPTS.items() if each in said]
            columns = {column for name in names for column in self.vocabulary.of_concept(name)}
            if each in _SPENDS and not _TIMES.isdisjoint(self.asked.words):
                self.found.used.add(at)
            elif columns:
                self.found.used.add(at)
                if self.asked.words[at] not in FILLERS:
                    self.found.score += 1.0
                    self.found.measures.update(columns)
                    if each not in VERBS and self.asked.fold not in {"count", "distinct"}:
                        self.found.needs.append(frozenset(columns))

    def _equalities(self) -> None:
        """A number right behind the header of numbers, or `no` before it: `a stock of 0`, `bib 240`, `no rain`."""
        for named in list(self.found.named):
            column = self.table.columns[named.column]
            if column.kind not in NUMBERS:
                continue
            number, place = self._number_behind(named.end)
            before = " ".join(self.asked.words[max(named.start - 2, 0) : named.start])
            if number is None and re.search(r"(?:^| )(?:no|kein|keine|keinen|out of)$", before):
                number, place = Decimal(0), named.start
            if number is None:
                continue
            self.found.used.update(range(named.end, place + 1))
            bound = Bound(number, number, named.start, named.end)
            self.found.filters.append((named.start, [self._bounded(bound, named.column)]))
            self.found.named.remove(named)

    def _empties(self) -> None:
        """Columns of dates that `not` stands before: bugs that are not closed have an empty cell there."""
        for named in list(self.found.named):
            column = self.table.columns[named.column]
            if column.kind == "date" and self._is_negated(named.start):
                said = RowFilter(named.column, f"{column.name} is empty", frozenset({column.missing}))
                self.found.filters.append((named.start, [said]))
                self.found.named.remove(named)

    def _number_behind(self, at: int) -> tuple[Decimal | None, int]:
        place = at + (self.asked.words[at : at + 1] in {("of",), ("is",), ("von",), ("=",), ("no",), ("nr",)})
        if place < len(self.asked.words) and place not in self.found.used:
            return number_of(self.asked.words[place]), place
        return None, place

    def _weekdays(self) -> None:
        """Days of the week, where dates can be looked at."""
        for at, word in enumerate(self.asked.words):
            days = WEEKDAY_WORDS.get(word) if self._free(at, at + 1) else None
            if days is None:
                continue
            negated = self._is_negated(at)
            options = []
            for place in self._date_columns():
                column = self.table.columns[place]
                present = set(column.keys) - {column.missing}
                keys = frozenset(key for key in present if (key // DAY_S % 7 in days) is not negated)
                said = " or ".join(WEEKDAYS[day] for day in sorted(days))
                options.append(RowFilter(place, f"{column.name} is {'not ' if negated else ''}{said}", keys))
            if options:
                self._add(at, at + 1, options, 2.0)

    def _parts(self) -> None:
        """The part of dates that rows are grouped by: `per month`, `in which year`."""
        asked = self.asked
        which = [at + 1 for at, word in enumerate(asked.words) if word in _WHICH and asked.superlative is not None]
        for at in which if asked.group_at is None else [asked.group_at]:
            part = PARTS.get(asked.words[at]) if at < len(asked.words) and self._free(at, at + 1) else None
            if part is None:
                continue
            dates = self._date_columns()
            if not part or len(dates) != 1:
                raise RefusedPlanError("no_column")
            self.part = dates[0], part
            self.found.used.add(at)
            self.found.score += 1.0

    def _bounds(self) -> None:
        for bound in self.asked.bounds:
            options = [self._bounded(bound, column) for column in self._bound_columns(bound)]
            if not options:
                raise RefusedPlanError("unit" if bound.unit else "no_column")
            self.found.filters.append((bound.start, options))
            self.found.score += 2.0

    def _bound_columns(self, bound: Bound) -> list[int]:
        """The columns that a bound may be about: by unit, by a header right behind or before it, by its adjective."""
        numeric = [at for at, column in enumerate(self.table.columns) if column.kind in NUMBERS]
        if bound.unit:
            numeric = [at for at in numeric if unit_factor(bound.unit, self.table.columns[at].own_unit) is not None]
            same = [at for at in numeric if self.table.columns[at].unit == bound.unit]
            numeric = same or numeric
        named = [each for each in self.found.named if each.column in numeric]
        behind = [each for each in named if 0 <= each.start - bound.end <= 1]
        before = [each for each in named if each.end <= bound.start]
        for near in (behind, before[-1:]):
            if near:
                spans = {(each.start, each.end) for each in near}
                about = [each for each in named if (each.start, each.end) in spans]
                self.found.named = [each for each in self.found.named if each not in about or self.asked.fold == "sum"]
                return sorted({each.column for each in about})
        by_concept = [at for name in bound.concepts for at in self.vocabulary.of_concept(name) if at in numeric]
        by_measure = [at for at in numeric if at in self.found.measures]
        behind_unknown = self.asked.words[bound.end : bound.end + 1]
        if not bound.unit and not by_concept and behind_unknown and bound.end not in self.found.used:
            word = behind_unknown[0]
            if word not in FILLERS:
                return []
        bare = [at for at in numeric if bound.unit or not self.table.columns[at].unit]
        return by_concept or by_measure or ([] if bound.concepts and not bound.unit else bare)

    def _bounded(self, bound: Bound, at: int) -> RowFilter:
        column = self.table.columns[at]
        if column.unit == "mixed":
            raise RefusedPlanError("unit")
        factor = (unit_factor(bound.unit, column.own_unit) if bound.unit else None) or (
            Decimal(1) if not bound.unit else None
        )
        if factor is None:
            raise RefusedPlanError("unit")
        scale = Decimal(10) ** column.scale * factor
        low, high = (None if end is None else end * scale for end in (bound.low, bound.high))
        first, last = _whole(low, up=True, strict=bound.strict), _whole(high, up=False, strict=bound.strict)
        signs = (">" if bound.strict else ">=", "<" if bound.strict else "<=")
        ends = ((signs[0], bound.low), (signs[1], bound.high))
        shown = " and ".join(f"{column.name} {sign} {end}" for sign, end in ends if end is not None)
        return RowFilter(at, f"{shown} {bound.unit}".strip(), None, first, last)

    def _periods(self) -> None:
        periods = list(self.asked.periods)
        if self.asked.difference and len(periods) == 1 and periods[0].first != periods[0].last:
            periods = [replace(periods[0], last=periods[0].first), replace(periods[0], first=periods[0].last)]
        joined: list[tuple[int, list[RowFilter]]] = []
        for period in periods:
            if self._is_titled(period):
                continue
            joined.append((period.start, self._of_period(period)))
            self.found.score += 2.0
        if len(joined) > 1 and not self.asked.difference:
            joined = [(joined[0][0], self._one_of([options for _, options in joined]))]
        self.found.filters += joined

    def _one_of(self, several: list[list[RowFilter]]) -> list[RowFilter]:
        """Several periods as one condition: `in July and August`."""
        columns = {each.column for options in several for each in options}
        merged = []
        for column in columns:
            mine = [each for options in several for each in options if each.column == column]
            if len(mine) != len(several):
                continue
            keys: set[int] = set()
            for each in mine:
                keys.update(self.table.columns[column].keys[row] for row in each.admit(self.table, self.table.rows))
            merged.append(RowFilter(column, " or ".join(each.said for each in mine), frozenset(keys)))
        return merged

    def _is_titled(self, period: Period) -> bool:
        """Whether the table as a whole is of the period, by its name."""
        first = period.first
        if first is None or first != period.last:
            return False
        if first.year is not None and first.year not in self.vocabulary.years:
            return False
        if first.month is not None and first.month not in self.vocabulary.months:
            return False
        is_titled = first.year is not None or first.month is not None
        has_date = any(column.kind == "date" for column in self.table.columns)
        self.found.score += 2.0 * (is_titled and not has_date)
        return is_titled and not has_date

    def _of_period(self, period: Period) -> list[RowFilter]:
        """What a period may be compared with: a column of dates, of years or of names of months, or a header."""
        if self._is_column(period):
            return []
        dates = self._date_columns()
        options = [each for at in dates for each in self._dated(period, at)]
        options = options or [*self._by_year(period), *self._by_name(period)]
        if not options:
            raise RefusedPlanError("no_period")
        return options

    def _date_columns(self) -> list[int]:
        dates = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        named = [each.column for each in self.found.named if each.column in dates]
        plain = [
            at
            for at in dates
            if any(each.endswith(("dat", "date", "datum", "tag", "day")) for each in self.vocabulary.headers[at])
        ]
        return named or (plain if len(plain) == 1 else dates)

    def _dated(self, period: Period, at: int) -> list[RowFilter]:
        column = self.table.columns[at]
        earliest, latest = column.ends
        if latest < earliest:
            return []
        years = range(date.fromordinal(earliest // DAY_S + 1).year, date.fromordinal(latest // DAY_S + 1).year + 1)
        stated = {each.year for each in (period.first, period.last) if each is not None}
        found = []
        for year in years if None in stated and len(years) < 60 else years[:1]:
            low = days_between(*period.first.days(year))[0] if period.first else None
            high = days_between(*period.last.days(year))[1] if period.last else None
            if (low is not None and low > latest) or (high is not None and high < earliest):
                continue
            first_key, last_key = earliest if low is None else low, latest if high is None else high
            is_there = any(first_key <= key <= last_key for key in column.keys)
            if is_there or None not in stated:
                ends = (
                    f" from {date.fromordinal(low // DAY_S + 1)}" if low is not None else "",
                    f" to {date.fromordinal(high // DAY_S + 1)}" if high is not None else "",
                )
                found.append(RowFilter(at, f"{column.name}{''.join(ends)}", None, low, high))
        return found

    def _by_year(self, period: Period) -> list[RowFilter]:
        first, last = period.first, period.last
        found = []
        for at, column in enumerate(self.table.columns):
            named = {"year", "jahr", "season", "yr"} & set(self.vocabulary.headers[at])
            if not (named or is_year(column)) or any(
                moment and (moment.month or not moment.year) for moment in (first, last)
            ):
                continue
            if column.kind == "number" and column.scale == 0:
                low, high = first.year if first else None, last.year if last else None
                present = {key for key in column.keys if key != column.missing}
                if any((low is None or key >= low) and (high is None or key <= high) for key in present):
                    found.append(RowFilter(at, f"{column.name} from {low or '…'} to {high or '…'}", None, low, high))
            elif (
                column.kind == "text"
                and first is not None
                and first == last
                and str(first.year) in column.codes(self.asked.root)
            ):
                found.append(self._equal(period.start, at, column.codes(self.asked.root)[str(first.year)]))
        return found

    def _by_name(self, period: Period) -> list[RowFilter]:
        """Cells that name a month or a quarter."""
        first = period.first
        if first is None or first != period.last or first.month is None or first.day is not None:
            return []
        found = []
        for at, column in enumerate(self.table.columns):
            if column.kind == "text":
                codes = [code for code, text in enumerate(column.texts[:1_000]) if _means(text, first)]
                if codes:
                    found.append(self._equal(period.start, at, codes))
        return found

    def _is_column(self, period: Period) -> bool:
        """Whether a header names the period: then its column is what is asked for."""
        first = period.first
        if first is None or first != period.last:
            return False
        is_ours = first.year is None or first.month is None or first.year in self.vocabulary.years
        columns = [
            at
            for at, column in enumerate(self.table.columns)
            if column.kind in NUMBERS and is_ours and _means(column.name, first, is_header=True)
        ]
        if columns:
            self._name(columns, period.start, period.end, 3.0)
        return bool(columns)


def _whole(end: Decimal | None, *, up: bool, strict: bool) -> int | None:
    """The first key within a bound.

    >>> _whole(Decimal("7.5"), up=True, strict=True), _whole(Decimal(8), up=True, strict=True)
    (8, 9)
    """
    if end is None:
        return None
    whole = int(end.to_integral_value("ROUND_CEILING" if up else "ROUND_FLOOR"))
    return whole + (1 if up else -1) if strict and whole == end else whole


def _means(text: str, moment: Moment, *, is_header: bool = False) -> bool:
    """Whether a cell or header is the name of a month, a quarter or a year, alone or with its year.

    >>> _means("Aug", Moment(None, 8)), _means("Aug 2025", Moment(2026, 8)), _means("2026", Moment(2026))
    (True, False, True)
    """
    said = words(text)
    years = {int(word) for word in said if re.fullmatch(r"(?:1[5-9]|20|21)\d\d", word)}
    months = {MONTH_NUMBERS[word] for word in said if word in MONTH_NUMBERS}
    if moment.months == 3:
        fits = f"q{((moment.month or 1) + 2) // 3}" in said
    else:
        fits = months == ({moment.month} if moment.month else set()) and (bool(months) or bool(years))
    allowed = 2 + is_header
    return (
        fits
        and moment.day is None
        and len(said) <= allowed
        and (not years or moment.year is None or years == {moment.year})
    )
