"""Match a question to one table: what its words are there, then the plans that they can mean."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragdrop.tables.asked import Asked
from ragdrop.tables.cell_values import DAY_S, unit_name
from ragdrop.tables.match_extremes import FOLDS, ExtremeMatcher
from ragdrop.tables.match_words import NamedColumn
from ragdrop.tables.plans import Operation, Part, Plan, Refusal, RefusedPlanError, RowFilter
from ragdrop.tables.reading_evidence import REFUSES, plan_signs, word_kind
from ragdrop.tables.table_words import NOT_SUMMED, NUMBERS, has_repeats, is_additive, is_year
from ragdrop.tables.typed import TypedTable
from ragdrop.tables.vocabulary import AUXILIARIES, BEING, FARES, PRICES

LISTS = frozenset({"and", "or", "und", "oder", "plus", "both", "between", "zwischen", "versus", "vs", "nor", "to"})
_EVERYTHING = frozenset({"everything", "alles", "allem"})  # is no number of rows
_WHOLE = frozenset({"total", "altogether", "insgesamt", "gesamt"})
_IN_PRESENT = frozenset({"does", "costs", "kostet"})  # what one costs: nobody asks for the sum of all
_NEVER = frozenset({"never", "nie", "niemals"})
CLOCK = re.compile(r"\b(?:what time|wie viel uhr|uhrzeit)\b")
MAX_COMBINED = 64  # ways to read its conditions
LEFT = 2.0  # what a word that has no place takes from a score
MAX_PLANS = 24  # that one question may mean in one table


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan that a question may mean, how much of it the plan rests on, signs of how sure it is, and what is left."""

    plan: Plan
    score: float
    signs: Mapping[str, float]
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why no plan over a table answers, how much of the question was found in it, and how many words were not."""

    reason: Refusal
    score: float
    unknown: int = 0


def match_table(asked: Asked, table: TypedTable) -> list[PlanCandidate] | Mismatch:
    """The plans over *table* that *asked* may mean, those with the highest score alone; or why there is none."""
    reader = _Matcher(asked, table)
    try:
        return reader.candidates()
    except RefusedPlanError as exc:
        return Mismatch(exc.reason, reader.found.score, reader.unknown)


def fixed_conditions(asked: Asked, table: TypedTable) -> tuple[list[list[RowFilter]], list[str]]:
    """What any plan for *asked* over *table* must have: one of each of these conditions, and a place for these words.

    The conditions are the periods and bounds of the question, the words those that the table does not know.
    Raises RefusedPlanError: a period or unit is not there.
    """
    reader = _Matcher(asked, table)
    words = reader.unknown_words()
    before = len(reader.found.filters)
    reader.conditions()
    return [options for _, options in reader.found.filters[before:] if options], words


class _Matcher(ExtremeMatcher):
    """Makes the plans that one question may mean in one table."""

    unknown = 0  # words that have no place in the table

    def candidates(self) -> list[PlanCandidate]:
        """The plans that the question may mean; raises RefusedPlanError: there is none."""
        found = self.found
        rest = self._unknown()
        named = list(found.named)
        self._bounds()
        self.unknown = sum(at not in found.used for at in rest)
        left = [at for at in rest if at not in found.used]
        if any(word_kind(self.asked, at) in REFUSES and not self._is_ours(at) for at in left):
            raise RefusedPlanError("no_value" if found.named or found.filters else "no_column")
        self._periods()
        is_superlative = bool(found.measures) and self.asked.superlative is not None
        if not (found.named or found.filters or found.score >= 2 or is_superlative):
            raise RefusedPlanError("no_column")
        plans = list(itertools.islice((plan for plan in self._plans() if self._uses_all(plan)), MAX_PLANS))
        if not plans:
            raise RefusedPlanError("no_column")
        meant = found.measures | {at for name in self.asked.concepts for at in self.vocabulary.of_concept(name)}
        score = found.score - LEFT * len(left)
        return [
            PlanCandidate(
                plan, score, plan_signs(self.asked, self.table, plan, left, named, found.used, meant), len(left)
            )
            for plan in dict.fromkeys(plans)
        ]

    def _unknown(self) -> list[int]:
        """Find the words in the table; those that have no place in it."""
        self._values()
        self._headers()
        self._parts()
        self._weekdays()
        self._open()
        self._sold_out()
        self._directions()
        self._concepts()
        self._titles()
        self._equalities()
        self._ordinals()
        self._empties()
        self._parts_of_values()
        self._meanings()
        return [at for at in range(len(self.asked.words)) if not self._is_small(at)]

    def unknown_words(self) -> list[str]:
        """The words that have no place in the table, but for verbs and small words."""
        free = ("verb", "small")
        return [self.asked.words[at] for at in self._unknown() if not word_kind(self.asked, at).startswith(free)]

    def conditions(self) -> None:
        """Find the columns of bounds and periods; raises RefusedPlanError: there are none."""
        self._bounds()
        self._periods()

    def _uses_all(self, plan: Plan) -> bool:
        """Whether a plan uses every column that the question names, but for what names the rows."""
        read = {plan.column, plan.minus_column, plan.group, plan.order}
        read |= {each.column for each in (*plan.filters, *(plan.minus or ()))}
        label = {self.table.label, self._first_text()}
        dates = {at for at, column in enumerate(self.table.columns) if column.kind == "date"}
        names = {
            at for at, each in enumerate(self.table.columns) if each.kind == "text" and not has_repeats(self.table, at)
        }
        behind = {
            each.column
            for each in self.found.named
            if plan.operation == "count"
            and each.start == self.asked.fold_end
            and self.table.columns[each.column].kind == "text"
        }
        verbs = {each.column for each in self.found.named if self._says_what_rows_do(each)}
        is_list = plan.operation == "list" and self.asked.wants in {"which", "who"} and plan.column in label
        is_list |= self.asked.words[0] == "what" and not AUXILIARIES.isdisjoint(self.asked.words[1:2])
        free = (
            label
            | names
            | behind
            | verbs
            | self.vocabulary.numbered
            | (dates if plan.operation == "count" or is_list else set())
        )
        one = {each.column for each in plan.filters if each.keys and len(each.keys) == 1 and not each.negated}
        if plan.group in one:
            return False  # the largest of one
        is_ordered = plan.order is not None or plan.group is not None or plan.operation == "list"
        if self.asked.first is not None and not (plan.first == self.asked.first and is_ordered):
            return False
        return all(not needed.isdisjoint(read | free) for needed in self.found.needs)

    def _says_what_rows_do(self, named: NamedColumn) -> bool:
        """Whether a header is named by a verb that it is made of: of `were treated` the column `Treatment`."""
        word, before = self.asked.words[named.end - 1], self.asked.words[: named.start]
        is_said = word.removesuffix("s") in {each.removesuffix("s") for each in self.vocabulary.spoken[named.column]}
        is_verb = word.endswith("ed") or (named.end == len(self.asked.words) and "did" in before)
        is_agent = self.vocabulary.spoken[named.column][-1:] == ["by"]  # of `were handed in` the column `Handed in by`
        return (is_agent or not is_said) and is_verb and self.asked.fold == "count" and bool(self.found.filters)

    def _plans(self) -> Iterator[Plan]:
        filters = [options for _, options in sorted(self.found.filters, key=lambda each: each[0]) if options]
        named = {each.column for each in self.found.named}
        filters = [[each for each in options if each.column in named] or options for options in filters]
        filters += self._booleans() + self._filled()
        combined = list(itertools.islice(itertools.product(*self._without_glossed(filters)), MAX_COMBINED))
        apart = max((len({each.column for each in chosen}) for chosen in combined), default=0)
        for chosen in combined:
            if len({each.column for each in chosen}) < apart:
                continue  # of two teams one is at home, the other its guest
            if self.is_net:
                yield from self._net(chosen)
            elif self.asked.difference or self._is_between(chosen):
                yield from self._differences(chosen)
            else:
                yield from self._of_filters(_joined(chosen, are_listed=not LISTS.isdisjoint(self.asked.words)))

    def _without_glossed(self, filters: list[list[RowFilter]]) -> list[list[RowFilter]]:
        """Conditions but for those that words in brackets say again: `did not finish (DNF)`."""
        glossed = {
            each.column for start, options in self.found.filters for each in options if start in self.asked.glossed
        }
        said = [each for start, options in self.found.filters for each in options if start in self.asked.glossed]
        others = [[each for each in options if each.column not in glossed or each in said] for options in filters]
        return [options for options in others if options]

    def _is_between(self, chosen: Sequence[RowFilter]) -> bool:
        """Whether `between` stands before two values of one column."""
        at = next((at for at, word in enumerate(self.asked.words) if word in {"between", "zwischen"}), None)
        columns = [each.column for each in chosen if each.keys is not None]
        return at is not None and at not in self.asked.used and len(columns) > len(set(columns))

    def _net(self, chosen: Sequence[RowFilter]) -> Iterator[Plan]:
        """What is left of what came in, by the two columns of it; which rows have most of that no plan says."""
        if self.asked.superlative is not None or self.asked.group_at is not None or self.asked.bounds:
            raise RefusedPlanError("ambiguous")
        filters = _joined(chosen, are_listed=not LISTS.isdisjoint(self.asked.words))
        came, went = self.vocabulary.money("in"), self.vocabulary.money("out")
        yield Plan("sum", filters, came[0], minus=filters, minus_column=went[0])

    def _differences(self, chosen: Sequence[RowFilter]) -> Iterator[Plan]:
        pairs = [
            ((one,), (other,))
            for one, other in itertools.combinations(chosen, 2)
            if one.column == other.column and one != other
        ]
        numbers = list(
            dict.fromkeys(each.column for each in self.found.named if each.column in self.vocabulary.numeric)
        )
        sides = self._sides(chosen) if len(pairs) > 1 else None
        if not pairs and len(numbers) == 2:
            yield Plan("sum", tuple(chosen), numbers[0], minus=tuple(chosen), minus_column=numbers[1])
        if len(pairs) != 1 and sides is None:
            return
        one, other = sides or pairs[0]
        rest = tuple(each for each in chosen if each not in (*one, *other))
        counted = self.asked.fold == "count" and not self._has_measure()
        fold: Operation = "count" if counted else self.asked.fold if self.asked.fold in FOLDS else "sum"  # type: ignore[assignment]
        for column in self._measures() if fold != "count" else [None]:
            if column is not None and not FARES.isdisjoint({*self.vocabulary.headers[column]} - PRICES):
                raise RefusedPlanError("ambiguous")  # of one ride, of which there are several
            yield Plan(fold, (*rest, *one), column, minus=(*rest, *other))

    def _of_filters(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        asked = self.asked
        group = self._group()
        if group is not None:
            yield from self._grouped(filters, *group)
        elif asked.fold != "mean" and asked.superlative is None and self._is_each():
            raise RefusedPlanError("ambiguous")
        elif asked.fold == "share":
            yield from self._shares(filters)
        elif asked.superlative is not None:
            yield from self._extremes(filters)
        elif asked.fold in {"count", "distinct"}:
            yield from self._counts(filters)
        elif asked.fold in FOLDS and self._folds_a_text():
            raise RefusedPlanError("no_value")
        elif asked.fold in FOLDS:
            yield from (Plan(asked.fold, filters, column) for column in self._measures())  # type: ignore[arg-type]
        elif asked.wants == "how much" and self._is_of_things():
            raise RefusedPlanError("no_column")
        elif asked.wants == "how much" or (asked.wants == "what" and self._pays(filters)):
            yield from (self._amount(filters, column) for column in self._measures())
        else:
            yield from self._lists(filters)

    def _shares(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        """How many percent of the rows are what is said behind the verb; or of one column's sum another's is."""
        asked = self.asked
        numbers = [each for each in self.found.named if each.column in self.vocabulary.numeric]
        needs = [needed for needed in self.found.needs if needed <= self.vocabulary.numeric]
        both = frozenset[int]().union(*needs[:1]).intersection(*needs)  # `the real costs of 2024`: one column
        numbers = [each for each in numbers if each.column in both] or numbers
        numbers = sorted({each.column: each for each in numbers}.values(), key=lambda each: each.start)
        if len(numbers) == 2:
            yield Plan("share", filters, numbers[1].column, minus=filters, minus_column=numbers[0].column)
            return
        verb = next((at for at, word in enumerate(asked.words) if at >= asked.fold_end and word in BEING), 0)
        before = {each for start, options in self.found.filters for each in options if start < verb}
        whole = tuple(each for each in filters if each in before)
        if len(whole) == len(filters):
            return
        if numbers:
            yield Plan("share", filters, numbers[0].column, minus=whole)
        elif _EVERYTHING.isdisjoint(asked.words):
            yield Plan("share", filters, minus=whole)

    def _amount(self, filters: tuple[RowFilter, ...], at: int) -> Plan:
        """How much there is of a column in the rows: a sum, or the one value of what does not add up."""
        parts = [each.keys or () for each in filters if each.column == self.table.label and " has " in each.said]
        is_price = not PRICES.isdisjoint(self.vocabulary.headers[at])
        if is_price and any(len(keys) > 1 for keys in parts):
            raise RefusedPlanError("ambiguous")  # which of the things with this word
        is_each = not (FARES.isdisjoint(self.vocabulary.headers[at]) or _IN_PRESENT.isdisjoint(self.asked.words))
        return Plan("list" if is_each or self.table.columns[at].unit in NOT_SUMMED else "sum", filters, at)

    def _group(self) -> tuple[int, Part] | None:
        at = self.asked.group_at
        if at is None:
            return None
        named = [each.column for each in self.found.named if at <= each.start <= at + 1]
        if self.part is not None:
            return self.part
        if any(each.start < at < each.end for each in self.found.named):
            return None  # `price per litre` is a header
        columns = self.table.columns
        groups = [at for at in named if columns[at].kind not in NUMBERS or is_year(columns[at])]
        if groups and columns[groups[0]].distinct == len(self.table.rows) and self.asked.fold in FOLDS:
            return None  # each row is a group
        return (groups[0], "") if groups else None

    def _grouped(self, filters: tuple[RowFilter, ...], group: int, by: Part) -> Iterator[Plan]:
        asked = self.asked
        filters = tuple(each for each in filters if each.column != group or not each.said.startswith("has"))
        if by and asked.fold in {"mean", "median"}:
            raise RefusedPlanError("ambiguous")  # of all rows of a month, or of the months' sums
        counted = asked.fold == "count" and not any(each != group for each in self._counted())
        operation: Operation = "count" if counted else asked.fold if asked.fold in FOLDS else "sum"  # type: ignore[assignment]
        for column in [None] if counted else self._measures(but=group):
            yield Plan(operation, filters, column, group=group, by=by)

    def _counted(self) -> list[int]:
        """The columns of numbers right behind `how many`."""
        columns = self.table.columns
        behind = [each for each in self.found.named if 0 <= each.start - self.asked.fold_end <= 1]
        near = [each.column for each in behind if not self._is_sized(each)]
        near += [] if self.counted is None else [self.counted]
        found = [at for at in near if at in self.vocabulary.numeric and not is_year(columns[at])]
        if any(columns[at].kind == "amount" for at in found):
            raise RefusedPlanError("ambiguous")  # how many fines, or how much they are
        end = self.asked.fold_end
        unit = unit_name(self.asked.words[end]) if end < len(self.asked.words) else ""
        others = [each.column for each in self.found.named if each.column in self.vocabulary.numeric]
        return found or [at for at in others if unit and self.vocabulary.has_unit(at, unit)]

    def _counts(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        """How many: of a numeric header its sum, of what names the rows the rows, of another text its values."""
        behind = [each for each in self.found.named if 0 <= each.start - self.asked.fold_end <= 1]
        filtered = {each.column for each in filters}
        numeric = [at for at in self._counted() if at not in filtered]
        stocked = {each.column for each in self.found.named} & set(self.vocabulary.of_concept("quantity"))
        numeric = numeric or sorted(stocked - filtered)
        if not numeric and any(start == self.asked.fold_end for start, _ in self.found.filters):
            numeric = self._how_many_of(filtered)
        numeric = numeric or [at for at in self._done() if at not in filtered]
        if behind and not _WHOLE.isdisjoint(self.asked.words):
            numeric = numeric or [at for at in self.vocabulary.stocks() if at not in filtered]
        texts = [each.column for each in behind if self.table.columns[each.column].kind in {"text", "date"}]
        end = self.asked.fold_end
        if not numeric and end < len(self.asked.words) and unit_name(self.asked.words[end]) not in {"", "a", "day"}:
            raise RefusedPlanError("unit")  # hours are not rows
        if self.asked.fold == "distinct":
            yield from (Plan("distinct", filters, column) for column in texts[:1] if column not in filtered)
        elif numeric:
            yield from (Plan("sum", filters, column) for column in numeric)
        else:
            weak = {each.column for each in behind if each.weight <= 1} if self.asked.fold == "count" else set()
            others = [at for at in texts if at not in filtered and at not in weak]
            others = [at for at in others if self.table.columns[at].distinct < len(self.table.rows)]
            names = {self.table.label, self._first_text()}
            if self.table.row_name not in names and self.table.columns[self.table.row_name or 0].kind != "date":
                names = set()
            others = [
                at for at in others if at not in names or (has_repeats(self.table, at) and not self._is_titled_by(at))
            ]
            if any(each.column == self.table.label and each.keys and not each.negated for each in filters):
                label = self.table.columns[self.table.label or 0]
                if label.distinct >= len(self.table.rows):
                    raise RefusedPlanError("no_column")  # one thing is not counted: what it has so many of is
            self._refuse_other_than_rows()
            if not others or any(at in names or self.table.columns[at].kind == "date" for at in others):
                yield Plan("count", filters)
            yield from (Plan("distinct", filters, column) for column in others[:1])

    def _how_many_of(self, filtered: set[int]) -> list[int]:
        """Of `how many rolls were sold on friday`, the numbers that are named, or of how much there is."""
        numeric = sorted(self.vocabulary.numeric - filtered)
        named = [each.column for each in self.found.named if each.column in numeric]
        counts = [at for at in self.found.measures if at in numeric and not self.table.columns[at].unit]
        return named or counts or [at for at in self.vocabulary.stocks() if at in numeric]

    def _is_titled_by(self, at: int) -> bool:
        """Whether the table's name has a column's header: then its rows are what the header says."""
        is_person = at in self.vocabulary.of_concept("person") and has_repeats(self.table, at)
        return not is_person and any(map(self.vocabulary.titled, self.vocabulary.headers[at]))

    def _lists(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        """The first of the columns that may be meant whose list uses all that the question names."""
        asked, table = self.asked, self.table
        if not filters and asked.wants not in {"which", "list", "what", "who"}:
            raise RefusedPlanError("no_value")
        by_concept = any(self.vocabulary.of_concept(name) for name in asked.concepts)
        if asked.concepts and not by_concept and asked.wants == "what" and not self._has_measure():
            raise RefusedPlanError("no_column")
        if self._asks_clock():
            raise RefusedPlanError("no_column")
        if filters and self._names_events(filters):
            yield Plan("count", filters)
            return
        for options in self._shown_first({each.column for each in filters}):
            adds = not self._is_worded() and all(is_additive(table, column) for column in options)
            fold: Operation = "sum" if adds else "list"
            plans = [Plan(fold, filters, column, first=asked.first) for column in dict.fromkeys(options[:3])]
            plans = [plan for plan in plans if self._uses_all(plan)]
            if any(
                has_repeats(table, plan.column) for plan in plans if plan.column is not None
            ) and not _NEVER.isdisjoint(asked.words):
                raise RefusedPlanError("ambiguous")  # who never did it has no row where somebody did
            if plans:
                yield from plans
                return

    def _names_events(self, filters: Sequence[RowFilter]) -> bool:
        """Whether nothing but rows is named, and they have no name but a day: `sessions in december` are counted."""
        names = {each.column for each in self.found.named} - {each.column for each in filters}
        rows = self.table.row_name if self.table.row_name is not None else self.table.label
        is_many = self.asked.words[0].endswith(("s", "en")) and not (names or self._is_worded() or self._has_measure())
        return is_many and rows is not None and self.table.columns[rows].kind == "date"

    def _asks_clock(self) -> bool:
        """Whether a time of day is asked for, and no column has any."""
        text = " ".join(self.asked.words)
        dates = [column for column in self.table.columns if column.kind == "date"]
        has_clock = any(key % DAY_S for column in dates for key in column.keys[:100] if key != column.missing)
        has_clock |= any(column.kind == "duration" for column in self.table.columns)
        return CLOCK.search(text) is not None and not has_clock

    def _shown_first(self, filtered: set[int]) -> list[list[int]]:
        """The columns that a list may show, those that are likely to be meant first; none without any."""
        asked, table = self.asked, self.table
        named = [each.column for each in self.found.named]
        numeric = [at for at in named if at in self.vocabulary.numeric]
        requested = [at for at in self._requested() if at not in filtered]
        by_concept = self._by_concept()
        years = [at for at in numeric if is_year(table.columns[at])] if asked.wants == "when" else []
        measured = [at for at in self.found.measures if table.columns[at].kind in NUMBERS and at not in filtered]
        rows = [at for at in (table.row_name, table.label) if at is not None][:1]
        if asked.wants in {"who", "when", "where"} and not (
            by_concept or years or (requested and asked.wants == "who")
        ):
            raise RefusedPlanError("no_column")
        if asked.wants == "when":
            clocks = [at for at in numeric if table.columns[at].kind != "amount"]
            days = [at for at in self.found.measures if table.columns[at].kind == "date"]
            requested = [at for at in requested if table.columns[at].kind != "text"]
            said = [at for at in named if table.columns[at].kind == "date"]  # by a part of its header
            found = [clocks, requested, days, said, self._begun(by_concept)]
        elif asked.wants == "who":
            people = [at for at in by_concept if table.columns[at].kind == "text"]
            requested = [at for at in requested if self.vocabulary.are_names(at)]
            found = [requested, [at for at in people if at == table.label], people]
        elif asked.wants == "which":
            label = [at for at in (table.label,) if at is not None and at not in filtered]
            found = [requested, by_concept, [at for at in numeric if is_year(table.columns[at])], label, numeric, rows]
        elif asked.wants == "list":
            found = [requested, numeric, by_concept, rows]
        elif self._is_worded():
            does = asked.words[0] == "what" and not AUXILIARIES.isdisjoint(asked.words[1:2]) and bool(filtered)
            is_rows = (does or self._asks_what_rows()) and not filtered & {*rows, table.label}
            others = rows if is_rows else []
            if does:
                requested = [at for at in requested if table.columns[at].kind != "date"]  # of the verb
                others = others or [at for at in self.vocabulary.of_concept("thing") if at not in filtered][:1]
            found = [numeric, measured, requested, by_concept, others]
            if asked.words[:1] == ("what",) and asked.words[1] in BEING and filtered:
                found.append(self._readings(sorted(self.vocabulary.numeric)))
        else:
            amounts = [at for at, column in enumerate(table.columns) if column.kind == "amount" and at not in filtered]
            numeric = [at for at in numeric if at not in filtered]  # `wines under 20 pounds`
            is_rows = 0 in self.found.used and not any(start == 0 for start, _ in self.found.filters)
            found = [numeric, requested, measured, amounts if len(amounts) == 1 and not is_rows else [], rows]
        return [each for each in (years, *found) if each]


def _joined(chosen: Sequence[RowFilter], *, are_listed: bool) -> tuple[RowFilter, ...]:
    """Several values of one column as one condition: Anna or Ben; others stand side by side.

    Raises RefusedPlanError: they are not listed, so that no row can have both.
    """
    by_column: dict[int, RowFilter] = {}
    found: list[RowFilter] = []
    for each in chosen:
        before = by_column.get(each.column)
        if before is not None and each.keys and before.keys and not each.negated and not before.negated:
            common = each.keys & before.keys
            if not common and not are_listed:
                raise RefusedPlanError("no_value")
            merged = replace(
                before,
                said=f"{before.said} {'and' if common else 'or'} {each.said}",
                keys=common or each.keys | before.keys,
            )
            found[found.index(before)] = by_column[each.column] = merged
        else:
            by_column[each.column] = each
            found.append(each)
    return tuple(found)
