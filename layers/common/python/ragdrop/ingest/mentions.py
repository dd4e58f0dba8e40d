"""Mentions: names in a text that may be the titles of other documents, as links to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragdrop.domain.links import MAX_TEXT_CHARACTERS, Link

MAX_MENTIONS = 45
"""Of a document: they hold 81 % of the titles that occur in a page of HotpotQA, 30 hold 74 % (evidence/quality.md).

Two pages of so many leave room in the hundred targets of one level.
"""
MIN_WORD_LETTERS = 4  # of a single word: shorter ones are seldom titles
MAX_NAME_WORDS = 8

_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
_JOINED = re.compile(r"[ ,:!]{1,2}")  # what may stand between two words of one name
_SMALL_WORDS = "of the and de la le du del della di da van von der den for in on at to a an"
_SMALL = frozenset(_SMALL_WORDS.split())

Word = tuple[str, int, int]


def mentions(text: str, *, body_start: int = 0) -> tuple[Link, ...]:
    """The names in *text* as wikilinks: runs of words with a capital or a number, then the parts of such runs.

    Whether a document has such a name is found out when links are followed, so that the order in which documents
    arrive does not count.  At most 45, each once, in order of their place.

    >>> [link.text for link in mentions("sold to the Harbour Trust of Kiel, and then to Pump Ltd.")]
    ['Harbour Trust of Kiel', 'Pump Ltd', 'Trust of Kiel', 'Harbour Trust', 'Harbour', 'Trust', 'Kiel', 'Pump']
    """
    runs = list(_runs(text, body_start))
    whole = dict.fromkeys(_told(text, run) for run in runs)
    parts = dict.fromkeys(_told(text, part) for run in runs for part in _parts(run))
    names = [name for name in {**whole, **parts} if len(name) <= MAX_TEXT_CHARACTERS]
    return tuple(Link(f"[[{name}]]", name) for name in names[:MAX_MENTIONS])


def _runs(text: str, start: int) -> Iterator[list[Word]]:
    """Words that stand side by side and begin with a capital or a digit, small words between them included."""
    run: list[Word] = []
    for found in _WORD.finditer(text, start):
        word = (found.group(), found.start(), found.end())
        large = word[0][0].isupper() or word[0][0].isdigit()
        apart = run and not _JOINED.fullmatch(text, run[-1][2], word[1])
        if run and (apart or not (large or word[0] in _SMALL)):
            yield from _name(run)
            run = []
        if large or run:
            run.append(word)
    yield from _name(run)


def _name(run: list[Word]) -> Iterator[list[Word]]:
    while run and run[-1][0] in _SMALL:
        run = run[:-1]
    if run and not all(word[0].isdigit() for word, _, _ in run) and _is_name(run):
        yield run[:MAX_NAME_WORDS]


def _parts(run: list[Word]) -> Iterator[list[Word]]:
    """Shorter names in a name, longest first."""
    for size in range(len(run) - 1, 0, -1):
        for at in range(len(run) - size + 1):
            part = run[at : at + size]
            if part[0][0] not in _SMALL and part[-1][0] not in _SMALL and _is_name(part):
                yield part


def _is_name(part: list[Word]) -> bool:
    return len(part) > 1 or (part[0][0][0].isupper() and len(part[0][0]) >= MIN_WORD_LETTERS)


def _told(text: str, words: list[Word]) -> str:
    return " ".join(text[words[0][1] : words[-1][2]].split())
