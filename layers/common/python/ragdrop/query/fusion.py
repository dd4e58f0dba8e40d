"""Fuse vector and lexical hits into one ranking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragdrop.domain.chunks import Hit, ranked_by
from ragdrop.query.coverage import FUNCTION_WORDS

DEFAULT_VECTOR_WEIGHT = 0.6  # docs/evidence/quality.md has the table, docs/adr/0006-fusion.md the reasons
HEADING_BONUS = 0.1  # docs/api.md, "Candidates": for a chunk whose headings hold every word of the question
AGREEMENT = 0.5  # from which on words count in full
RRF_RANKS = 60  # Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion", SIGIR 2009

_WORD = re.compile(r"[^\W_]+")


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


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk with its fused score in [0, 1] and the raw scores it came from; None where that part did not find it.

    `vector_score` is also known of a chunk that words alone found, where the index gave its cosine.
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


def blend(vector: Sequence[Hit], lexical: Sequence[Hit], *, weight: float = DEFAULT_VECTOR_WEIGHT) -> list[Fused]:
    """Fuse two result lists by a convex combination of scores, each as a share of the best of its list.

    The lower end of both scales is their theoretical one, 0: a cosine below says as little as 0, and BM25 has none.  So
    the scores do not depend on how many hits were asked for, as those scaled by the worst hit of a list do.  A chunk
    that words alone found counts with its cosine where that is known; what else one list does not hold has 0 in it.
    With one list empty the other alone decides.

    Args:
        vector, lexical: Hits with raw scores; the scales need not agree.
        weight: Share of the vector score in [0, 1], unitless; the lexical score gets the rest.

    Returns:
        Every chunk of either list once, best first, scores in [0, 1]; ties by `Hit.order`, so the order is repeatable.

    References:
        Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023: TMM.
    """
    near, worded = _scores(vector), _scores(lexical)
    return _fused(vector, lexical, near, worded, _blended(_with_cosines(near, lexical), worded, weight))


def rrf(vector: Sequence[Hit], lexical: Sequence[Hit]) -> list[Fused]:
    """Fuse two result lists, best first each, by their ranks alone; a chunk that leads both has 1."""
    near, worded = _scores(vector), _scores(lexical)
    return _fused(vector, lexical, near, worded, _by_ranks(near, worded))


def heading_match(hit: Hit, words: frozenset[str]) -> float:
    """1 where the headings over a chunk hold all of *words*, case folded, else 0."""
    return _match(hit.chunk.heading_path, words)


def _match(headings: tuple[str, ...], words: frozenset[str]) -> float:
    told = " ".join(headings).casefold()
    return float(all(word in told for word in words) and words <= _words(told))  # few headings have all of them


def share_of_best(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as shares of the best, those below 0 as 0; all 0 where the best is not over 0.

    >>> share_of_best({"a": 2.0, "b": 4.0, "c": -1.0})
    {'a': 0.5, 'b': 1.0, 'c': 0.0}
    """
    best = max(scores.values(), default=0.0)
    return {id_: max(0.0, score) / best if best > 0 else 0.0 for id_, score in scores.items()}


def min_max(scores: Mapping[str, float]) -> dict[str, float]:
    """Scale scores linearly to [0, 1]; where all are equal each is 1.

    >>> min_max({"a": 2.0, "b": 4.0, "c": 3.0})
    {'a': 0.0, 'b': 1.0, 'c': 0.5}
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {id_: (score - low) / (high - low) for id_, score in scores.items()}


def _with_cosines(near: Mapping[str, float], lexical: Sequence[Hit]) -> dict[str, float]:
    """The vector scores, and the cosines of what words alone found; none where no vector hit counts."""
    known = {hit.chunk_id: hit.cosine for hit in lexical if hit.cosine is not None} if near else {}
    return {**known, **near}


def _blended(near: Mapping[str, float], worded: Mapping[str, float], weight: float) -> dict[str, float]:
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
