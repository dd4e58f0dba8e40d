"""Compare the number of a sentence with what a plan over tables gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from groundcheck.clauses import MODALS
from groundcheck.facts import NUMBER_WORDS
from ragdrop.tables.answer_tables import TableAnswer, answer_from_tables
from ragdrop.tables.asked import read_question
from ragdrop.tables.cell_values import CURRENCIES, unit_factor, unit_name
from ragdrop.tables.typed import TypedTable
from ragdrop.tables.vocabulary import FILLERS, asked_words, number_of

MAX_NUMBERS = 4  # of a sentence, each of which may be what it claims
_LOOSE_WORDS = (
    "about around approximately roughly nearly almost circa ca some if unless whether each per not another first "
    "etwa ungefähr rund knapp fast wenn ob"
)
_LOOSE = frozenset(_LOOSE_WORDS.split())
_DAYS = date(2000, 1, 15), date(2001, 3, 20)  # where they give different periods, the sentence counts from today


@dataclass(frozen=True, slots=True)
class CheckedNumber:
    """What a plan says of the number of a sentence: whether it is the same, and how it was computed."""

    agrees: bool
    computed: TableAnswer


def check_number(sentence: str, tables: Sequence[TypedTable]) -> CheckedNumber | None:
    r"""Compare *sentence* with the one plan over *tables* that asks for its number; None where none is certain.

    >>> from ragdrop.tables.text_tables import tables_in_text
    >>> tables = tables_in_text("item,EUR\ndog food,7\nvet of the dog,9\ncat,1\n", "costs.csv")
    >>> [check_number(f"The dog cost {number} EUR.", tables).agrees for number in (16, 7)]
    [True, False]
    >>> check_number("The bird cost 16 EUR.", tables) is None
    True
    """
    words = asked_words(sentence)
    if not _LOOSE.isdisjoint(words) or not MODALS.keys().isdisjoint(words):
        return None
    asked, later = (read_question(sentence, day) for day in _DAYS)
    if asked is None or later is None or asked.negated or asked.periods != later.periods:
        return None
    places = [at for at, word in enumerate(asked.words) if at not in asked.used and _readings(word)]
    found = [each for at in places[:MAX_NUMBERS] if (each := _compared(asked.words, at, tables)) is not None]
    return found[0] if len(found) == 1 else None


def _compared(words: Sequence[str], at: int, tables: Sequence[TypedTable]) -> CheckedNumber | None:
    """What the sentence gives as a question for its number at *at*."""
    before, behind = list(words[:at]), list(words[at + 1 :])
    if before and unit_name(before[-1]) in CURRENCIES.values():
        behind = [before.pop(), *behind]
    unit = unit_name(behind[0]) if behind else ""
    counts = bool(behind) and not unit and behind[0] not in FILLERS
    question = " ".join([*before, "how", "many" if counts else "much", *behind])
    given = answer_from_tables(question, tables, _DAYS[0])
    if given is None or given.number is None or given.plan is None or given.plan.group is not None:
        return None
    factor = unit_factor(unit, given.unit) if unit or given.unit == "s" else Decimal(1)
    if factor is None:
        return None
    result = abs(given.number / factor)
    agrees = any(abs(abs(each) - result) <= _half_digit(each) for each in _readings(words[at]))
    return CheckedNumber(agrees, given)


def _half_digit(number: Decimal) -> Decimal:
    """Half of the last digit that a number states: what rounding may take from it."""
    return Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)


def _readings(word: str) -> list[Decimal]:
    """The numbers that a word may be; a dot before three digits may separate thousands.

    >>> _readings("1.034"), _readings("1.034,50"), _readings("three"), _readings("dog")
    ([Decimal('1.034'), Decimal('1034')], [Decimal('1034.50')], [Decimal('3')], [])
    """
    read = [number_of(word)]
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", word):
        read.append(number_of(word.replace(".", "")))
    found = [each for each in read if each is not None]
    return found or ([Decimal(NUMBER_WORDS[word])] if word in NUMBER_WORDS and word != "one" else [])
