"""How sure a reading of a question is: what of it was found, and what kinds of words have no place in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

from groundcheck.facts import NUMBER_WORDS
from groundcheck.sentences import STOP_WORDS
from ragdrop.tables.asked import Asked
from ragdrop.tables.cell_values import unit_name
from ragdrop.tables.match_meaning import PARTICIPLE
from ragdrop.tables.match_words import WHICH, NamedColumn
from ragdrop.tables.plans import Plan, RowFilter
from ragdrop.tables.table_words import NUMBERS
from ragdrop.tables.typed import TypedTable
from ragdrop.tables.vocabulary import ARTICLES, AUXILIARIES, COMPARATIVES, LOWER, german_root
from ragdrop.tables.word_relations import has_opposite, senses

_TURNS = (
    "more less fewer most least than outside inside without except excluding besides above below over under before "
    "last next letzten nächsten "
    "after since until apart half twice double again never another other rather instead monthly weekly daily yearly "
    "annual hourly minus plus top mehr weniger als außer ausser über unter vor nach seit bis halb doppelt wieder "
    "andere anderen nur zwei drei vier fünf zehn"
)
_TURNING = frozenset(_TURNS.split()) | NUMBER_WORDS.keys() | COMPARATIVES.keys() | LOWER
_INTO = frozenset("in at on for from to by with of into near im am an aus für mit von bei nach auf".split())  # noqa: SIM905
_OF_ONE = frozenset({"my", "our", "every", "each"}) | ARTICLES
REFUSES = frozenset({"code", "turn", "name", "unit", "deed"})
"""Kinds of words that no reading may leave over: numbers, names, units, what turns a sentence round, what was done."""
_FEW, _WORDS_OF_PROSE = 30, 2
LEAST = 1.5
"""The evidence that a reading needs to be answered."""
_WEIGHTS = {
    "asked adjective": -0.10, "asked noun": -0.50, "asked small": -0.27, "asked verb": -0.30, "bound of all": 0.12,
    "column asked": 0.16, "column by default": -0.39, "column meant": 0.15, "column named": 0.10,
    "counted asked": -0.52, "explained": 1.21, "german": 0.37, "german left": -0.11, "left": -1.90,
    "left before found": -0.46, "left last": -0.86, "list of date": -0.34, "list of number": -0.17,
    "list of text": -0.30, "noun": -0.16, "noun first": -0.22, "noun placed": -0.46, "noun unnamed": -0.82,
    "number by default": -0.38, "of count": -0.19, "of distinct": -0.09, "of extreme": 0.23, "of grouped": 0.32,
    "of list": -0.84, "of mean": 0.57, "of share": 0.27, "of sum": -0.29, "other conditions": 0.34,
    "parts of prose": -0.20, "parts of values": -0.41, "small": 0.32, "unit": -0.08, "values": 0.70, "verb": 0.51,
    "verb of when": -0.14, "verb of where": 0.10, "verb of who": -0.48, "verb opposite": -0.08, "verb unnamed": -0.51,
    "wants how much": -0.24, "wants list": 0.06, "wants what": -0.17, "wants when": 0.10, "wants where": 0.27,
    "wants which": -0.11, "wants who": 0.08, "whole table": -1.13,
}  # fmt: skip
"""Of each sign: a logistic regression over the questions of six sets, by `python -m benchmarks.table_evidence`."""


def word_kind(asked: Asked, at: int) -> str:
    """What kind of word stands at *at*, as it weighs where a reading leaves it over.

    One of REFUSES; or `noun`, `verb` or `small`, with what it does: `asked noun` right behind `how many`.
    """
    word, before = asked.words[at], asked.words[at - 1] if at else ""
    into = asked.words[at - 2] if before in ARTICLES and at > 1 else before
    refused = _refused_kind(asked, at, into)
    if refused:
        return refused
    kind = _german_kind(asked, at) if asked.root is german_root else _english_kind(word)
    if before in WHICH or before in {"many", "viele"} or at in {asked.fold_end, asked.superlative_end} - {0}:
        return f"asked {kind}"
    if kind == "verb" and before in _OF_ONE and asked.root is not german_root:
        kind = "noun"
    if kind == "verb" and asked.fold == "count" and _ends_a_deed(asked, at):
        return "deed"
    if kind == "verb":
        is_acting = asked.wants in {"who", "when", "where"}
        return f"verb of {asked.wants}" if is_acting else "verb opposite" if has_opposite(word) else "verb"
    return "noun first" if kind == "noun" and at == 0 else "noun placed" if kind == "noun" and into in _INTO else kind


def _ends_a_deed(asked: Asked, at: int) -> bool:
    """Whether a verb ends `how many violins did Bilal play`: what somebody did so often, a column must say."""
    behind = asked.words[at + 1 : at + 2]
    is_last = not behind or (behind[0] in _INTO and at + 1 not in asked.used)
    return is_last and not AUXILIARIES.isdisjoint(asked.words[:at])


def _refused_kind(asked: Asked, at: int, into: str) -> str:
    word = asked.words[at]
    if any(map(str.isdigit, word)):
        return "code"
    known = senses(word)
    if word in _TURNING:
        return "turn"
    is_unit = len(word) > 1 and word not in {"day", "days"} and bool(unit_name(word))
    if is_unit or (into == "in" and known is not None and known[0][1:2] == "t"):  # in francs: a sort of quantity
        return "unit"
    return "name" if at and at in asked.capitals and asked.root is not german_root else ""


def _german_kind(asked: Asked, at: int) -> str:
    word, is_plain = asked.words[at], 0 not in asked.capitals  # all in small letters
    is_verb = PARTICIPLE.fullmatch(word) or (word.endswith(("t", "en", "te")) and (not is_plain or at in {1, 2}))
    if at in asked.capitals or (is_plain and not is_verb and (at == 0 or len(word) > 7)):
        return "noun"
    is_adjective = not is_verb and word.endswith(("e", "en", "er", "es", "em")) and at + 1 in asked.capitals
    return "adjective" if is_adjective else "verb" if is_verb else "small"


def _english_kind(word: str) -> str:
    known = senses(word)
    if word.endswith(("ed", "ing")) or (known is not None and known[0].startswith("v")):
        return "verb"
    return "small" if known is None else "noun"


def plan_signs(
    asked: Asked,
    table: TypedTable,
    plan: Plan,
    left: Sequence[int],
    named: Iterable[NamedColumn],
    used: Set[int],
    meant: Set[int],
) -> dict[str, float]:
    """What speaks for and against *plan*, counted.

    *left* are the words that have no place in it, *used* those that have; *named* and *meant* are columns, by their
    header or by what is asked.
    """
    kinds = Counter(word_kind(asked, at) for at in left)
    content = [at for at, word in enumerate(asked.words) if word not in STOP_WORDS]
    values = [each for each in plan.filters if each.keys is not None]
    kind: str = "extreme" if plan.order is not None or plan.operation in {"min", "max"} else plan.operation
    kind = "grouped" if plan.group is not None else kind
    found: dict[str, float] = {
        **kinds,
        "left": len(left),
        "left last": bool(left) and left[-1] == len(asked.words) - 1,
        "left before found": sum(at + 1 in used - asked.used and asked.words[at + 1] not in STOP_WORDS for at in left),
        "explained": sum(at in used for at in content) / max(1, len(content)),
        "values": min(2, len(values)),
        "parts of values": min(2, sum(" has " in each.said for each in values)),
        "other conditions": min(2, len(plan.filters) - len(values)),
        f"of {kind}": 1,
        f"wants {asked.wants}": 1,
        "bound of all": any(_admits_all(each, table) for each in plan.filters),
        "parts of prose": sum(" has " in each.said and _is_prose(table, each.column) for each in values),
        "whole table": not plan.filters and kind not in {"extreme", "grouped"},
        "german": asked.root is german_root,
        "german left": len(left) * (asked.root is german_root),
    }
    if plan.operation in {"count", "distinct"}:
        found["counted asked"] = sum(count for said, count in kinds.items() if said.startswith("asked"))
    given = plan.order if plan.column is None else plan.column
    if given is not None:
        sure = [each for each in named if each.weight >= 2]
        found |= _column_signs(given, kinds, {each.column for each in sure}, meant)
        found["column asked"] = any(each.column == given and asked.words[each.start - 1] in WHICH for each in sure)
        found[f"list of {table.columns[given].kind}"] = kind == "list"
        found["number by default"] = "column by default" in found and table.columns[given].kind in NUMBERS
    return found


def _admits_all(condition: RowFilter, table: TypedTable) -> bool:
    """Whether a bound leaves no number out: what was meant may be another column."""
    low, high = table.columns[condition.column].ends
    is_below = condition.low is None or condition.low <= low
    return condition.keys is None and is_below and (condition.high is None or high <= condition.high)


def _is_prose(table: TypedTable, column: int) -> bool:
    """Whether cells are sentences rather than names, as notes are: a word of them says little."""
    texts = table.columns[column].texts[:_FEW]
    return sum(text.count(" ") for text in texts) >= _WORDS_OF_PROSE * len(texts)


def _column_signs(column: int, kinds: Counter[str], named: Set[int], meant: Set[int]) -> dict[str, float]:
    """How the column of the answer was found, and what is left over where it was not named."""
    if column in named:
        return {"column named": 1}
    unnamed: dict[str, float] = {
        f"{each} unnamed": sum(count for said, count in kinds.items() if each in said) for each in ("noun", "verb")
    }
    return unnamed | {"column meant" if column in meant else "column by default": 1}


def evidence(found: Mapping[str, float]) -> float:
    """The logarithm of the odds that a plan with these signs is right."""
    return 2.4 + sum(_WEIGHTS.get(name, 0.0) * count for name, count in found.items())
