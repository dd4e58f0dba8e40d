"""Names and numbers that changed places: a sentence that says the words of its evidence, but of one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ragdrop.domain.names import fold, names
from ragdrop.domain.polarity import OPPOSITES
from ragdrop.domain.quantities import NUMBER_WORDS, fold_dates

_TOKEN = re.compile(r"<[^>\s]+>|\d+(?:[.,]\d+)*|[^\W\d_][\w.]*(?:[-'’]\w+)*|[,;]")
_KINDS = frozenset({"<name>", "<number>", "<date>"})
_LISTED = frozenset({"and", "or", ",", ";"})  # what stands between two that may change places


@dataclass(frozen=True, slots=True)
class _Slot:
    """A word, or a name or number with the place it takes hidden behind `shown`."""

    shown: str
    value: str


def changed_places(claim: str, evidence: str) -> str | None:
    """What changed between two sentences of the same words: `name`, `number`, `date`, `negation`, or None.

    Two names that changed places, one that stands between the words of another, a word in the place of its opposite.  A
    sentence turned from active to passive (its count of "by" differs) and members of a list may change places.

    >>> changed_places("Accra lies south of Kumasi.", "Kumasi lies south of Accra.")
    'name'
    >>> changed_places("Rome and Oslo won 7 of 9 games.", "Oslo and Rome won 9 of 7 games.")
    'number'
    >>> changed_places("Kumasi was founded by Tutu.", "Tutu founded Kumasi.")
    """
    known = frozenset((*names(claim), *names(evidence)))
    said, shown = _slots(claim, known), _slots(evidence, known)
    matcher = SequenceMatcher(None, [slot.shown for slot in said], [slot.shown for slot in shown], autojunk=False)
    if _turned(said, shown, matcher):
        return "negation"
    if _passives(said) != _passives(shown):
        return None
    moved = [
        (said[block.a + step], shown[block.b + step], said[block.a : block.a + block.size], step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
        if said[block.a + step].shown in _KINDS and said[block.a + step].value != shown[block.b + step].value
    ]
    for mine, _, around, step in moved:
        if 0 < step < len(around) - 1 and not _a_list([around[step - 1]]) and not _a_list([around[step + 1]]):
            return mine.shown.strip("<>")
    places = {id(slot): place for place, slot in enumerate(said)}
    for one, (mine, its, _, _) in enumerate(moved):
        for other, its_other, _, _ in moved[one + 1 :]:
            crossed = mine.value == its_other.value and other.value == its.value and mine.shown == other.shown
            if crossed and not _a_list(said[places[id(mine)] : places[id(other)]]):
                return mine.shown.strip("<>")
    return None


def _turned(said: Sequence[_Slot], shown: Sequence[_Slot], matcher: SequenceMatcher[str]) -> bool:
    """Whether a word stands where the other sentence has its opposite."""
    return any(
        shown[there].value in OPPOSITES.get(said[here].value, ())
        for tag, a, a_end, b, b_end in matcher.get_opcodes()
        if tag == "replace" and a_end - a == b_end - b
        for here, there in zip(range(a, a_end), range(b, b_end), strict=True)
    )


def _slots(text: str, known: frozenset[str]) -> list[_Slot]:
    """The words of *text*; dates and neighbouring names are one each."""
    found: list[_Slot] = []
    for match in _TOKEN.finditer(fold_dates(text)):
        word = fold(match.group())
        if word[0] == "<":
            found.append(_Slot("<date>", word))
        elif word[0].isdigit() or word in NUMBER_WORDS:
            value = NUMBER_WORDS.get(word, word.replace(",", ""))
            found.append(_Slot("<number>", str(value)))
        elif word in known and not match.group().islower():
            if found and found[-1].shown == "<name>":
                found[-1] = _Slot("<name>", f"{found[-1].value} {word}")
            else:
                found.append(_Slot("<name>", word))
        else:
            found.append(_Slot(word, word))
    return found


def _passives(slots: Sequence[_Slot]) -> int:
    return sum(slot.value == "by" for slot in slots)


def _a_list(between: Sequence[_Slot]) -> bool:
    return all(slot.shown in _LISTED or slot.shown == between[0].shown for slot in between)
