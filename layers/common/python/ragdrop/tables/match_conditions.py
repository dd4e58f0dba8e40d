"""Find what a question compares in a table: equal numbers, empty cells, bounds, days of the week and periods."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal

from groundcheck.facts import NUMBER_WORDS
from groundcheck.sentences import words
from ragdrop.tables.asked import Bound, Moment, Period
from ragdrop.tables.cell_values import DAY_S, MONTH_NUMBERS, unit_factor, unit_name
from ragdrop.tables.match_words import WHICH, WordMatcher
from ragdrop.tables.plans import WEEKDAYS, RefusedPlanError, RowFilter, days_between
from ragdrop.tables.table_words import NUMBERS, is_year
from ragdrop.tables.vocabulary import (
    CLOSED,
    CONCEPTS,
    FILLERS,
    MEASURED_VERBS,
    OPEN_WORDS,
    PARTS,
    TAKES,
    WEEKDAY_WORDS,
    number_of,
)

_COUNTS = {word: Decimal(number) for word, number in NUMBER_WORDS.items() if 1 < number < 100}
_ORDINALS = "second third fourth fifth sixth seventh eighth ninth tenth"
ORDINALS = {word: rank for rank, word in enumerate(_ORDINALS.split(), start=2)}
_STILL = frozenset({"got", "have", "has", "out", "missing", "da", "weg"})
_MISSING = frozenset({"missing", "blank", "unknown", "fehlt", "fehlen", "leer", "unbekannt"})
_NOTED = frozenset({"note", "noted", "recorded", "known", "entered", "eingetragen", "notiert", "bekannt"})
_NEAR = 3  # words between a negation and what it is of
_SOLD_OUT = re.compile(r"(?<!\S)(?:sold out|out of stock|ausverkauft|vergriffen)(?!\S)")


class ConditionMatcher(WordMatcher):
    """Finds the conditions of one question in one table."""

    def _equalities(self) -> None:
        """A number right behind the header of numbers, or `no` before it: `a stock of 0`, `bib 240`, `no rain`."""
        for named in list(self.found.named):
            column = self.table.columns[named.column]
            if column.kind not in NUMBERS:
                continue
            number, place = self._number_behind(named.end)
            if number is None and self._is_measured(named.start, named.column):
                number, place = number_of(self.asked.words[named.start - 2]), named.start
                self.found.used.update((named.start - 2, named.start - 1))
            if number is None and named.start and self._free(named.start - 1, named.start):
                word, place = self.asked.words[named.start - 1], named.start  # `5 stars`, `two rooms`
                number = None if column.unit else number_of(word)
                number = _COUNTS.get(word) if number is None else number
                self.found.used.update({named.start - 1} if number is not None else ())
            before = " ".join(self.asked.words[max(named.start - 2, 0) : named.start])
            if number is None and re.search(r"(?:^| )(?:no|kein|keine|keinen|out of)$", before):
                number, place = Decimal(0), named.start
            if number is None:
                continue
            unit = unit_name(self.asked.words[place + 1]) if place + 1 < len(self.asked.words) else ""
            is_ours = bool(unit) and self.vocabulary.has_unit(named.column, unit)
            self.found.used.update(range(named.end, place + 1 + is_ours))
            condition = self._bounded(Bound(number, number, named.start, named.end), named.column)
            if not number and place == named.start and column.missing in column.keys:  # no costs: nothing is there
                condition = RowFilter(named.column, f"{column.name} is empty or 0", frozenset({0, column.missing}))
            self.found.filters.append((named.start, [condition]))
            self.found.named.remove(named)

    def _ordinals(self) -> None:
        """Who came second, by the one column of ranks."""
        ranks = self.vocabulary.of_concept("rank")
        for at, word in enumerate(self.asked.words if len(ranks) == 1 else ()):
            if word in ORDINALS and self._free(at, at + 1):
                bound = Bound(Decimal(ORDINALS[word]), Decimal(ORDINALS[word]), at, at + 1)
                self._add(at, at + 1, [self._bounded(bound, ranks[0])], 2.0)

    def _is_measured(self, at: int, column: int) -> bool:
        """Whether a number and the column's unit stand before its header: `5 mm needles`."""
        said = self.asked.words[at - 2 : at] if at > 1 else []
        unit = unit_name(said[1]) if said and self._free(at - 2, at) else ""
        return bool(unit) and number_of(said[0]) is not None and self.vocabulary.has_unit(column, unit)

    def _empties(self) -> None:
        """Columns of dates that `not` stands before: bugs that are not closed have an empty cell there."""
        for named in list(self.found.named):
            column = self.table.columns[named.column]
            before = self.asked.words[named.start - 1] if named.start and column.kind == "text" else ""
            is_without = before in {"no", "without", "kein", "ohne"}
            if before == "still" or (is_without and column.missing not in column.keys):
                raise RefusedPlanError("no_value")
            if is_without or (column.kind == "date" and self._is_negated(named.start)):
                said = RowFilter(named.column, f"{column.name} is empty", frozenset({column.missing}))
                self.found.filters.append((named.start, [said]))
                self.found.named.remove(named)
        self._missing()
        self._still()

    def _missing(self) -> None:
        """The rows in which nothing stands in the column that is named last: `the number of guests is missing`."""
        words, negated = self.asked.words, self.asked.negated
        said = [
            at
            for at, word in enumerate(words)
            if word in _MISSING or (word in _NOTED and any(0 < at - place <= _NEAR for place in negated))
        ]
        if any(" is empty" in each.said for _, options in self.found.filters for each in options):
            self.found.used.update(said)  # no costs noted
        if not said or not self._free(said[0], said[0] + 1) or not self.found.named:
            return
        near = min(self.found.named, key=lambda each: abs(each.start - said[0]))
        column = self.table.columns[near.column]
        if column.missing not in column.keys:
            raise RefusedPlanError("no_value")
        condition = RowFilter(near.column, f"{column.name} is empty", frozenset({column.missing}))
        self.found.named.remove(near)
        self._add(said[0], said[0] + 1, [condition], 2.0)

    def _still(self) -> None:
        """What `has Anna still got`: the one column of dates with empty cells has none."""
        words = self.asked.words
        at = next((at for at, word in enumerate(words[:-1], start=1) if word in {"still", "noch"}), 0)
        if not at or not self._free(at, at + 1) or words[at] not in _STILL:
            return
        if self.asked.fold == "count" and self.vocabulary.stocks():
            return  # how many there are
        columns = [each for each in range(len(self.table.columns)) if self._may_be_empty(each)]
        columns = [each for each in columns if self.table.columns[each].kind == "date"]
        if len(columns) != 1:
            raise RefusedPlanError("no_column")
        column = self.table.columns[columns[0]]
        self._add(at, at + 1, [RowFilter(columns[0], f"{column.name} is empty", frozenset({column.missing}))], 2.0)

    def _open(self) -> None:
        """What was not paid, done or returned yet, by the one column that says so: `open`, `unpaid`."""
        closed = [at for at, header in enumerate(self.vocabulary.headers) if not CLOSED.isdisjoint(header)]
        for at, word in enumerate(self.asked.words):
            mine = (
                self.vocabulary.with_word(self.asked.root(word[2:])) if word.startswith("un") and len(word) > 5 else []
            )
            columns = [each for each in (closed if word in OPEN_WORDS else mine) if self._may_be_empty(each)]
            values = dict(self._codes(self.asked.root(word[2:]))) if word.startswith("un") and not columns else {}
            if len(values) == 1 and self._free(at, at + 1):
                [(column_at, codes)] = values.items()
                condition = self._equal(at, column_at, codes)
                said = condition.said.replace(" is ", " is not ", 1)
                self._add(at, at + 1, [replace(condition, said=said, negated=not condition.negated)], 2.0)
            if len(columns) != 1 or not self._free(at, at + 1):
                continue
            column, condition = self.table.columns[columns[0]], self._yes_or_no(columns[0], no=True)
            if column.kind == "date":
                condition = RowFilter(columns[0], f"{column.name} is empty", frozenset({column.missing}))
            self._add(at, at + 1, [condition], 2.0)

    def _may_be_empty(self, at: int) -> bool:
        column = self.table.columns[at]
        return column.kind == "boolean" or (column.kind == "date" and column.missing in column.keys)

    def _sold_out(self) -> None:
        """What there is none of, by the one column of quantities."""
        found = _SOLD_OUT.search(" ".join(self.asked.words))
        columns = self.vocabulary.of_concept("quantity") if found else []
        if found and len(columns) == 1:
            at = " ".join(self.asked.words)[: found.start()].count(" ")
            bound = Bound(Decimal(0), Decimal(0), at, at + found[0].count(" ") + 1)
            self._add(at, bound.end, [self._bounded(bound, columns[0])], 2.0)

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
        which = [at + 1 for at, word in enumerate(asked.words) if word in WHICH and asked.superlative is not None]
        for at in which if asked.group_at is None else [asked.group_at]:
            part = PARTS.get(asked.words[at]) if at < len(asked.words) and self._free(at, at + 1) else None
            if part is None or (part == "day" and asked.group_at is None):
                continue
            dates = self._date_columns()
            if not part or len(dates) != 1:
                raise RefusedPlanError("no_column")
            self.part = dates[0], part  # type: ignore[assignment]
            self.found.used.add(at)
            self.found.score += 1.0

    def _bounds(self) -> None:
        for bound in self.asked.bounds:
            options = [self._bounded(bound, column) for column in self._bound_columns(bound)]
            if not options:
                raise RefusedPlanError("unit" if bound.unit else "no_column")
            before = self.asked.stems[bound.start - 1] if bound.start else ""
            is_value = any(at == bound.start - 1 for at, _ in self.found.filters)
            if is_value and any(before == stem for each in options for stem in self.vocabulary.headers[each.column]):
                raise RefusedPlanError("ambiguous")  # `delayed more than 30 minutes`: its status, or its delay
            self.found.filters.append((bound.start, options))
            self.found.score += 2.0

    def _bound_columns(self, bound: Bound) -> list[int]:
        """The columns that a bound may be about: by unit, by a header right behind or before it, by its adjective."""
        numeric = sorted(self.vocabulary.numeric)
        if bound.unit:
            numeric = [at for at in numeric if unit_factor(bound.unit, self.table.columns[at].own_unit) is not None]
            same = [at for at in numeric if self.table.columns[at].unit == bound.unit]
            numeric = same or numeric
        named = [each for each in self.found.named if each.column in numeric]
        behind = [each for each in named if 0 <= each.start - bound.end <= 1]
        sized = [each for each in behind if not bound.unit and self._is_sized(each)]
        if sized:  # `more than 40 packs in stock`
            named = [each for each in named if each not in sized]
            self.found.named = [each for each in self.found.named if each not in sized]
            self.found.needs = [needed for needed in self.found.needs if needed.isdisjoint({sized[0].column})]
            behind = [each for each in named if 0 <= each.start - sized[-1].end <= 1]
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
        unit = column.unit if bound.unit == "lb" else bound.unit
        return RowFilter(at, f"{shown} {unit}".strip(), None, first, last)

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
        has_date = any(self._is_within(at, first) for at, each in enumerate(self.table.columns) if each.kind == "date")
        self.found.score += 2.0 * (is_titled and not has_date)
        return is_titled and not has_date

    def _is_within(self, at: int, moment: Moment) -> bool:
        """Whether half of the dates of a column are of the period that the table's name states."""
        keys = [*map(self.table.columns[at].keys.__getitem__, self.table.rows[:1_000])]
        year = moment.year or min(self.vocabulary.years, default=0)
        if not year:
            return True
        low, high = days_between(*replace(moment, day=None).days(year))
        return bool(2 * sum(low <= key <= high for key in keys) >= len(keys))

    def _of_period(self, period: Period) -> list[RowFilter]:
        """What a period may be compared with: a column of dates, of years or of names of months, or a header."""
        if self._is_column(period):
            return []
        dates = self._date_columns()
        options = [each for at in dates for each in self._dated(period, at)]
        is_named = any(each.column in dates for each in self.found.named)  # `bought in 2019` is not when it was made
        options = options or ([] if is_named else [*self._by_year(period), *self._by_name(period)])
        if not options:
            raise RefusedPlanError("no_period")
        return options

    def _date_columns(self) -> list[int]:
        dates = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        named = [each.column for each in self.found.named if each.column in dates]
        if not CONCEPTS["returned"].isdisjoint(self.asked.stems):
            named = named or [at for at in self.vocabulary.of_concept("returned") if at in dates]
        plain = [
            at
            for at in dates
            if any(each.endswith(("dat", "date", "datum", "tag", "day")) for each in self.vocabulary.headers[at])
        ]
        return named or (plain if len(plain) == 1 else self._begun(dates))

    def _begun(self, dates: list[int]) -> list[int]:
        """Of dates of which the first is in every row and never after the others the first: when rows began."""
        columns, rows = self.table.columns, self.table.rows[:1_000]
        first = columns[dates[0]] if len(dates) > 1 else None
        if first is None or first.missing in map(first.keys.__getitem__, rows):
            return dates
        later = all(
            first.keys[row] <= columns[at].keys[row] or columns[at].keys[row] == columns[at].missing
            for at in dates[1:]
            for row in rows
        )
        return dates[:1] if later else dates

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

    def _is_small(self, at: int) -> bool:
        """Whether a word needs no place in a plan."""
        word = self.asked.words[at]
        if word in {"more", "less", "fewer", "mehr", "weniger"} and at not in self.found.used:
            return "than" in self.asked.words or "als" in self.asked.words  # `which got more` is of two
        is_number = any(self.table.columns[each.column].kind in NUMBERS for each in self.found.named)
        if word in MEASURED_VERBS and (is_number or self.asked.superlative is not None):
            return True
        each, found = self.asked.stems[at], self.found
        if (
            at in found.used
            or self._is_filler(at)
            or (len(word) < 2 and not word.isdigit() and at not in self.asked.upper)
            or each in self._nouns()
        ):
            return not (word.endswith("ed") and self.asked.wants == "when" and at not in found.used)
        if self._names_documents(at):
            return True
        is_sure = bool(found.named or found.filters or self.asked.periods)
        is_quantity = each in CONCEPTS["quantity"] and self.vocabulary.is_cross
        return is_sure and (is_quantity or each in TAKES)

    def _names_documents(self, at: int) -> bool:
        """Whether a word is what the documents of a vault are, of which something but their title is asked."""
        asked, columns = self.asked, self.table.columns
        stated = {each.column for _, options in self.found.filters for each in options}
        stated = {
            each for each in stated if columns[each].kind == "text" and columns[each].name not in {"title", "path"}
        }
        first = at  # of `which history books` the adjective
        while first and first - 1 in self.found.used - asked.used:
            first -= 1
        is_noun = at == asked.fold_end > 0 or asked.words[max(first - 1, 0)] in {
            *WHICH,
            "aller",
            "allen",
            "alle",
            "all",
        }
        return not self.table.path and is_noun and bool(stated)


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
