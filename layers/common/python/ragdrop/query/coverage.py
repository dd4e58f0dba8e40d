"""Coverage: the share of a question, by weight of its words, that a chunk and its headings contain."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from ragdrop.domain.chunks import Hit
from ragdrop.domain.languages import content_of, segmented

COMMON_SIZE = 60
"""Chunks that a word's rarity is counted over, where fewer were found: two full lists of candidates."""

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"(?<=\S )[^\W\d_a-z]\w+|\w*\d\w*")
_SUFFIXES = ("ing", "ied", "ies", "ed", "es", "s", "e")
_MIN_STEM = 3
STEM_LETTERS = 5  # of a word in Cyrillic or Arabic script, whose endings are many
_INFLECTED = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0370-\u03ff]")
# What questions are put with and not about.  A word of another language is no worse than any other: it counts.
_ENGLISH = (
    "a about all am an and any are as at be been being but by can could did do does for from get had has have he "
    "her his how i if in into is it its may me might must my no not of on or our shall she should so some such "
    "than that the their them then there these they this those to us was we were what when where which who whom "
    "whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_ENGLISH.split())


def coverage(question: str, hits: Sequence[Hit]) -> dict[str, float]:
    """Of each chunk, by its id, the share in [0, 1] of the question's words that it holds, each weighed by its rarity.

    Rarity is counted among *hits*, the candidates: an index would have to be asked, and in one that tenants share the
    answer would tell of their words.  A word that no candidate holds weighs most, so that a question about something
    else is covered by nothing.  Endings of English words do not count.  All 0 where the question has no such word.

    References:
        The weight is BM25's: Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, section 3.1.

    >>> from ragdrop.domain.chunks import Chunk
    >>> from ragdrop.domain.documents import Facts
    >>> from ragdrop.domain.keys import DocumentKey
    >>> text = "Backups are kept for 14 days."
    >>> held = Hit(DocumentKey("acme", "team", "a.md"), 1, Chunk(0, 0, len(text), text), Facts("", "v1", ""))
    >>> [round(share, 2) for share in coverage("How many days is a backup kept?", [held]).values()]
    [0.7]
    >>> list(coverage("Who won the cup?", [held]).values())
    [0.0]
    """
    wanted = tuple(content_words(question))
    chunks = {hit.chunk_id: hit for hit in hits}
    held = held_words(wanted, chunks.values())
    size, chunks_holding = max(len(held), COMMON_SIZE), Counter(held)
    weights = []
    for place in range(len(wanted)):
        having = sum(number for words, number in chunks_holding.items() if words >> place & 1)
        weights.append(math.log(1 + (size - having + 0.5) / (having + 0.5)))
    whole = math.fsum(weights) or 1.0
    shares = {  # most chunks hold the same few words: each share is added up once
        words: math.fsum(weight for place, weight in enumerate(weights) if words >> place & 1) / whole
        for words in chunks_holding
    }
    return {id_: shares[words] for id_, words in zip(chunks, held, strict=True)}


def agreement(question: str, hits: Sequence[Hit], covered: Mapping[str, float]) -> float:
    """How much the words of *hits* say about *question*, in [0, 1]: the most that one of them has *covered* of it.

    1 where one holds a name or number of the question: who names a thing is answered where it is named.  A capital
    letter makes a name, but for the first word.
    """
    names = frozenset(_stem(word.casefold()) for word in _NAME.findall(question)) - FUNCTION_WORDS
    if names and any(held_words(tuple(names), hits)):
        return 1.0
    return max(covered.values(), default=0.0)


def content_words(text: str) -> frozenset[str]:
    """The stems of the words of *text* that are no function words.

    >>> sorted(content_words("How many backups are there?"))
    ['backup', 'man']
    """
    told, not_about = content_of(text)
    words = (word for word in _WORD.findall(told.casefold()) if word not in FUNCTION_WORDS and word not in not_about)
    return frozenset(_stem(word) for word in words)


def held_words(stems: Sequence[str], hits: Iterable[Hit]) -> list[int]:
    """Of each chunk, which of *stems* are the stem of a word of it: a number with one bit for each, the first lowest.

    All chunks are searched as one text, and only a word that begins with a stem is cut out: most do not.
    """
    texts = ["\n".join((hit.chunk.in_context, *hit.chunk.heading_path, hit.facts.names)) for hit in hits]
    whole = "\n".join(texts)
    if whole.isascii():  # then no letter becomes two, and the chunks end where they did
        whole = whole.casefold()
    else:
        texts = [segmented(text).casefold() for text in texts]
        whole = "\n".join(texts)
    ends = list(accumulate(len(text) + 1 for text in texts))
    held = [0] * len(texts)
    for place, stem in enumerate(stems):
        at = whole.find(stem)
        while at >= 0:
            word = _WORD.match(whole, at) if at == 0 or not whole[at - 1].isalnum() else None
            begin = at + len(stem)
            if word and word[0] not in FUNCTION_WORDS and _stem(word[0]) == stem:
                chunk = bisect_right(ends, at)
                held[chunk] |= 1 << place
                begin = ends[chunk]  # once is enough
            at = whole.find(stem, begin)
    return held


@lru_cache(maxsize=16_384)  # the same words come with every question
def _stem(word: str) -> str:
    """*word* without an English ending, never shorter than 3 letters; of another script its first letters.

    >>> [_stem(word) for word in ("makes", "making", "copies", "QX", "is", "командой", "команды")]
    ['mak', 'mak', 'cop', 'QX', 'is', 'коман', 'коман']
    """
    if not word.isascii() and _INFLECTED.match(word):
        return word[:STEM_LETTERS]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            return word[: -len(suffix)]
    return word.removesuffix("y") if len(word) > _MIN_STEM else word
