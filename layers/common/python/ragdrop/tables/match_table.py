"""Match a question to one table: what its words are there, then the plans that they can mean."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from groundcheck.sentences import STOP_WORDS
from ragdrop.tables.asked import Asked
from ragdrop.tables.cell_values import unit_name
from ragdrop.tables.match_conditions import ConditionMatcher
from ragdrop.tables.match_words import WHICH
from ragdrop.tables.plans import Operation, Part, Plan, Refusal, RefusedPlanError, RowFilter
from ragdrop.tables.table_words import NUMBERS, comes_and_goes, has_repeats, is_additive, is_year
from ragdrop.tables.typed import TypedTable
from ragdrop.tables.vocabulary import AUXILIARIES, BORN, PAYS, RANKED

_RANKS = frozenset({"year", "jahr", "number", "rank", "place", "pos", "position"})
_FOLDS = frozenset({"sum", "mean", "median"})
MAX_PLANS = 24  # that one question may mean in one table


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan that a question may mean, and how much of the question it rests on."""

    plan: Plan
    score: float


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


class _Matcher(ConditionMatcher):
    """Makes the plans that one question may mean in one table."""

    unknown = 0  # words that have no place in the table

    def candidates(self) -> list[PlanCandidate]:
        """The plans that the question may mean; raises RefusedPlanError: there is none."""
        found = self.found
        rest = self._unknown()
        self._bounds()
        self.unknown = sum(at not in found.used for at in rest)
        if self.unknown:
            raise RefusedPlanError("no_value" if found.named or found.filters else "no_column")
        self._periods()
        if not (found.named or found.filters or found.score >= 2):
            raise RefusedPlanError("no_column")
        plans = list(itertools.islice((plan for plan in self._plans() if self._uses_all(plan)), MAX_PLANS))
        if not plans:
            raise RefusedPlanError("no_column")
        return [PlanCandidate(plan, found.score) for plan in dict.fromkeys(plans)]

    def _unknown(self) -> list[int]:
        """Find the words in the table; those that have no place in it."""
        self._values()
        self._headers()
        self._parts()
        self._weekdays()
        self._open()
        self._sold_out()
        self._concepts()
        self._titles()
        self._equalities()
        self._empties()
        self._parts_of_values()
        return [at for at in range(len(self.asked.words)) if not self._is_small(at)]

    def unknown_words(self) -> list[str]:
        """The words that carry meaning and have no place in the table."""
        return [self.asked.words[at] for at in self._unknown()]

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
        is_list = plan.operation == "list" and self.asked.wants in {"which", "who"} and plan.column in label
        is_list |= self.asked.words[0] == "what" and not AUXILIARIES.isdisjoint(self.asked.words[1:2])
        free = (
            label
            | names
            | behind
            | self.vocabulary.numbered
            | (dates if plan.operation == "count" or is_list else set())
        )
        if self.asked.first is not None and plan.first != self.asked.first:
            return False
        return all(not needed.isdisjoint(read | free) for needed in self.found.needs)

    def _first_text(self) -> int | None:
        return next((at for at, column in enumerate(self.table.columns) if column.kind == "text"), None)

    def _plans(self) -> Iterator[Plan]:
        filters = [options for _, options in sorted(self.found.filters, key=lambda each: each[0]) if options]
        named = {each.column for each in self.found.named}
        filters = [[each for each in options if each.column in named] or options for options in filters]
        filters += self._booleans() + self._filled()
        for chosen in itertools.product(*filters):
            if self.asked.difference or self._is_between(chosen):
                yield from self._differences(chosen)
            else:
                yield from self._of_filters(_joined(chosen))

    def _booleans(self) -> list[list[RowFilter]]:
        """Columns of yes and no that are named: they are conditions."""
        found = []
        for each in self.found.named:
            column = self.table.columns[each.column]
            if column.kind == "boolean":
                no = self._is_negated(each.start)
                keys = frozenset({1})
                found.append(
                    [RowFilter(each.column, f"{column.name} is {'not yes' if no else 'yes'}", keys, negated=no)]
                )
        return found

    def _filled(self) -> list[list[RowFilter]]:
        """Columns of dates with empty cells that say what was done: `returned` books have a date there."""
        asked = self.asked
        filtered = {each.column for _, options in self.found.filters for each in options}
        found = []
        for each in self.found.named:
            column = self.table.columns[each.column]
            is_asked = asked.wants == "when" or "date" in asked.concepts or asked.words[each.start - 1] in WHICH
            if column.kind == "date" and not is_asked and each.column not in filtered and column.missing in column.keys:
                said = f"{column.name} is not empty"
                found.append([RowFilter(each.column, said, frozenset({column.missing}), negated=True)])
        return found

    def _is_between(self, chosen: Sequence[RowFilter]) -> bool:
        """Whether `between` stands before two values of one column."""
        at = next((at for at, word in enumerate(self.asked.words) if word in {"between", "zwischen"}), None)
        columns = [each.column for each in chosen if each.keys is not None]
        return at is not None and at not in self.asked.used and len(columns) > len(set(columns))

    def _differences(self, chosen: Sequence[RowFilter]) -> Iterator[Plan]:
        pairs = [
            (one, other)
            for one, other in itertools.combinations(chosen, 2)
            if one.column == other.column and one != other
        ]
        numbers = list(
            dict.fromkeys(each.column for each in self.found.named if each.column in self.vocabulary.numeric)
        )
        if not pairs and len(numbers) == 2:
            yield Plan("sum", tuple(chosen), numbers[0], minus=tuple(chosen), minus_column=numbers[1])
        if len(pairs) != 1:
            return
        one, other = pairs[0]
        rest = tuple(each for each in chosen if each not in pairs[0])
        counted = self.asked.fold == "count" and not self._has_measure()
        fold: Operation = "count" if counted else self.asked.fold if self.asked.fold in _FOLDS else "sum"  # type: ignore[assignment]
        for column in self._measures() if fold != "count" else [None]:
            yield Plan(fold, (*rest, one), column, minus=(*rest, other))

    def _of_filters(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        asked = self.asked
        group = self._group()
        if group is not None:
            yield from self._grouped(filters, *group)
        elif asked.superlative is not None:
            yield from self._extremes(filters)
        elif asked.fold in {"count", "distinct"}:
            yield from self._counts(filters)
        elif asked.fold in _FOLDS and self._folds_a_text():
            raise RefusedPlanError("no_value")
        elif asked.fold in _FOLDS:
            yield from (Plan(asked.fold, filters, column) for column in self._measures())  # type: ignore[arg-type]
        elif asked.wants == "how much" and self._is_of_things():
            raise RefusedPlanError("no_column")
        elif asked.wants == "how much" or (asked.wants == "what" and not PAYS.isdisjoint(asked.stems)):
            yield from (Plan("sum", filters, column) for column in self._measures())
        else:
            yield from self._lists(filters)

    def _folds_a_text(self) -> bool:
        """Whether the header right behind the fold is of texts: what was meant has no numbers."""
        behind = [each.column for each in self.found.named if 0 <= each.start - self.asked.fold_end <= 1]
        return bool(behind) and all(self.table.columns[at].kind == "text" for at in behind)

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
        if groups and columns[groups[0]].distinct == len(self.table.rows) and self.asked.fold in _FOLDS:
            return None  # each row is a group
        return (groups[0], "") if groups else None

    def _grouped(self, filters: tuple[RowFilter, ...], group: int, by: Part) -> Iterator[Plan]:
        asked = self.asked
        filters = tuple(each for each in filters if each.column != group or not each.said.startswith("has"))
        if by and asked.fold in {"mean", "median"}:
            raise RefusedPlanError("ambiguous")  # of all rows of a month, or of the months' sums
        counted = asked.fold == "count" and not any(each != group for each in self._counted())
        operation: Operation = "count" if counted else asked.fold if asked.fold in _FOLDS else "sum"  # type: ignore[assignment]
        for column in [None] if counted else self._measures(but=group):
            yield Plan(operation, filters, column, group=group, by=by)

    def _extremes(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        asked, table = self.asked, self.table
        least, concepts = asked.superlative or (False, ())
        filtered = {each.column for each in filters}
        requested = [each for each in self._requested() if each not in filtered]
        requested = requested or self._by_concept()[:1]
        counted = [each.column for each in self.found.named if each.start == asked.superlative_end]
        groups = [at for at in requested if at not in counted] or requested
        repeats = [at for at in groups if table.columns[at].distinct < len(table.rows)]
        first = asked.first or 1
        behind = asked.words[asked.superlative_end : asked.superlative_end + 1]
        is_noun = asked.superlative_end in self.found.used and asked.stems[asked.superlative_end] not in PAYS
        is_noun = is_noun and all(table.columns[at].kind == "text" for at in counted)
        is_counted = bool(behind) and (behind[0] in {"often", "frequently"} or is_noun)
        if asked.said_most and repeats and is_counted and not self._has_measure():
            yield Plan("count", filters, group=repeats[0], first=first, ascending=least)
            return
        for measure in self._ordered_by(concepts):
            if (concepts == ("money",) or asked.said_most) and comes_and_goes(table, measure):
                raise RefusedPlanError("ambiguous")
            said = asked.words[asked.superlative_end - 1]
            if said in {"best", "worst"} and not RANKED.isdisjoint(self.vocabulary.spoken[measure]):
                raise RefusedPlanError("ambiguous")
            is_born = concepts == ("age",) and is_year(table.columns[measure])
            if is_born or (concepts, table.columns[measure].kind) in {(("age",), "date"), (("speed",), "duration")}:
                least = not least
            names = [at for at in requested if at != measure]
            if self.part is not None and is_additive(table, measure):
                yield Plan("sum", filters, measure, group=self.part[0], by=self.part[1], first=first, ascending=least)
            elif asked.fold in _FOLDS and names:
                operation: Operation = asked.fold  # type: ignore[assignment]
                yield Plan(operation, filters, measure, group=names[0], first=first, ascending=least)
            elif asked.said_most and repeats and table.columns[repeats[0]].kind == "text":
                yield Plan("sum", filters, measure, group=repeats[0], first=first, ascending=least)
            elif asked.first is None and self._asks_value(measure, names):
                yield Plan("min" if least else "max", filters, measure)
            else:
                yield Plan("list", filters, self._shown(names, measure), order=measure, ascending=least, first=first)

    def _ordered_by(self, concepts: tuple[str, ...]) -> list[int]:
        """The columns that a superlative may mean."""
        order = [at for name in concepts for at in self.vocabulary.of_concept(name)]
        instead = {"age": "date", "speed": "duration"}.get(" ".join(concepts))
        order = order or (self.vocabulary.of_concept(instead) if instead else [])
        if concepts == ("age",) and self.table.label in self.vocabulary.of_concept("person"):
            order = [at for at in order if not BORN.isdisjoint(self.vocabulary.spoken[at])]
        if concepts == ("age",) and not order:
            order = [at for at in self.vocabulary.numeric if is_year(self.table.columns[at])]
        order = order or [at for at in self.vocabulary.numeric if self._is_named_in(at, concepts)]
        if concepts and not order:
            raise RefusedPlanError("no_column")
        named = [
            each.column for each in self.found.named if each.column in self.vocabulary.numeric or each.column in order
        ]
        both = [at for at in order if at in named]
        options = list(dict.fromkeys(both or order or named or self._measures()))
        words = (
            ("min", "low", "lowest")
            if self.asked.superlative and self.asked.superlative[0]
            else ("max", "high", "highest")
        )
        totals = [at for at in options if "total" in self.vocabulary.headers[at]]
        if len(options) > 1 and len(totals) == 1 and not named:
            return totals
        own = [at for at in options if not set(words).isdisjoint(self.vocabulary.headers[at])]
        return own if len(own) == 1 else options

    def _asks_value(self, measure: int, names: list[int]) -> bool:
        """Whether a superlative asks for the number itself, not for what has it."""
        asked = self.asked
        is_bare = asked.superlative is not None and not asked.superlative[1]
        ends = range(asked.superlative_end, asked.superlative_end + (3 if is_bare else 1))
        is_next = any(
            each.column == measure and (each.start in ends or asked.words[each.start - 1] == "in")
            for each in self.found.named
        )
        by_concept = any(measure in self.vocabulary.of_concept(name) for name in asked.concepts)
        before = [each for each in self.found.named if each.column in names and each.end < asked.superlative_end]
        if before and not self._is_worded():
            return False  # `dish with the most calories`
        is_subject = asked.superlative_end == 3 and asked.words[0] == "what" and asked.words[1] not in STOP_WORDS
        asks = not is_subject and (is_next or (is_bare and not names))  # `what sold best` is a thing
        return by_concept or asked.wants == "how much" or (asked.wants == "what" and asks)

    def _shown(self, requested: Sequence[int], measure: int) -> int | None:
        by_concept = [at for at in self._by_concept() if at != measure]
        if self.asked.wants == "who" and not (by_concept or requested):
            raise RefusedPlanError("no_column")
        first = requested[:1] if self.asked.wants == "who" else by_concept[:1]
        return next(iter([*first, *by_concept, *requested]), self.table.naming)

    def _counted(self) -> list[int]:
        """The columns of numbers right behind `how many`."""
        near = [each.column for each in self.found.named if 0 <= each.start - self.asked.fold_end <= 1]
        columns = self.table.columns
        found = [at for at in near if at in self.vocabulary.numeric and not is_year(columns[at])]
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
        texts = [each.column for each in behind if self.table.columns[each.column].kind in {"text", "date"}]
        if self.asked.fold == "distinct":
            yield from (Plan("distinct", filters, column) for column in texts[:1] if column not in filtered)
        elif numeric:
            yield from (Plan("sum", filters, column) for column in numeric)
        else:
            others = [at for at in texts if at not in filtered]
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
            if not others or any(at in names or self.table.columns[at].kind == "date" for at in others):
                yield Plan("count", filters)
            yield from (Plan("distinct", filters, column) for column in others[:1])

    def _how_many_of(self, filtered: set[int]) -> list[int]:
        """Of `how many rolls were sold on friday`, the numbers that are named or meant, or of how much there is."""
        numeric = sorted(self.vocabulary.numeric - filtered)
        named = [each.column for each in self.found.named if each.column in numeric]
        meant = [at for at in numeric if at in self.found.measures and self.table.columns[at].kind == "number"]
        return named or meant or [at for at in self.vocabulary.of_concept("quantity") if at in numeric]

    def _is_titled_by(self, at: int) -> bool:
        """Whether the table's name has a column's header: then its rows are what the header says."""
        return any(map(self.vocabulary.titled, self.vocabulary.headers[at]))

    def _lists(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        """The first of the columns that may be meant whose list uses all that the question names."""
        asked, table = self.asked, self.table
        if not filters and asked.wants not in {"which", "list", "what", "who"}:
            raise RefusedPlanError("no_value")
        by_concept = any(self.vocabulary.of_concept(name) for name in asked.concepts)
        if asked.concepts and not by_concept and asked.wants == "what" and not self._has_measure():
            raise RefusedPlanError("no_column")
        for options in self._shown_first({each.column for each in filters}):
            adds = not self._is_worded() and all(is_additive(table, column) for column in options)
            fold: Operation = "sum" if adds else "list"
            plans = [Plan(fold, filters, column, first=asked.first) for column in dict.fromkeys(options[:3])]
            plans = [plan for plan in plans if self._uses_all(plan)]
            if plans:
                yield from plans
                return

    def _shown_first(self, filtered: set[int]) -> list[list[int]]:
        """The columns that a list may show, those that are likely to be meant first; none without any."""
        asked, table = self.asked, self.table
        named = [each.column for each in self.found.named]
        numeric = [at for at in named if at in self.vocabulary.numeric]
        requested = [at for at in self._requested() if at not in filtered]
        by_concept = self._by_concept()
        years = [at for at in numeric if is_year(table.columns[at])] if asked.wants == "when" else []
        measured = [at for at in self.found.measures if table.columns[at].kind in NUMBERS]
        rows = [at for at in (table.row_name, table.label) if at is not None][:1]
        if asked.wants in {"who", "when", "where"} and not (
            by_concept or years or (requested and asked.wants == "who")
        ):
            raise RefusedPlanError("no_column")
        if asked.wants == "who":
            people = [at for at in by_concept if table.columns[at].kind == "text"]
            found = [requested, [at for at in people if at == table.label], people]
        elif asked.wants == "which":
            found = [requested, by_concept, numeric, rows]
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
        else:
            amounts = [at for at, column in enumerate(table.columns) if column.kind == "amount" and at not in filtered]
            numeric = [at for at in numeric if at not in filtered]  # `wines under 20 pounds`
            found = [numeric, requested, measured, amounts if len(amounts) == 1 else [], rows]
        return [each for each in (years, *found) if each]

    def _is_worded(self) -> bool:
        words = set(self.asked.words[:3])
        asking = {"what", "how", "was", "wie", "when", "wann", "where", "wo", "who", "wer", "list", "show", "zeige"}
        return not words.isdisjoint(asking | WHICH)

    def _measures(self, but: int | None = None) -> list[int]:
        """The columns that may be folded: named, meant by a word, or the only one; ambiguous ones all."""
        table = self.table
        numeric = sorted(self.vocabulary.numeric - {but})
        named = [each for each in self.found.named if each.column in numeric]
        means = [each.column for each in named if "average" in self.vocabulary.headers[each.column]]
        if self.asked.fold == "mean" and len(means) == 1:
            return means
        if named:
            best = max(each.weight for each in named)
            return list(dict.fromkeys(each.column for each in named if each.weight == best))
        meant = [at for at in numeric if at in self.found.measures]
        if not meant and self.asked.wants == "how much":
            meant = [at for at in self.vocabulary.of_concept("money") if at in numeric]
        folded = [
            at for at in numeric if not _RANKS & set(self.vocabulary.headers[at]) and not is_year(table.columns[at])
        ]
        options = meant or folded
        sums = [at for at in options if not {"total", "gesamt", "summe", "sum"}.isdisjoint(self.vocabulary.headers[at])]
        if len(options) > 1 and len(sums) == 1:
            return sums
        if not options:
            raise RefusedPlanError("no_column")
        if len(options) > 1 and not meant:
            raise RefusedPlanError("ambiguous")
        return options


def _joined(chosen: Sequence[RowFilter]) -> tuple[RowFilter, ...]:
    """Several values of one column as one condition: Anna or Ben; others stand side by side."""
    by_column: dict[int, RowFilter] = {}
    found: list[RowFilter] = []
    for each in chosen:
        before = by_column.get(each.column)
        if before is not None and each.keys and before.keys and not each.negated and not before.negated:
            common = each.keys & before.keys
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
