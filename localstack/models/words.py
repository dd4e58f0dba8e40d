"""Turns text into comparable words: lower case, no stop words, light English stemming."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing done during each for from further had has have having he her here hers him his how i if in
    into is it its itself just me more most my no nor not of off on once only or other our out over own please s
    same she should so some such t tell than that the their them then there these they this those through to too
    under until up us very was we were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905  # a list of words reads as words
)
_ENDINGS = (
    ("ization", "ize"), ("isation", "ise"), ("ational", "ate"), ("fulness", "ful"), ("iveness", "ive"),
    ("ations", "ate"), ("ation", "ate"), ("ments", ""), ("ment", ""), ("ness", ""), ("ingly", ""), ("edly", ""),
    ("ings", ""), ("ing", ""), ("ions", ""), ("ion", ""), ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ers", ""),
    ("ed", ""), ("er", ""), ("es", ""), ("ly", ""), ("or", ""), ("al", ""), ("s", ""), ("e", ""), ("y", ""),
)  # fmt: skip


def stem(word: str) -> str:
    """A crude common root: endings are cut while at least three letters stay, doubled last letters are made single.

    Rough on purpose: it only ever compares words of a question with words of a few chunks.

    >>> [stem(word) for word in ("running", "runs", "promoted", "promotion", "replicas", "certificate", "8443")]
    ['run', 'run', 'promot', 'promot', 'replica', 'certificat', '8443']
    """
    if not word.isalpha() or not word.isascii():
        return word
    for ending, other in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + other
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def words(text: str) -> Iterator[str]:
    """Every word of *text* in order, stop words included, folded to lower case without accents, camelCase cut.

    >>> list(words("Müller's getPort()"))
    ['muller', 's', 'get', 'port']
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    for match in _WORD.finditer(_CAMEL.sub(" ", plain)):
        yield match[0].lower()


def roots(text: str) -> list[str]:
    """Stems of the words of *text* that carry meaning, in order, repeats kept.

    >>> roots("How long does the promotion take?")
    ['long', 'promot', 'tak']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]
