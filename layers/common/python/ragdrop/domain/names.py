"""Names in a sentence: capitalised words that must stand in its evidence."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from ragdrop.domain.sentences import STOP_WORDS

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
