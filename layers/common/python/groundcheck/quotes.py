"""Quotes: where a passage stands word for word in a text."""

from __future__ import annotations

import re
from functools import lru_cache

from groundcheck.sentences import Span

SHORTEST_QUOTE = 2  # words: a shorter one in quotation marks is a term, not a quotation
_FOLDS = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " "})
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]')
_CUTS_BEFORE = re.compile(r"\w$|\d[.,]$")  # a find that begins within a word or a number
_CUTS_BEHIND = re.compile(r"\w|[.,]\d")


def quotations(claim: str) -> list[str]:
    """The quoted passages of *claim* that have at least two words.

    >>> quotations('He said "never again" and “no”.')
    ['never again']
    """
    found = [next(part for part in match.groups() if part) for match in _QUOTED.finditer(claim)]
    return [quote.rstrip(".,;:!?") for quote in found if len(quote.split()) >= SHORTEST_QUOTE]


def find_folded(wanted: str, text: str) -> Span | None:
    r"""Where *wanted* stands in *text* if white space, case and typographic quotes are folded; None if nowhere.

    >>> find_folded('He said “no”', 'Then he  said\n"NO".'), find_folded("5 km", "15 km")
    (Span(start=5, end=18), None)
    """
    held, places = _folded(text)
    needle = " ".join(wanted.lower().split()) if wanted.isascii() else _folded(wanted)[0].strip()
    start = held.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        if not _CUTS_BEFORE.search(held[max(0, start - 2) : start]) and not _CUTS_BEHIND.match(held[end : end + 2]):
            return Span(places[start], places[end - 1] + 1)
        start = held.find(needle, start + 1)
    return None


@lru_cache(maxsize=1_024)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """*text* in one case, with plain quotation marks and single blanks, and the place of each of its characters."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text.translate(_FOLDS)):
        if letter.isspace():
            if letters and letters[-1] == " ":
                continue
            letter = " "  # noqa: PLW2901
        low = letter.lower()
        letters.append(low if len(low) == 1 else letter)
        places.append(place)
    return "".join(letters), tuple(places)
