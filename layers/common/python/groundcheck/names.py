"""Names in a sentence: capitalised words that its evidence must contain."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from groundcheck.facts import NUMBER_WORDS, fold_dates
from groundcheck.polarity import OPPOSITES
from groundcheck.sentences import STOP_WORDS

_WORD = re.compile(r"[^\W\d_][\w.]*(?:[-'’][^\W\d_]\w*)*", re.UNICODE)
# Words that begin a sentence with a capital and name nothing.
_OPENING_WORDS = (
    "according additionally afterwards also although another because besides both compared consequently currently "
    "despite due during each earlier either eventually every finally following furthermore generally given hence "
    "however important in indeed initially instead its later likewise many meanwhile moreover most nearly neither "
    "nevertheless nonetheless note notably now nowadays often once one only originally other others otherwise overall "
    "people per perhaps previously rather recently regarding several similarly since sometimes soon specifically "
    "still subsequently therefore though through throughout thus today together two typically unless unlike until "
    "upon usually various whereas whether within yes yet three four five six seven eight nine ten first second third "
    "the document documents source sources text passage context author authors researchers scientists experts "
    "scholars critics historians users it's there's"
)
_OPENERS = frozenset(_OPENING_WORDS.split())
_DERIVED = ("ed", "ing")


def names(sentence: str) -> list[str]:
    """The names of *sentence*, folded; its first word counts only where it cannot be a plain word.

    >>> names("According to Shirley Temple, Ghana's capital is Accra."), names("Kelly married Jay-Z.")
    (['shirley', 'temple', 'ghana', 'accra'], ['kelly', 'jay-z'])
    """
    found = list(_WORD.finditer(sentence))
    return [
        fold(match.group())
        for place, match in enumerate(found)
        if _is_name(match.group())
        and (place > 0 or _names_at_start(match, sentence, found[1:2]))
        and not _begins_a_quote(sentence, match)
    ]


@lru_cache(maxsize=16_384)
def fold(word: str) -> str:
    """One spelling of a name: no case, no dots, no possessive ending.

    >>> fold("U.S."), fold("Ghana's"), fold("James'")
    ('us', 'ghana', 'james')
    """
    return re.sub(r"['’]s?$", "", word.casefold()).replace(".", "")


@lru_cache(maxsize=1_024)
def folded_words(text: str) -> frozenset[str]:
    """All words of *text*, folded as names are, and the parts of joined ones.

    >>> sorted(folded_words("Jay-Z's U.S. tour"))
    ['jay', 'jay-z', 'tour', 'us', 'z']
    """
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = fold(match.group())
        found.add(word)
        if "-" in word or "'" in word or "’" in word:
            found.update(re.split(r"[-'’]", word))
    return frozenset(found)


def stands_in(name: str, words: Set[str]) -> bool:
    """Whether a name stands among *words*, its plural and parts of a joined name too.

    >>> stands_in("romans", {"roman"}), stands_in("jay-z", {"jay", "z"}), stands_in("bob", {"rob"})
    (True, True, False)
    """
    if name in words or name.rstrip("s") in words or f"{name}s" in words:
        return True
    parts = [part for part in re.split(r"[-'’]", name) if part]
    return len(parts) > 1 and all(part in words for part in parts)


def _is_name(word: str) -> bool:
    if word[0].isupper():
        return len(word) > 1 and word.casefold() not in STOP_WORDS
    return not word.islower() and word.casefold() != word  # iPhone, eBay


def _names_at_start(first: re.Match[str], sentence: str, following: list[re.Match[str]]) -> bool:
    folded = fold(first.group())
    if any(letter.isupper() for letter in first.group()[1:]):
        return True
    if folded in _OPENERS or folded in STOP_WORDS:
        return False
    if following and following[0].group()[0].isupper() and following[0].group().casefold() not in STOP_WORDS:
        return True
    adverb = folded.endswith("ly") and sentence[first.end() :].startswith(",")
    return not adverb and not folded.endswith(_DERIVED)


def _begins_a_quote(sentence: str, match: re.Match[str]) -> bool:
    """A capital behind an opening quote may be that of a quoted sentence: the quote itself is checked verbatim."""
    before = sentence[: match.start()].rstrip(" ")
    return before.endswith(('"', "“", "„")) and before.count('"') % 2 == 1


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
