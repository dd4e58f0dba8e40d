"""Split a text into sentences and words, by rules without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# A sentence ends at . ! ? … (with closing quotes or brackets) before white space and something that can begin one;
# a blank line, a list item, a table row and a heading end one too.
_GERMAN_MONTHS = "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"  # "am 3. Mai"
_BREAK = re.compile(
    rf"(?<=[.!?…。！？])(?:(?<!\b\d\.)(?<!\b\d\d\.)|(?!\s+(?:{_GERMAN_MONTHS})\b))[\"'”’)\]]*\s+(?=[\"'“‘(\[*_`]*[A-Z0-9ÀÖØ-ÞΑ-ΩА-Я])|\n\s*\n|\n(?=\s*(?:[-*+•|#>]|\d+[.)])\s?)|(?<=\|)\s*\n"
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"\w+(?:[.,:/'’-]\w+)*", re.UNICODE)
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "before",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "may",
        "me",
        "might",
        "more",
        "most",
        "must",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "on",
        "or",
        "our",
        "out",
        "over",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of a text: code points, `end` exclusive."""

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    r"""The sentences of *text* in order, without the white space around them.

    >>> text = "It rains. Dr. No stays in.\n- one\n- two"
    >>> [text[span.start:span.end] for span in sentences(text)]
    ['It rains.', 'Dr.', 'No stays in.', '- one', '- two']
    """
    spans, start = [], 0
    for gap in [*_BREAK.finditer(text), None]:
        end = gap.start() if gap else len(text)
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            spans.append(Span(start + lead, start + len(piece.rstrip())))
        start = gap.end() if gap else end
    return spans


def units(text: str) -> list[Span]:
    r"""The sentences of *text*, and each fenced block of code as one; a fence that is not closed goes to the end.

    >>> text = "Set it. So:\n```\na = 1\n\nb = 2\n```\nDone."
    >>> [text[span.start:span.end] for span in units(text)]
    ['Set it.', 'So:', '```\na = 1\n\nb = 2\n```', 'Done.']
    """
    found, place = [], 0
    for fence in [*_FENCE.finditer(text), None]:
        end = fence.start() if fence else len(text)
        found += [Span(place + span.start, place + span.end) for span in sentences(text[place:end])]
        if fence:
            found.append(Span(fence.start(), fence.start() + len(fence.group().rstrip())))
            place = fence.end()
    return found


def words(text: str) -> list[str]:
    """The words of *text*, folded to one case; numbers and codes with their inner marks are one word.

    >>> words("Port 7,316 of QX-5521!")
    ['port', '7,316', 'of', 'qx-5521']
    """
    return [found.group().casefold() for found in _WORD.finditer(text)]


def content_words(text: str) -> list[str]:
    """The words that carry meaning: no stop words, plain endings cut, each as often as it stands.

    >>> content_words("The pumps are failing")
    ['pump', 'fail']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Cut a plain English ending, so that `pumps` meets `pump`; numbers and short words stay.

    >>> stem("retries"), stem("failed"), stem("7.5")
    ('retry', 'fail', '7.5')
    """
    if len(word) < 5 or not word.isalpha():
        return word[:-1] if len(word) == 4 and word.endswith("s") and word.isalpha() and word[-2] != "s" else word
    for ending, instead in (("ies", "y"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            return (word[: -len(ending)] + instead).rstrip("e") or word
    return word.rstrip("e") if len(word) > 4 else word
