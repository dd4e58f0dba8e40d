"""Read a question for what a plan needs: what is folded, periods, bounds, superlatives, negations."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from groundcheck.facts import NUMBER_WORDS
from ragdrop.tables.cell_values import DAY_S, MONTH_NUMBERS, seconds_of_date, unit_name
from ragdrop.tables.question_patterns import BOUND_PATTERNS, DIFFERENCE_SAID, FOLD_PATTERNS, GROUP_SAID, IN_PERCENT
from ragdrop.tables.vocabulary import (
    ADJECTIVES,
    COMPARATIVES,
    LOWER,
    NEGATIONS,
    NO_GERMAN_TABLE,
    NO_TABLE,
    SUPERLATIVES,
    WON,
    Root,
    asked_concepts,
    asked_words,
    capital_max,
    english_root,
    german_root,
    in_brackets,
    in_capitals,
    number_of,
    root_of,
    wants_of,
    with_capitals,
)

_BEFORE = "in during of since until from last this for and between to by before after than or im through every"
_BEFORE_MONTH = frozenset(_BEFORE.split())  # what stands before a month, not before `may` or `march`
_FROM = frozenset({"between", "from", "zwischen", "von", "vom"})
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")  # of German
_TO = frozenset({"to", "until", "till", "through", "bis", "-"})
_OPEN = dict.fromkeys(("later", "newer", "younger", "after", "später", "neuer"), True)
_OPEN |= dict.fromkeys(("earlier", "older", "before", "früher", "älter"), False)
_PLACING = frozenset({"for", "from", "at", "in", "on", "by", "to"})
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}
_QUARTERS |= {f"{word}{end}": at for at, word in enumerate(("erste", "zweite", "dritte", "vierte"), 1) for end in "snr"}
_FIRST_OR_LAST = {"first": True, "zuerst": True, "last": False, "zuletzt": False}
_CHOSEN = frozenset({"the", "which", "die", "welche", "welchen"})
_FIRST = re.compile(r"(?<!\S)(?:top|first|bottom|last|die ersten) (\d{1,3}|[a-z]{3,6})(?!\S)")


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, month, quarter or year; what is not said is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    months: int = 1

    def days(self, year: int) -> tuple[date, date]:
        """Its first and last day; *year* where it says none."""
        year = self.year or year
        if self.month is None:
            return date(year, 1, 1), date(year, 12, 31)
        if self.day is not None:
            return date(year, self.month, self.day), date(year, self.month, self.day)
        over = self.month + self.months
        end = date(year + (over > 12), over - 12 if over > 12 else over, 1) - timedelta(days=1)
        return date(year, self.month, 1), end


@dataclass(frozen=True, slots=True)
class Period:
    """A time from `first` to `last`, None where it is open, at words `start` to `end`."""

    first: Moment | None
    last: Moment | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that a column is compared with: `low` to `high`, the ends included unless `strict`; `unit` if said."""

    low: Decimal | None
    high: Decimal | None
    start: int
    end: int
    strict: bool = False
    unit: str = ""
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, word by word, and what of it was understood without a table; places count words from 0."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    used: frozenset[int]
    fold: str = ""  # count, distinct, sum, mean, median, share, or empty
    fold_end: int = 0
    superlative: tuple[bool, tuple[str, ...]] | None = None  # whether the least, and which concepts
    superlative_end: int = 0
    said_most: bool = False
    said_often: bool = False
    first: int | None = None
    periods: tuple[Period, ...] = ()
    bounds: tuple[Bound, ...] = ()
    negated: frozenset[int] = frozenset()
    group_at: int | None = None
    difference: bool = False
    concepts: tuple[str, ...] = ()  # of `how long`, `who` and the like
    wants: str = "what"
    upper: frozenset[int] = frozenset()  # words in capitals, such as IT
    capitals: frozenset[int] = frozenset()  # words that begin with a capital letter
    glossed: frozenset[int] = frozenset()  # words in brackets, which say again what stands before them
    today: date = date(2000, 1, 1)
    root: Root = english_root


class _Reader:
    """Reads one question; `free` are the words that nothing has used yet."""

    def __init__(self, words: list[str], today: date) -> None:
        self.words, self.today = words, today
        self.text = " ".join(words)
        self.starts = [0]
        for word in words:
            self.starts.append(self.starts[-1] + len(word) + 1)
        self.used: set[int] = set()

    def span(self, found: re.Match[str]) -> tuple[int, int]:
        """The words of a match."""
        first = next(at for at, start in enumerate(self.starts) if start >= found.start())
        last = next(at for at, start in enumerate(self.starts) if start >= found.end())
        return first, last

    def take(self, found: re.Match[str]) -> tuple[int, int] | None:
        """The words of a match, which are used now; None where one of them was."""
        first, last = self.span(found)
        if not self.used.isdisjoint(range(first, last)):
            return None
        self.used.update(range(first, last))
        return first, last

    def take_groups(self, found: re.Match[str]) -> str:
        """Use the words of all groups of a match, not those between them; the last group."""
        said = [(name, group) for name, group in found.groupdict().items() if group]
        for name, group in said:
            start = next(at for at, begin in enumerate(self.starts) if begin >= found.start(name))
            self.used.update(range(start, start + group.count(" ") + 1))
        return said[-1][1]

    def bounds(self) -> list[Bound]:
        found = []
        for pattern, sign in BOUND_PATTERNS:
            for match in pattern.finditer(self.text):
                bound = self._bound(match, sign)
                if bound is not None:
                    found.append(bound)
        return found

    def _bound(self, match: re.Match[str], sign: str) -> Bound | None:
        parts = match.groupdict()
        number = number_of(parts["n"])
        if number is None or self._is_date(match):
            return None
        place = self.take(match)
        if place is None:
            return None
        number *= {"thousand": 1_000, "k": 1_000, "million": 10**6}.get(parts.get("k") or "", 1)
        end = place[1]
        unit = unit_name(parts.get("unit") or "") or unit_name(parts.get("sign") or "")
        if not unit and end < len(self.words):
            unit = unit_name(self.words[end])
            if unit:
                self.used.add(end)
                end += 1
        word = parts.get("word") or ""
        concepts = tuple(COMPARATIVES.get(word, "money" if parts.get("adjective") else "").split())
        low, high, strict = _ends(sign, word, number, number_of(parts.get("m") or ""))
        return Bound(low, high, place[0], end, strict, unit, concepts)

    def _is_date(self, match: re.Match[str]) -> bool:
        word = match.groupdict().get("word") or ""
        behind = self.text[match.end() :].split()[:1]
        is_year = (
            bool(re.fullmatch(r"(?:1[5-9]|20)\d\d", match["n"]))
            and word in {"", "older", "younger"}
            and "between" not in match[0]
        )
        is_day = seconds_of_date(match["n"]) is not None or (behind and behind[0] in MONTH_NUMBERS)
        return is_day or (is_year and not (behind and unit_name(behind[0])))

    def periods(self) -> list[Period]:
        found, at = [], 0
        while at < len(self.words):
            days = None if at in self.used else self._days(at)
            if days is not None:
                self.used.update(range(days.start, days.end))
                found.append(days)
                at = days.end
                continue
            read = None if at in self.used else self._moment(at)
            if read is None:
                at += 1
                continue
            period = self._period(at, *read)
            self.used.update(range(period.start, period.end))
            found.append(period)
            at = period.end
        return found

    def _period(self, at: int, moment: Moment, end: int) -> Period:
        while at and self.words[at - 1] in {"dem", "den", "the"}:  # `nach dem 1. Oktober`
            at -= 1
        before = self.words[at - 1] if at else ""
        joined = self.words[end] if end < len(self.words) else ""
        if joined in _TO or (before in _FROM and joined in {"and", "und"}):
            other = self._moment(end + 1)
            if other is not None:
                at -= before in _FROM
                return Period(replace(moment, year=moment.year or other[0].year), other[0], at, other[1])
        open_end = _OPEN.get(self._word(end + 1)) if joined in {"or", "oder"} else None
        if open_end is not None:
            first, last = (moment, None) if open_end else (None, moment)
            return Period(first, last, at - (before in _FROM), end + 2)
        match before:
            case "since" | "from" | "seit" | "ab":
                return Period(moment, None, at - 1, end)
            case "than" | "als" if self.words[at - 2 : at - 1] in (["older"], ["earlier"], ["älter"], ["früher"]):
                eve = moment.days(self.today.year)[0] - timedelta(days=1)
                last = Moment(eve.year, eve.month, eve.day) if moment.month else Moment(eve.year)
                return Period(None, last, at - 2, end)
            case "after" | "nach" | "than" if before != "than" or self.words[at - 2 : at - 1] in (["later"], ["newer"]):
                if moment.month is None:
                    return Period(Moment((moment.year or 0) + 1), None, at - 1, end)
                day = moment.days(self.today.year)[1] + timedelta(days=1)
                return Period(Moment(day.year, day.month, day.day), None, at - 1, end)
            case "before" | "vor":
                if moment.month is None:
                    return Period(None, Moment((moment.year or 0) - 1), at - 1, end)
                day = moment.days(self.today.year)[0] - timedelta(days=1)
                return Period(None, Moment(day.year, day.month, day.day), at - 1, end)
            case "until" | "till" | "through" | "bis":
                return Period(None, moment, at - 1, end)
        return Period(moment, moment, at, end)

    def _days(self, at: int) -> Period | None:
        """Two days of one month: `from 6 to 10 may`."""
        first, joined = self._day(at), self._word(at + 1)
        last = self._named(at + 2) if first is not None and joined in {"to", "and", "-", "bis", "und"} else None
        if first is None or last is None or last[0].day is None or self._word(at - 1) not in _FROM:
            return None
        return Period(Moment(last[0].year, last[0].month, first), last[0], at - 1, last[1])

    def _moment(self, at: int) -> tuple[Moment, int] | None:
        for read in (self._written, self._named, self._quarter, self._relative, self._year):
            found: tuple[Moment, int] | None = read(at) if at < len(self.words) else None
            if found is not None:
                return found
        return None

    def _written(self, at: int) -> tuple[Moment, int] | None:
        word = self.words[at]
        seconds = seconds_of_date(word) if re.search(r"[-./]", word) else None
        if seconds is None:
            return None
        day = date.fromordinal(seconds // DAY_S + 1)
        month_only = re.fullmatch(r"\d{4}-\d{1,2}", word)
        return Moment(day.year, day.month, None if month_only else day.day), at + 1

    def _named(self, at: int) -> tuple[Moment, int] | None:
        day, month_at = self._day(at), at
        if day is not None:
            month_at = at + 1 + (self._word(at + 1) in {"of"})
        month = MONTH_NUMBERS.get(self._word(month_at))
        if month is None:
            return None
        end = month_at + 1
        if day is None and self._day(end) is not None:
            day, end = self._day(end), end + 1
        year_at = end + (self._word(end) in {"of", "in"})
        year = self._year_at(year_at)
        is_bare = self._word(month_at) in {"may", "march", "mar", "dec", "sep"} and day is None and year is None
        if is_bare and (self._word(at - 1) not in _BEFORE_MONTH or self._word(end) in {"be", "i", "we"}):
            return None
        if day is not None and not 1 <= day <= 31:
            return None
        return Moment(year, month, day), end if year is None else year_at + 1

    def _quarter(self, at: int) -> tuple[Moment, int] | None:
        short = re.fullmatch(r"q([1-4])", self._word(at))
        named = _QUARTERS.get(self._word(at))
        if short:
            number, end = int(short[1]), at + 1
        elif named and self._word(at + 1) in {"quarter", "quartal"} and self._word(at) != "last":
            number, end = named, at + 2
        else:
            return None
        year_at = end + (self._word(end) == "of")
        year = self._year_at(year_at)
        return Moment(year, number * 3 - 2, None, 3), end if year is None else year_at + 1

    def _relative(self, at: int) -> tuple[Moment, int] | None:
        word, unit, today = self._word(at), self._word(at + 1), self.today
        if word in {"today", "heute", "yesterday", "gestern"}:
            day = today - timedelta(days=word in {"yesterday", "gestern"})
            return Moment(day.year, day.month, day.day), at + 1
        back = {"this": 0, "current": 0, "last": 1, "previous": 1, "next": -1, "dieses": 0, "letztes": 1, "diesen": 0,
                "letzten": 1, "diesem": 0, "letztem": 1}.get(word)  # fmt: skip
        if back is None:
            return None
        if unit in {"year", "jahr"}:
            return Moment(today.year - back), at + 2
        if unit in {"month", "monat"}:
            months = today.year * 12 + today.month - 1 - back
            return Moment(months // 12, months % 12 + 1), at + 2
        return None

    def _year(self, at: int) -> tuple[Moment, int] | None:
        year = self._year_at(at)
        return None if year is None else (Moment(year), at + 1)

    def _year_at(self, at: int) -> int | None:
        word = self._word(at)
        return int(word) if re.fullmatch(r"(?:1[5-9]|20|21)\d\d", word) and at not in self.used else None

    def _day(self, at: int) -> int | None:
        found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|\.)?", self._word(at))
        return int(found[1]) if found and at not in self.used else None

    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""


def _ends(sign: str, word: str, number: Decimal, other: Decimal | None) -> tuple[Decimal | None, Decimal | None, bool]:
    """The lowest and highest number of a bound, and whether they are left out."""
    if sign == "between":
        return number, other, False
    if sign == "=":
        return number, number, False
    if sign in {">=", "<="}:
        return (number, None, False) if sign == ">=" else (None, number, False)
    is_lower = word in LOWER or word == "<"
    if sign == "not":
        return (number, None, False) if is_lower else (None, number, False)
    return (None, number, True) if is_lower else (number, None, True)


def read_question(question: str, today: date) -> Asked | None:
    """What *question* asks of a table; None where it asks for no number, row or list: yes or no, how to, why.

    >>> asked = read_question("How many tours were longer than 80 km in August 2026?", date(2026, 11, 1))
    >>> asked.fold, asked.bounds[0].low, asked.bounds[0].unit, asked.periods[0].first
    ('count', Decimal('80'), 'km', Moment(year=2026, month=8, day=None, months=1))
    >>> read_question("Why is the pump red?", date(2026, 11, 1)) is None
    True
    """
    words = asked_words(question)
    root = root_of(words)
    if root is german_root:
        words = [word.replace(".", "") if _THOUSANDS.fullmatch(word) else word for word in words]
    text = " ".join(words)
    if not words or (NO_GERMAN_TABLE if root is german_root else NO_TABLE).match(text):
        return None
    reader = _Reader(words, today)
    difference, compared = DIFFERENCE_SAID.search(text), ""
    if difference:
        compared = reader.take_groups(difference)
    bounds, periods = reader.bounds(), reader.periods()
    fold, fold_end = "", 0
    for pattern, name in FOLD_PATTERNS:
        for match in pattern.finditer(text):
            is_mean = fold == "count" and name == "mean"
            place = reader.take(match) if not fold or name == "sum" or is_mean else None
            if place is not None:
                fold, fold_end = name if is_mean else fold or name, fold_end or place[1]
    if fold == "share" and (unit := IN_PERCENT.search(text)):
        reader.take(unit)
    if difference and not fold and "many" in difference[0]:
        fold, fold_end = "count", reader.words.index(compared) + 1 if compared else 0
    first = _first(reader)
    names = capital_max(question, words)
    reader.used |= names
    superlative, said_most, superlative_end = _superlative(reader, folded=bool(fold))
    reader.used -= names
    if superlative is None and first and not {"top", "bottom"}.isdisjoint(words):
        superlative = "bottom" in words, ()
    group = next(
        (found for found in GROUP_SAID.finditer(text) if reader.used.isdisjoint(range(*reader.span(found)))), None
    )
    negated = frozenset(at for at, word in enumerate(words) if word in NEGATIONS or word.endswith("n't"))
    reader.used.update(negated)
    return Asked(
        tuple(words),
        tuple(map(root, words)),
        frozenset(reader.used),
        fold,
        fold_end,
        superlative,
        superlative_end,
        said_most,
        bool(superlative_end) and words[superlative_end - 1].startswith(("häufig", "öft")),
        first,
        tuple(periods),
        tuple(bounds),
        negated,
        reader.span(group)[1] if group else None,
        difference is not None,
        asked_concepts(text) or tuple(COMPARATIVES.get(compared, "").split()),
        wants_of(words),
        in_capitals(question, len(words)),
        with_capitals(question, len(words)),
        in_brackets(question),
        today,
        root,
    )


_COUNTED = NUMBER_WORDS | {"zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "zehn": 10}


def _first(reader: _Reader) -> int | None:
    for found in _FIRST.finditer(reader.text):
        number = int(found[1]) if found[1].isdigit() else NUMBER_WORDS.get(found[1])
        if number and reader.take(found):
            return number
    for at, word in enumerate(reader.words[:-1]):
        number = int(word) if word.isdigit() and len(word) < 4 else _COUNTED.get(word)
        near = 9 if at and reader.words[at - 1] in _CHOSEN else 3  # `the three runs with the most salt`
        if number and at not in reader.used and any(map(_least_or_most, reader.words[at + 1 : at + near])):
            reader.used.add(at)
            return number
    return None


def _least_or_most(word: str) -> tuple[bool, str] | None:
    """What a superlative says, with the endings of German; None if it is none."""
    for ending in ("", "n", "r", "s", "m"):
        if word.endswith(ending) and word[: len(word) - len(ending)] in SUPERLATIVES:
            return SUPERLATIVES[word[: len(word) - len(ending)]]
    return None


def _superlative(reader: _Reader, *, folded: bool) -> tuple[tuple[bool, tuple[str, ...]] | None, bool, int]:
    """Whether the least is asked for, by which concepts; whether a bare `most` or `least` says so; where it ends."""
    for at, word in enumerate(reader.words):
        said = None if at in reader.used else _least_or_most(word)
        if said is None or (folded and word in {"minimum", "maximum", "min", "max"}):
            continue
        least, concepts = said
        behind = reader.words[at + 1] if at + 1 < len(reader.words) else ""
        reader.used.add(at)
        if word in {"most", "least"} and behind in ADJECTIVES:
            reader.used.add(at + 1)
            return (least, (ADJECTIVES[behind],)), behind == "popular", at + 2
        return (
            (least, tuple(concepts.split())),
            word in {"most", "least", "fewest", "meisten", "wenigsten"} or word.startswith(("häufig", "öft")),
            at + 1,
        )
    for at, word in enumerate(reader.words):
        if word in WON and at not in reader.used and not folded:
            reader.used.add(at)
            return (True, ("rank",)), False, at + 1
        behind = reader.words[at + 1] if at + 1 < len(reader.words) else ""
        is_adverb = behind in {"", *_PLACING} or word.startswith("zu") or not {"when", "wann"}.isdisjoint(reader.words)
        if word in _FIRST_OR_LAST and at not in reader.used and is_adverb and not folded:
            reader.used.add(at)
            return (_FIRST_OR_LAST[word], ("date",)), False, at + 1
    return None, False, 0
