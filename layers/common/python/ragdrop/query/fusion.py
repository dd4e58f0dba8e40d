"""Fuse vector and lexical hits into one ranking."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

from ragdrop.domain.chunks import Filters, Hit, ranked_by
from ragdrop.domain.languages import FUNCTION_WORDS, content_of, language_of, segmented

COMMON_SIZE = 60
"""Chunks that a word's rarity is counted over, where fewer were found: two full lists of candidates."""

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"(?<=\S )[^\W\d_a-z]\w+|\w*\d\w*")
_SUFFIXES = ("ing", "ied", "ies", "ed", "es", "s", "e")
_MIN_STEM = 3
STEM_LETTERS = 5  # of a word in Cyrillic or Arabic script, and in any language but English: its endings are many
_INFLECTED = re.compile(r"[\u0400-\u04ff\u0600-\u06ff\u0370-\u03ff]")
_ARABIC_PREFIX = re.compile(
    r"(?<!\w)[\u0648\u0641\u0628\u0644\u0643]?(?:\u0627\u0644|\u0644\u0644)(?=\w{3})"
)  # "and the"
_UNINFLECTED = frozenset({"en", "zh", "ja", "ko", "th", None})  # English has its suffixes, the others pairs of signs


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
    >>> text = "Backups are stored for 14 days."
    >>> hit = Hit(DocumentKey("acme", "team", "a.md"), 1, Chunk(0, 0, len(text), text), Facts("", "v1", ""))
    >>> [round(share, 2) for share in coverage("How many days is a backup stored?", [hit]).values()]
    [0.7]
    >>> list(coverage("Who won the cup?", [hit]).values())
    [0.0]
    """
    language = language_of(question)
    stems = tuple(content_words(question, language))
    chunks = {hit.chunk_id: hit for hit in hits}
    contained = contained_words(stems, chunks.values(), language)
    size, chunks_containing = max(len(contained), COMMON_SIZE), Counter(contained)
    weights = []
    for place in range(len(stems)):
        having = sum(number for words, number in chunks_containing.items() if words >> place & 1)
        weights.append(math.log(1 + (size - having + 0.5) / (having + 0.5)))
    whole = math.fsum(weights) or 1.0
    shares = {  # most chunks contain the same few words: each share is added up once
        words: math.fsum(weight for place, weight in enumerate(weights) if words >> place & 1) / whole
        for words in chunks_containing
    }
    return {id_: shares[words] for id_, words in zip(chunks, contained, strict=True)}


def agreement(question: str, hits: Sequence[Hit], covered: Mapping[str, float]) -> float:
    """How much the words of *hits* say about *question*, in [0, 1]: the most that one of them has *covered* of it.

    1 where one holds a name or number of the question: who names a thing is answered where it is named.  A capital
    letter makes a name, but for the first word.
    """
    names = _names(question)
    if names and any(contained_words(names, hits)):
        return 1.0
    return max(covered.values(), default=0.0)


def lacking_names(question: str, hits: Sequence[Hit]) -> dict[str, float]:
    """Of each chunk, by its id, the share in [0, 1] of the names and numbers of *question* that it does not hold.

    Empty where the question has none.  An answer about a name stands where the name does.
    """
    names = _names(question)
    chunks = {hit.chunk_id: hit for hit in hits} if names else {}
    contained = contained_words(names, chunks.values())
    return {id_: 1 - words.bit_count() / len(names) for id_, words in zip(chunks, contained, strict=True)}


def _names(question: str) -> tuple[str, ...]:
    return tuple(frozenset(_stem(word.casefold()) for word in _NAME.findall(question)) - FUNCTION_WORDS)


def content_words(text: str, language: str | None = None) -> frozenset[str]:
    """The stems of the words of *text* that are no function words; in another *language* than English their beginnings.

    >>> sorted(content_words("How many backups are there?")), sorted(content_words("Wer wartet die Pumpen?", "de"))
    (['backup', 'man'], ['pumpe', 'warte'])
    """
    content, not_about = content_of(text)
    content = _without_prefixes(content, language)
    words = (word for word in _WORD.findall(content.casefold()) if word not in FUNCTION_WORDS and word not in not_about)
    return frozenset(_stem(word, language) for word in words)


def contained_words(stems: Sequence[str], hits: Iterable[Hit], language: str | None = None) -> list[int]:
    """Of each chunk, which of *stems* are the stem of a word of it: a number with one bit for each, the first lowest.

    Both are stems by the rules of *language*.
    All chunks are searched as one text, and only a word that begins with a stem is cut out: most do not.
    """
    texts = ["\n".join((hit.chunk.in_context, *hit.chunk.heading_path, hit.facts.names)) for hit in hits]
    whole = "\n".join(texts)
    if whole.isascii():  # then no letter becomes two, and the chunks end where they did
        whole = whole.casefold()
    else:
        texts = [_without_prefixes(segmented(text).casefold(), language) for text in texts]
        whole = "\n".join(texts)
    ends = list(accumulate(len(text) + 1 for text in texts))
    contained = [0] * len(texts)
    for place, stem in enumerate(stems):
        at = whole.find(stem)
        while at >= 0:
            word = _WORD.match(whole, at) if at == 0 or not whole[at - 1].isalnum() else None
            begin = at + len(stem)
            if word and word[0] not in FUNCTION_WORDS and _stem(word[0], language) == stem:
                chunk = bisect_right(ends, at)
                contained[chunk] |= 1 << place
                begin = ends[chunk]  # once is enough
            at = whole.find(stem, begin)
    return contained


def _without_prefixes(text: str, language: str | None) -> str:
    """*text* without the article that Arabic writes as a part of the word."""
    return _ARABIC_PREFIX.sub("", text) if language == "ar" else text


@lru_cache(maxsize=16_384)  # the same words come with every question
def _stem(word: str, language: str | None = None) -> str:
    """*word* without an English ending, never shorter than 3 letters; of another script or *language* its beginning.

    >>> [_stem(word) for word in ("makes", "making", "copies", "QX", "is", "командой", "команды")]
    ['mak', 'mak', 'cop', 'QX', 'is', 'коман', 'коман']
    """
    if language not in _UNINFLECTED or (not word.isascii() and _INFLECTED.match(word)):
        return word[:STEM_LETTERS]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            return word[: -len(suffix)]
    return word.removesuffix("y") if len(word) > _MIN_STEM else word


DEFAULT_VECTOR_WEIGHT = 0.6  # docs/evidence/quality.md has the table, docs/adr/0006-fusion.md the reasons
HEADING_BONUS = 0.1  # docs/api.md, "Candidates": for a chunk whose headings hold every word of the question
AGREEMENT = 0.5  # from which on words count in full
RRF_RANKS = 60  # Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion", SIGIR 2009


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two lists become one: `blend` by scores, `weight` being the vector's share in [0, 1], or `rrf` by ranks."""

    method: Literal["blend", "rrf"] = "blend"
    weight: float = DEFAULT_VECTOR_WEIGHT
    heading_bonus: float = HEADING_BONUS

    @classmethod
    def of(cls, setting: str) -> Fusion:
        """The fusion that the setting FUSION names: `blend`, `blend:W` or `rrf`.

        Raises:
            ValueError: It is none of these, or W is no number in [0, 1].

        >>> Fusion.of("blend:0.4").weight, Fusion.of("rrf").method
        (0.4, 'rrf')
        """
        method, _, weight = setting.partition(":")
        if setting == "rrf":
            return cls("rrf")
        share = float(weight) if weight else DEFAULT_VECTOR_WEIGHT
        if method != "blend" or not 0 <= share <= 1:
            raise ValueError(f"{setting!r} is neither rrf nor blend nor blend:W with W from 0 to 1")
        return cls("blend", share)


DEFAULT_FUSION = Fusion()


class Fused(NamedTuple):
    """A chunk with its fused score in [0, 1] and the raw scores it came from; None where that part did not find it.

    `vector_score` is also known of a chunk that only the lexical search found, where the index gave its cosine.
    """

    hit: Hit
    score: float
    vector_score: float | None
    lexical_score: float | None


def fuse(
    vector: Sequence[Hit],
    lexical: Sequence[Hit],
    fusion: Fusion = DEFAULT_FUSION,
    *,
    question: str = "",
    agreement: float = 1.0,
) -> list[Fused]:
    """Fuse two result lists as *fusion* says, then add the bonus where headings hold every word of *question*.

    A part of the words earns nothing: BM25 counts headings already.  Function words of English are not looked for.
    In a blend the lexical scores count the less, the less the words say about the question: *agreement*, in [0, 1]
    (`vector_weight`).

    Returns:
        Every chunk of either list once, best first, scores in [0, 1]; ties by `Hit.order`, so the order is repeatable.
    """
    near, worded = _scores(vector), _scores(lexical)
    if fusion.method == "blend":
        weight = vector_weight(fusion.weight, agreement)
        scores = _blended(_with_cosines(near, lexical), worded, weight)
    else:
        scores = _by_ranks(near, worded)
    words = _words(question) - FUNCTION_WORDS
    return _fused(vector, lexical, near, worded, scores, words, fusion.heading_bonus if words else 0.0)


def vector_weight(weight: float, agreement: float) -> float:
    """The vector's share in a blend where words say so much about the question, both in [0, 1].

    A question in the user's own words shares little with its document but common words.  BM25 ranks them all the same,
    and the best of a list of such matches is no match.  docs/adr/0013-own-words.md has the table.

    >>> vector_weight(0.6, 1.0), round(vector_weight(0.6, 0.25), 3), vector_weight(0.6, 0.0)
    (0.6, 0.857, 1.0)
    """
    words = (1 - weight) * min(1.0, agreement / AGREEMENT) ** 2
    return weight / (weight + words) if weight else 0.0


def _match(headings: tuple[str, ...], words: frozenset[str]) -> float:
    joined = " ".join(headings).casefold()
    return float(all(word in joined for word in words) and words <= _words(joined))  # few headings have all of them


def share_of_best(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as shares of the best, those below 0 as 0; all 0 where the best is not over 0.

    >>> share_of_best({"a": 2.0, "b": 4.0, "c": -1.0})
    {'a': 0.5, 'b': 1.0, 'c': 0.0}
    """
    best = max(scores.values(), default=0.0)
    return {id_: max(0.0, score) / best if best > 0 else 0.0 for id_, score in scores.items()}


def _with_cosines(near: Mapping[str, float], lexical: Sequence[Hit]) -> dict[str, float]:
    """The vector scores, and the cosines of what only the lexical search found; none where no vector hit counts."""
    known = {hit.chunk_id: hit.cosine for hit in lexical if hit.cosine is not None} if near else {}
    return {**known, **near}


def _blended(near: Mapping[str, float], worded: Mapping[str, float], weight: float) -> dict[str, float]:
    """A convex combination of scores, each as a share of the best of its list; with one list empty the other decides.

    The lower end of both scales is their theoretical one, 0: a cosine below says as little as 0, and BM25 has none.  So
    the scores do not depend on how many hits were requested, as those scaled by the worst hit of a list do.

    References:
        Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023: TMM.
    """
    if not near or not worded:
        weight = 1.0 if near else 0.0
    left, right = share_of_best(near), share_of_best(worded)
    return {id_: weight * left.get(id_, 0.0) + (1 - weight) * right.get(id_, 0.0) for id_ in {**left, **right}}


def _by_ranks(near: Mapping[str, float], worded: Mapping[str, float]) -> dict[str, float]:
    best = 2 / (RRF_RANKS + 1)
    both: dict[str, float] = {}
    for found in (near, worded):
        for rank, id_ in enumerate(found, start=1):
            both[id_] = both.get(id_, 0.0) + 1 / (RRF_RANKS + rank) / best
    return {id_: min(1.0, score) for id_, score in both.items()}


def _fused(
    vector: Sequence[Hit],
    lexical: Sequence[Hit],
    near: Mapping[str, float],
    worded: Mapping[str, float],
    scores: Mapping[str, float],
    words: frozenset[str] = frozenset(),
    bonus: float = 0.0,
) -> list[Fused]:
    """The hits of both lists with their scores and the bonus, best first."""
    hits = {hit.chunk_id: hit for hit in (*lexical, *vector)}
    headings = {hit.chunk.heading_path for hit in hits.values()} if bonus else set()
    added = {path: bonus * _match(path, words) for path in headings}  # once for all chunks under one heading
    whole = 1 + bonus  # scaled, not cut off at 1: the best hits would be equal
    found = [
        Fused(
            hit,
            (scores[id_] + added.get(hit.chunk.heading_path, 0.0)) / whole,
            near.get(id_, hit.cosine),
            worded.get(id_),
        )
        for id_, hit in hits.items()
    ]
    return by_score(found)


def by_score(found: Iterable[Fused]) -> list[Fused]:
    """Fused chunks, best first; ties by `Hit.order`."""
    return ranked_by(found, lambda one: one.score, lambda one: one.hit.order)


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.chunk_id: hit.score for hit in hits}


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


DATE_BONUS = 0.2  # of a fused score; twice that of a heading which holds every word
DATE_COVERAGE = 0.75  # what a document of that date is taken to cover of the question at least

_MONTHS = (
    "january january januar",
    "february february februar",
    "march march märz",
    "april april april",
    "may may mai",
    "june june juni",
    "july july juli",
    "august august august",
    "september september september",
    "october october oktober",
    "november november november",
    "december december dezember",
)
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NUMBERS |= {name[:3]: number for name, number in _NUMBERS.items()} | {"sept": 9}
_MONTH_NAME = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_ISO = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?\b")
_DAY_FIRST = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?)?({_MONTH_NAME})\.?,?\s+(\d{{4}})\b", re.IGNORECASE
)
_MONTH_FIRST = re.compile(rf"\b({_MONTH_NAME})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AskedDate:
    """A month of a year, or one of its days where `day` is not None."""

    year: int
    month: int
    day: int | None = None

    @property
    def iso(self) -> str:
        """What dates in it begin with.

        >>> AskedDate(2025, 1).iso, AskedDate(2025, 1, 22).iso
        ('2025-01', '2025-01-22')
        """
        day = "" if self.day is None else f"-{self.day:02}"
        return f"{self.year}-{self.month:02}{day}"

    def filters(self, whole: Filters) -> Filters:
        """*whole*, and only documents of this date."""
        day = 31 if self.day is None else self.day
        return replace(
            whole, date_from=f"{self.year}-{self.month:02}-{self.day or 1:02}", date_to=f"{self.iso[:7]}-{day:02}"
        )


def dates_in(question: str) -> tuple[AskedDate, ...]:
    """The dates that *question* names, each once: years with a month, in figures or in English or German words.

    >>> [date.iso for date in dates_in("What went wrong in January 2025, and on 5 June 2025?")]
    ['2025-01', '2025-06-05']
    >>> dates_in("Which port was it in 2025?")
    ()
    """
    found = [AskedDate(int(year), int(month), int(day) if day else None) for year, month, day in _ISO.findall(question)]
    found += [_date(year, name, day) for name, day, year in _MONTH_FIRST.findall(question)]
    found += [_date(year, name, day) for day, name, year in _DAY_FIRST.findall(question)]
    return tuple(dict.fromkeys(found))


def _date(year: str, name: str, day: str) -> AskedDate:
    number = int(day) if day and 1 <= int(day) <= 31 else None
    return AskedDate(int(year), _NUMBERS[name.casefold()], number)


def of_dates(hits: Sequence[Hit], dates: Sequence[AskedDate]) -> frozenset[str]:
    """The ids of the chunks whose document is of one of *dates*, by its date, title or path."""
    return frozenset(hit.chunk_id for hit in hits if _is_of(hit, dates)) if dates else frozenset()


def _is_of(hit: Hit, dates: Sequence[AskedDate]) -> bool:
    dates_of = [hit.facts.date or "", *(found.iso for found in dates_in(f"{hit.facts.title} {hit.key.path}"))]
    return any(one.startswith(date.iso) for one in dates_of for date in dates)


def covered_by_date(covered: Mapping[str, float], dated: frozenset[str]) -> Mapping[str, float]:
    """*covered* with what a date covers of the question."""
    if not dated:
        return covered
    return {id_: max(share, DATE_COVERAGE) if id_ in dated else share for id_, share in covered.items()}


def favoured(fused: Sequence[Fused], dated: frozenset[str]) -> list[Fused]:
    """*fused* with the bonus for the chunks of *dated*, best first."""
    if not dated:
        return list(fused)
    whole = 1 + DATE_BONUS
    scored = [one._replace(score=(one.score + DATE_BONUS * (one.hit.chunk_id in dated)) / whole) for one in fused]
    return by_score(scored)
