"""Plans of superlatives: the first rows, groups or parts of a table, and the measures that may be meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundcheck.sentences import STOP_WORDS
from ragdrop.tables.cell_values import unit_name
from ragdrop.tables.match_meaning import PARTICIPLE, MeaningMatcher
from ragdrop.tables.match_words import WHICH, NamedColumn
from ragdrop.tables.plans import Operation, Plan, RefusedPlanError, RowFilter
from ragdrop.tables.table_words import NUMBERS, comes_and_goes, has_repeats, is_additive, is_year, says_verb
from ragdrop.tables.vocabulary import BORN, DUE, HEADERS, PAYS, RANKED, READINGS
from ragdrop.tables.word_relations import senses

_RANKS = frozenset({"year", "jahr", "number", "rank", "place", "pos", "position"})
_AGES = ("new", "neu", "old", "ält")
_PEOPLE = frozenset({("people",), ("persons",), ("leute",), ("personen",)})
FOLDS = frozenset({"sum", "mean", "median"})


class ExtremeMatcher(MeaningMatcher):
    """Makes the plans of superlatives of one question in one table."""

    def _extremes(self, filters: tuple[RowFilter, ...]) -> Iterator[Plan]:
        asked, table = self.asked, self.table
        least, concepts = asked.superlative or (False, ())
        filtered = {each.column for each in filters}
        requested = [each for each in self._requested() if each not in filtered]
        counted = [each.column for each in self._behind_most()]
        if asked.wants == "who" and asked.said_most:
            people = [at for at in self._by_concept() if at not in filtered]
            if not people and any(at in counted and not has_repeats(table, at) for at in requested[:1]):
                raise RefusedPlanError("no_column")
            requested = [at for at in people if at in requested] or people or requested
        requested = requested or self._by_concept()[:1]
        requested = requested or self._listed_values(filters)
        groups = [at for at in requested if at not in counted] or requested
        repeats = [at for at in groups if table.columns[at].distinct < len(table.rows)]
        first = asked.first or 1
        end = asked.superlative_end
        end += next((at for at, word in enumerate(asked.words[end:]) if word not in {"of", "the", "all"}), 0)
        behind = asked.words[end : end + 1]
        is_noun = end in self.found.used and "am" not in asked.words  # `am meisten Strom`: how much
        is_noun = is_noun and asked.stems[end] not in PAYS
        is_noun = (
            is_noun
            and not (behind and PARTICIPLE.fullmatch(behind[0]))
            and all(table.columns[at].kind in {"text", "date"} for at in counted)
        )
        is_counted = (bool(behind) and (behind[0] in {"often", "frequently"} or is_noun)) or asked.said_often
        if asked.said_most and repeats and is_counted and not self._has_measure():
            yield Plan("count", filters, group=repeats[0], first=first, ascending=least)
            return
        if asked.said_often or behind in {("often",), ("frequently",)}:
            raise RefusedPlanError("no_column")  # what is most often: no number is the largest
        for measure in self._ordered_by(concepts):
            least = self._is_least(measure, concepts, filters)
            names = [at for at in requested if at != measure]
            if self.part is not None and is_additive(table, measure):
                yield Plan("sum", filters, measure, group=self.part[0], by=self.part[1], first=first, ascending=least)
            elif asked.fold in FOLDS and names:
                operation: Operation = asked.fold  # type: ignore[assignment]
                yield Plan(operation, filters, measure, group=names[0], first=first, ascending=least)
            elif asked.said_most and repeats and table.columns[repeats[0]].kind == "text":
                yield Plan("sum", filters, measure, group=repeats[0], first=first, ascending=least)
            elif asked.first is None and self._asks_value(measure, names) and not self._has_name(names):
                yield Plan("min" if least else "max", filters, measure)
            elif asked.fold in FOLDS and asked.first:
                raise RefusedPlanError("ambiguous")  # what the first three have together
            else:
                yield Plan("list", filters, self._shown(names, measure), order=measure, ascending=least, first=first)

    def _is_least(self, measure: int, concepts: tuple[str, ...], filters: tuple[RowFilter, ...]) -> bool:
        """Whether the lowest number of a column is what the superlative means: the youngest was born last.

        Raises RefusedPlanError: the best may be either end.
        """
        asked, table = self.asked, self.table
        least = asked.superlative is not None and asked.superlative[0]
        if measure in self.vocabulary.of_concept("money") and self._is_spent(filters, measure):
            least = not least
        said = asked.words[asked.superlative_end - 1]
        if said in {"best", "worst"} and not RANKED.isdisjoint(self.vocabulary.spoken[measure]):
            raise RefusedPlanError("ambiguous")
        least ^= said in {"best", "worst"} and not HEADERS["delay"].isdisjoint(self.vocabulary.headers[measure])
        least ^= table.columns[measure].kind == "date" and concepts == ("distance", "duration")
        is_born = concepts == ("age",) and is_year(table.columns[measure])
        if is_born or (concepts, table.columns[measure].kind) in {(("age",), "date"), (("speed",), "duration")}:
            least = not least
        return least

    def _listed_values(self, filters: tuple[RowFilter, ...]) -> list[int]:
        """The column of several values that are named: of `Corsa or Yaris: which is out most often` the cars."""
        return [each.column for each in filters if each.keys and each.said.count(" is ") > 1 and " or " in each.said]

    def _is_spent(self, filters: tuple[RowFilter, ...], measure: int) -> bool:
        """Whether all money of some rows goes; raises RefusedPlanError: some of it comes."""
        if not comes_and_goes(self.table, measure):
            return False
        rows: Sequence[int] = self.table.rows
        for each in filters:
            rows = each.admit(self.table, rows)
        column = self.table.columns[measure]
        signs = {column.keys[row] < 0 for row in rows if column.keys[row] != column.missing}
        if len(signs) > 1:
            raise RefusedPlanError("ambiguous")
        return signs == {True}

    def _behind_most(self) -> list[NamedColumn]:
        return [each for each in self.found.named if each.start == self.asked.superlative_end]

    def _ordered_by(self, concepts: tuple[str, ...]) -> list[int]:
        """The columns that a superlative may mean."""
        order = [at for name in concepts for at in self.vocabulary.of_concept(name)]
        if concepts == ("date",):  # what was made first, and bought last
            order = order + [at for at in sorted(self.vocabulary.numeric) if is_year(self.table.columns[at])]
        instead = {"age": "date", "speed": "duration", "rank": "duration"}.get(" ".join(concepts))
        order = order or (self.vocabulary.of_concept(instead) if instead else [])
        dates = [at for at in order if self.table.columns[at].kind == "date"]
        is_age = self.asked.words[self.asked.superlative_end - 1].startswith(_AGES)
        if is_age and len(dates) > 1 and {each.column for each in self.found.named}.isdisjoint(dates):
            order = self._begun(dates)
        if concepts == ("age",) and self.table.label in self.vocabulary.of_concept("person"):
            order = [at for at in order if not BORN.isdisjoint(self.vocabulary.spoken[at])]
        if concepts == ("distance", "duration") and not order and {"has", "have"} & {*self.asked.words}:
            order = self._since()
        if concepts == ("age",) and not order:
            order = [at for at in self.vocabulary.numeric if is_year(self.table.columns[at])]
        order = order or [at for at in self.vocabulary.numeric if self._is_named_in(at, concepts)]
        if concepts and not order:
            raise RefusedPlanError("no_column")
        named = [
            each.column for each in self.found.named if each.column in self.vocabulary.numeric or each.column in order
        ]
        both = [at for at in named if at in order or self._is_named_in(at, concepts)]
        options = list(dict.fromkeys(both or order or named or self._measures()))
        words = (
            ("min", "low", "lowest")
            if self.asked.superlative and self.asked.superlative[0]
            else ("max", "high", "highest")
        )
        options = self._readings(options) if not named else options
        totals = [at for at in options if "total" in self.vocabulary.headers[at]]
        if len(options) > 1 and len(totals) == 1 and not named:
            return totals
        own = [at for at in options if not set(words).isdisjoint(self.vocabulary.headers[at])]
        return own if len(own) == 1 else options

    def _since(self) -> list[int]:
        """The one column of dates since when something lasts: `who has been here the longest`."""
        dates = [at for at, column in enumerate(self.table.columns) if column.kind == "date"]
        return dates if len(dates) == 1 else []

    def _asks_value(self, measure: int, names: list[int]) -> bool:
        """Whether a superlative asks for the number itself, not for what has it."""
        asked = self.asked
        if asked.words[-1] in WHICH | {"whom", "who"}:
            return False  # `the most I paid was for what`
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

    def _readings(self, options: list[int]) -> list[int]:
        """Of several columns of numbers the one that a log is written for: its results, by their header."""
        readings = [at for at in options if not READINGS.isdisjoint(self.vocabulary.spoken[at])]
        return readings if len(readings) == 1 and not self.found.measures else options

    def _has_name(self, names: Sequence[int]) -> bool:
        """Whether one of the columns requested names rows: their value is shown as well."""
        return any(self.table.columns[at].kind in {"text", "date"} for at in names)

    def _shown(self, requested: Sequence[int], measure: int) -> int | None:
        by_concept = self._by_concept()
        by_concept = [] if measure in by_concept else by_concept
        if self.asked.wants == "who" and not (by_concept or requested):
            raise RefusedPlanError("no_column")
        first = requested[:1] if self.asked.wants == "who" else by_concept[:1]
        return next(iter([*first, *by_concept, *requested]), self.table.naming)

    def _is_worded(self) -> bool:
        words = set(self.asked.words[:3])
        asking = {
            "what",
            "how",
            "was",
            "wie",
            "when",
            "wann",
            "where",
            "wo",
            "woher",
            "wohin",
            "who",
            "wer",
            "list",
            "show",
            "zeige",
        }
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
            named = [each for each in named if each.column not in self.vocabulary.running] or named
            best = max(each.weight for each in named)
            return list(dict.fromkeys(each.column for each in named if each.weight == best))
        meant = [at for at in numeric if at in self.found.measures]
        meant = meant or [
            at for name in self.asked.concepts for at in self.vocabulary.of_concept(name) if at in numeric
        ]
        lasting = self.vocabulary.of_concept("duration") if "duration" in self.asked.concepts else []
        meant = [at for at in meant if at in lasting] or meant
        if not meant and self.asked.wants == "how much":
            meant = [at for at in self.vocabulary.of_concept("money") if at in numeric]
        folded = [
            at for at in numeric if not _RANKS & set(self.vocabulary.headers[at]) and not is_year(table.columns[at])
        ]
        options = [at for at in meant or folded if at not in self.vocabulary.running] or meant or folded
        sums = [at for at in options if not {"total", "gesamt", "summe", "sum"}.isdisjoint(self.vocabulary.headers[at])]
        if len(options) > 1 and len(sums) == 1:
            return sums
        options = self._readings(options)
        if not options:
            raise RefusedPlanError("no_column")
        if len(options) > 1 and not meant:
            raise RefusedPlanError("ambiguous")
        return options

    def _pays(self, filters: tuple[RowFilter, ...]) -> bool:
        """Whether a verb asks for money: in `notes that cost more than 400` it says which notes."""
        bounded = {each.column for each in filters if each.keys is None}
        is_asked = self._is_worded() or bounded.isdisjoint(self.vocabulary.of_concept("money"))
        return is_asked and not PAYS.isdisjoint(self.asked.stems)

    def _booleans(self) -> list[list[RowFilter]]:
        """Columns of yes and no that are named: they are conditions."""
        found: dict[int, bool] = {}
        for each in self.found.named:
            if self.table.columns[each.column].kind == "boolean":
                found[each.column] = self._is_negated(each.start) or found.get(each.column, False)
        return [[self._yes_or_no(at, no=no)] for at, no in found.items()]

    def _filled(self) -> list[list[RowFilter]]:
        """Columns of dates with empty cells that say what was done: `returned` books have a date there."""
        asked = self.asked
        filtered = {each.column for _, options in self.found.filters for each in options}
        found = []
        for each in self.found.named:
            column = self.table.columns[each.column]
            is_asked = (
                asked.wants == "when"
                or asked.superlative is not None
                or "date" in asked.concepts
                or asked.words[each.start - 1] in WHICH
            )
            if column.kind == "date" and not is_asked and each.column not in filtered and column.missing in column.keys:
                said = f"{column.name} is not empty"
                found.append([RowFilter(each.column, said, frozenset({column.missing}), negated=True)])
        return found

    def _sides(self, chosen: Sequence[RowFilter]) -> tuple[tuple[RowFilter, ...], tuple[RowFilter, ...]] | None:
        """What stands on both sides of `than`, where it is of the same columns: from A to B, than from B to C."""
        than = next((at for at, word in enumerate(self.asked.words) if word in {"than", "als"}), 0)
        starts = {each: start for start, options in self.found.filters for each in options}
        behind = tuple(each for each in chosen if starts.get(each, 0) > than)
        columns = {each.column for each in behind}
        before = tuple(each for each in chosen if each not in behind and each.column in columns)
        return (before, behind) if {each.column for each in before} == columns else None

    def _is_of_things(self) -> bool:
        """Whether `how much` is asked of a thing, without a word of money or measure: `how much butter did we use`."""
        asked, measures = self.asked, {each.column for each in self.found.named} | self.found.measures
        at = 2 if asked.words[0] == "how" else len(asked.words)
        is_thing = any(start == at for start, _ in self.found.filters) and not measures
        return is_thing and PAYS.isdisjoint(asked.stems)

    def _by_concept(self) -> list[int]:
        """The columns of `who`, `when` and the like; one that says more, as `Packed by` and `Due`, only if named."""
        named = {each.column for each in self.found.named}
        found = [at for name in self.asked.concepts for at in self.vocabulary.of_concept(name)]
        says = {at for at in found if not DUE.isdisjoint(self.vocabulary.headers[at])}
        if "person" in self.asked.concepts:
            headers, first = self.vocabulary.headers, self.table.label
            does = {at for at in found if at != first and HEADERS["person"].isdisjoint(headers[at])}  # as Fixer
            does = set() if len(found) == 1 and self._is_had() else does
            says |= does | {at for at in found if says_verb(self.table.columns[at].name)}
        return [at for at in found if at not in says or at in named]

    def _is_had(self) -> bool:
        """Whether `who` has something or did what a date says: `who had Emma`, `who borrowed it` of `Borrowed`."""
        columns = self.table.columns
        verbs = {each.start for each in self.found.named if columns[each.column].kind == "date"}
        return self.asked.words[1:2] in {("has",), ("had",), ("have",), ("hat",), ("hatte",)} or 1 in verbs

    def _has_measure(self) -> bool:
        named = {each.column for each in self.found.named} | self.found.measures
        return any(self.table.columns[at].kind in NUMBERS for at in named)

    def _requested(self) -> list[int]:
        """The columns named that are not numbers: the one behind `which` alone, else the first one named first."""
        kinds = {"text"} if self.asked.wants == "who" else {"text", "date"}
        numbered = self.vocabulary.numbered
        named = sorted(
            (each for each in self.found.named if each.weight > 1 or (self.asked.wants == "who" and each.start == 1)),
            key=lambda each: (each.start not in self.asked.glossed, -each.weight, each.start),
        )
        named = [each for each in named if each.column in numbered or self.table.columns[each.column].kind in kinds]
        behind = [each for each in named if self.asked.words[max(each.start - 1, 0)] in WHICH]
        return [each.column for each in behind or named]

    def _refuse_other_than_rows(self) -> None:
        """Raises RefusedPlanError: `phone number of Anna` counts no rows, `how many people` only rows of people."""
        words, end = self.asked.words, self.asked.fold_end
        said = words[end - 3] if end > 2 and words[end - 2 : end] == ("number", "of") else ""
        is_called = said not in {"", "total"} and (senses(said) or ("",))[0].startswith("n")
        rows = self.table.row_name if self.table.row_name is not None else self.table.label
        column = self.table.columns[rows or 0]
        is_one_a_row = rows is not None and column.kind == "text" and column.distinct == len(self.table.rows)
        are_people = is_one_a_row and self.vocabulary.are_names(rows or 0)
        if is_called or (words[end : end + 1] in _PEOPLE and not are_people):
            raise RefusedPlanError("no_column")

    def _is_ours(self, at: int) -> bool:
        """Whether a unit that has no place is the table's own: `mean length of the shows, minutes`."""
        unit = unit_name(self.asked.words[at])
        return bool(unit) and any(self.vocabulary.has_unit(column, unit) for column in self.vocabulary.numeric)

    def _folds_a_text(self) -> bool:
        """Whether the header right behind the fold is of texts: what was meant has no numbers."""
        behind = [each.column for each in self.found.named if 0 <= each.start - self.asked.fold_end <= 1]
        is_number_of = not {"number", "anzahl"}.isdisjoint(self.asked.words[: self.asked.fold_end])
        rows = set() if is_number_of else {self.table.label, self.table.naming, self._first_text()}
        return bool(behind) and all(self.table.columns[at].kind == "text" and at not in rows for at in behind)

    def _is_each(self) -> bool:
        """Whether something is asked `per` what no column is of: `cost per person`."""
        at = self.asked.group_at
        is_header = any(each.start < (at or 0) < each.end for each in self.found.named)
        return at is not None and self.asked.words[at - 1] in {"per", "pro", "je"} and not is_header

    def _done(self) -> list[int]:
        """Of `how many meals were ordered` the numbers of the column `Ordered`."""
        columns, words = self.table.columns, self.asked.words
        named = [each for each in self.found.named if each.column in self.vocabulary.numeric]
        said = {
            each.column for each in named if words[each.start].endswith(("ed", "sold")) and not self._is_sized(each)
        }
        return (
            sorted(said) if len(said) == 1 and not any(columns[at].unit or is_year(columns[at]) for at in said) else []
        )

    def _first_text(self) -> int | None:
        return next((at for at, column in enumerate(self.table.columns) if column.kind == "text"), None)
