"""Find what words of a question mean in a table that has other words for it: by meaning, compound and unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from ragdrop.tables.asked import Bound
from ragdrop.tables.cell_values import unit_factor, unit_name
from ragdrop.tables.match_conditions import ConditionMatcher
from ragdrop.tables.match_words import WHICH, NamedColumn
from ragdrop.tables.plans import RowFilter
from ragdrop.tables.table_words import is_year
from ragdrop.tables.vocabulary import (
    CONCEPTS,
    IRREGULAR,
    MONEY_WAYS,
    OTHER_MONEY,
    PLANNED_OR_REAL,
    READINGS,
    german_root,
    number_of,
)
from ragdrop.tables.word_relations import relation, senses, sorts

MAX_MEANT = 300  # distinct texts of a column whose meanings are compared
MIN_COMPOUND = 8  # letters of a word of two
_LINKS = ("", "s", "es", "n", "en", "er", "e")
_PREPOSITIONS = (
    "in at on of from to by for with into through under over after up out off back down a an the "
    "aus nach von bei mit im für am"
)
_OF = frozenset(_PREPOSITIONS.split())
_GERMAN_ASKS = frozenset({"wer", "was", "wann", "wo", "wie", "welche", "welcher", "welches", "welchem", "welchen"})
PARTICIPLE = re.compile(r"(?:\w+)?ge\w{2,}(?:t|en)|(?:be|ver|er|zer|ent)\w{3,}(?:t|en)|\w{3,}iert")
_GERMAN_PREPOSITIONS = frozenset({"in", "im", "am", "an", "mit", "auf", "aus", "nach", "bei", "zu", "zum", "zur"})
_MONEY = ("cost", "price", "income", "revenue", "expense", "takings", "proceeds")
_MEASURES = frozenset({"score", "result", "value", "reading", "number", "amount", "figure", "level", "mark"})
_HEADS = frozenset(
    {"zahl", "wert", "stand", "betrag", "summe", "verbrauch", "menge"}
)  # of compounds that say no more than the rest
_PRONOUNS = frozenset({"i", "we", "you", "they"})
_NET = re.compile(
    r"(?<!\S)(?:left )?after (?:all )?(?:costs?|expenses)(?!\S)"
    r"|(?<!\S)(?:net )?profit(?!\S)|(?<!\S)(?:gewinn|nach abzug der (?:kosten|ausgaben))(?!\S)"
)
_HOW_OFTEN = ("how", "many", "times")
_PLACED = frozenset({"in", "at", "on", "during", "im", "am"})


class MeaningMatcher(ConditionMatcher):
    """Gives words of one question, which one table does not have, a place in it."""

    counted: int | None = None  # the column of numbers that `how many` asks for
    is_net = False  # whether what came in is asked for without what went out

    def _directions(self) -> None:
        """Of money that comes in and goes out, in two columns, the one that a verb means: `took` of `Takings`."""
        columns = {way: self.vocabulary.money(way) for way in MONEY_WAYS}
        if not len(columns["in"]) == len(columns["out"]) == 1:
            return
        net, left = _NET.search(" ".join(self.asked.words)), columns["net"]
        if net:
            start = net.string[: net.start()].count(" ")
            self.is_net = not left
            self._name(left, start, start + net[0].count(" ") + 1, 2.0)
        for at, stem in enumerate(self.asked.stems):
            for way, (verbs, _) in MONEY_WAYS.items():
                if stem in verbs and self._free(at, at + 1):
                    self._name([] if net else columns[way], at, at + 1, 1.5)

    def _planned(self) -> None:
        """Of numbers that were planned and that came of it those that a word means: `budgeted` of `Plan 2025`."""
        for said, headers in PLANNED_OR_REAL:
            columns = [
                at for at in sorted(self.vocabulary.numeric) if not headers.isdisjoint(self.vocabulary.spoken[at])
            ]
            for at, word in enumerate(self.asked.words if columns else ()):
                if word.removesuffix("e").removesuffix("en") in said and self._free(at, at + 1):
                    self._name(columns, at, at + 1, 1.0)

    def _meanings(self) -> None:
        """Words that stand for a value, a header or the rows by what they mean."""
        self._planned()
        self._amounts()
        self._money()
        self._modified()
        self._glosses()
        self._result()
        for at, word in enumerate(self.asked.words):
            if not self._free(at, at + 1) or self._is_filler(at) or word.isdigit():
                continue
            if self.asked.root is german_root:
                self._compound(at)
            elif senses(word) is not None:
                is_asked = at > 0 and self.asked.words[at - 1] in WHICH  # `which movie` is a film, not any row
                is_row = at == self.asked.superlative_end > 0  # `the dearest visit` is any row, not an inspection
                is_act = self.asked.wants in {"who", "when"} and word.endswith(("ed", "ing"))  # painted: no pictures
                is_value = not (is_row or is_act) and self._value_meant(at)
                is_value or (is_asked and self._header_meant(at)) or self._rows_meant(at)
                self._free(at, at + 1) and self._header_meant(at)

    def _result(self) -> None:
        """What a log is written for, by a word that says no more: `lowest glucose reading`."""
        columns = [at for at in sorted(self.vocabulary.numeric) if not READINGS.isdisjoint(self.vocabulary.spoken[at])]
        for at, word in enumerate(self.asked.words if len(columns) == 1 else ()):
            if word.removesuffix("s") in _MEASURES and self._free(at, at + 1):
                self._name(columns, at, at + 1, 1.5)

    def _money(self) -> None:
        """The one column of money by another word for it: `takings` of a `Bill`."""
        columns = [at for at, each in enumerate(self.table.columns) if each.kind == "amount"]
        for at, word in enumerate(self.asked.words if len(columns) == 1 else ()):
            is_other = self.asked.stems[at] in OTHER_MONEY
            is_money = self._free(at, at + 1) and not is_other and any(relation(word, each) == 2 for each in _MONEY)
            if is_money and OTHER_MONEY.isdisjoint(self.vocabulary.headers[columns[0]]):
                self._name(columns, at, at + 1, 1.5)

    def _glosses(self) -> None:
        """Words before brackets that the table has other words for, in them: `came from Spain (ESP)`."""
        asked = self.asked
        for at in sorted(asked.glossed):
            if at - 1 not in asked.glossed and at in self.found.used - asked.used:
                self.found.used.update(
                    place for place in (at - 1, at - 2) if self._free(place, place + 1) and place > 0
                )
        if asked.fold == "mean" and asked.group_at is not None and self._free(asked.group_at, asked.group_at + 1):
            self.found.used.add(asked.group_at)  # on average per delivery: each row is one

    def _modified(self) -> None:
        """Of a state and what is in it, both columns of numbers, the state is meant: of `closed beds` the `Closed`."""
        self._counted_in()
        for one in list(self.found.named):
            self._are_rows(one)
            self._is_modifier(one)
            is_state = self.asked.words[one.end - 1].endswith(("ed", "en", "sold"))
            for other in self.found.named if is_state and one.column in self.vocabulary.numeric else ():
                if other.start == one.end and other.column in self.vocabulary.numeric - {one.column}:
                    self.found.named.remove(other)
                    self.found.needs = [needed for needed in self.found.needs if other.column not in needed]
                    break

    def _is_modifier(self, one: NamedColumn) -> None:
        """Of `episode title` the title is meant: the last noun of a compound."""
        columns = self.table.columns
        if one.column not in self.vocabulary.numbered and columns[one.column].kind != "text":
            return
        behind = [each.column for each in self.found.named if each.start == one.end and each.column != one.column]
        if any(columns[at].kind in {"text", "date"} for at in behind):
            self._drop(one.column)

    def _drop(self, column: int) -> None:
        self.found.named = [each for each in self.found.named if each.column != column]
        self.found.needs = [needed for needed in self.found.needs if column not in needed]

    def _counted_in(self) -> None:
        """Of `how many packs are in stock` the stock is meant, of `costs of all tenants` no tenant."""
        asked, numeric = self.asked, self.vocabulary.numeric
        for at in (place for place, word in enumerate(asked.words) if word in {"left", "remaining", "übrig"}):
            columns = self.vocabulary.stocks()
            if len(columns) == 1 and asked.wants != "when" and self._free(at, at + 1):
                self._name(columns, at, at + 1, 2.0)
        named = sorted((each for each in self.found.named if each.column in numeric), key=lambda each: each.start)
        if asked.fold == "count" and len({each.column for each in named}) == 2 and self._is_first_noun(named):
            self._drop(named[0].column)
            self.counted = named[1].column
        for each in list(self.found.named):
            is_all = asked.words[each.start - 1 : each.start] in {("all",), ("aller",), ("alle",), ("allen",)}
            if is_all and self.table.columns[each.column].kind == "text":
                self._drop(each.column)

    def _is_first_noun(self, named: Sequence[NamedColumn]) -> bool:
        """Whether of two columns the first is what `how many` counts, a value before it or none, the second a state."""
        word = self.asked.words[named[1].end - 1]
        if not word.endswith(("ed", "en")) and named[1].column not in self.vocabulary.of_concept("quantity"):
            return False
        start, end = named[0].start, self.asked.fold_end
        return end <= start < named[1].start and self.found.used.issuperset(range(end, start))

    def _are_rows(self, named: NamedColumn) -> None:
        """Of `which packs expire` the column of numbers says what rows are: no number is asked for."""
        asked, column = self.asked, named.column
        before = asked.words[named.start - 1] if named.start else ""
        is_asked = before in {"which", "welche"} and asked.words[named.start].endswith(("s", "n"))
        is_number = column in self.vocabulary.numeric and not is_year(self.table.columns[column])
        if is_asked and is_number and asked.superlative is None:
            self._drop(column)

    def _amounts(self) -> None:
        """A number with its unit that no bound took: `a pack of 100 g`, `lasted 4 hours`."""
        words = self.asked.words
        for at in range(len(words) - 1):
            number, unit = number_of(words[at]), unit_name(words[at + 1])
            if number is None or not unit or not self._free(at, at + 2):
                continue
            columns = [each for each in sorted(self.vocabulary.numeric) if self._is_in(each, number, unit)]
            if columns:
                bound = Bound(number, number, at, at + 2, unit=unit)
                self._add(at, at + 2, [self._bounded(bound, each) for each in columns], 3.0)

    def _is_in(self, at: int, number: Decimal, unit: str) -> bool:
        column = self.table.columns[at]
        factor = unit_factor(unit, column.own_unit)
        key = None if factor is None else number * factor * Decimal(10) ** column.scale
        return key is not None and key == int(key) and int(key) in column.keys

    def _value_meant(self, at: int) -> bool:
        """A cell of one word that says the same: `flashes` of `flash`, `while leading` of `lead`."""
        options: list[RowFilter] = []
        for place, column in enumerate(self.table.columns):
            if column.kind == "text" and len(column.texts) <= MAX_MEANT:
                codes = [code for code, text in enumerate(column.texts) if self._is_meant(at, text)]
                options += [self._equal(at, place, codes)] if codes else []
        if options:
            self._add(at, at + 1, options, 2.0)
        return bool(options)

    def _is_meant(self, at: int, text: str) -> bool:
        said, word = text.casefold(), self.asked.words[at]
        if IRREGULAR.get(word) and not (senses(said) or ("v",))[0].startswith("v"):
            return False  # what was sold is not the buyer `market`
        return said.isalpha() and relation(self.asked.words[at], said) == 2

    def _header_meant(self, at: int) -> bool:
        """The columns whose header says the same, or names a kind of it."""
        near = [(self._near(self.asked.words[at], said), place) for place, said in enumerate(self.vocabulary.spoken)]
        best = max((score for score, _ in near), default=0)
        columns = [place for score, place in near if score == best > 0]
        if sorts(self.asked.words[at]):  # `salary` is not whether it was paid
            columns = [place for place in columns if self.table.columns[place].kind != "boolean"]
        if best == 1 and any(each.end == at and each.column in self.vocabulary.numeric for each in self.found.named):
            self.found.used.add(at)  # the written exam, where `Written` is a column
            return True
        stated = {each.column for _, options in self.found.filters for each in options}
        columns = [place for place in columns if best == 2 or place not in stated]
        if self.asked.wants == "who":  # what somebody did is not who did it
            columns = [place for place in columns if self.table.columns[place].kind in {"text", "boolean"}] or columns[
                :0
            ]
        if columns:
            self._name(columns, at, at + 1, 1.5)
        return bool(columns)

    @staticmethod
    def _near(word: str, header: Sequence[str]) -> int:
        phrase = "_".join(IRREGULAR.get(each, each) for each in header)
        whole = relation(word, phrase) if len(header) == 2 else 0
        return max([whole, *(relation(word, each) for each in header)])

    def _rows_meant(self, at: int) -> bool:
        """What the table's name or what names its rows says in another word: `shipments` of `Consignment`."""
        least = 2 if self.asked.wants == "how much" else 1
        found = any(relation(self.asked.words[at], each) >= least for each in self.vocabulary.named)
        if found:
            self.found.used.add(at)
            self.found.score += 1.0
        return found

    def _compound(self, at: int) -> None:
        """A German word of two that each have a place: `Stromverbrauch` of a row `Strom` and a column `Verbrauch`."""
        word = self.asked.words[at]
        for cut in range(3, len(word) - 2) if len(word) >= MIN_COMPOUND else ():
            begin, end = word[:cut], word[cut:]
            for link in _LINKS:
                first = begin.removesuffix(link)
                if begin.endswith(link) and len(first) >= 3 and self._both(at, first, end):
                    return

    def _both(self, at: int, first: str, last: str) -> bool:
        one, two = self._part_place(at, first), self._part_place(at, last)
        if one is None or two is None:
            return False
        for kind, found in (one, two):
            if kind == "value":
                self._add(at, at + 1, found, 2.0)  # type: ignore[arg-type]
            elif kind == "header":
                self._name(found, at, at + 1, 2.0)  # type: ignore[arg-type]
            elif kind == "concept":
                self.found.measures.update(found)  # type: ignore[arg-type]
        self.found.used.add(at)
        self.found.score += 1.0
        return True

    def _part_place(self, at: int, word: str) -> tuple[str, Sequence[int] | list[RowFilter]] | None:
        """What a part of a compound is here: a value, a header, a concept with a column, or a word of the name."""
        root = german_root(word)
        values = [self._equal(at, column, codes) for column, codes in self._codes(root)]
        if values:
            return "value", values
        headers = [place for place, header in enumerate(self.vocabulary.headers) if root in header]
        headers = [place for place in headers if self.vocabulary.headers[place] == (root,)] or headers
        if headers:
            return "header", headers
        meant = {place for name, said in CONCEPTS.items() if root in said for place in self.vocabulary.of_concept(name)}
        if meant:
            return "concept", sorted(meant)
        return ("name", ()) if word in _HEADS or self.vocabulary.titled(root) else None
