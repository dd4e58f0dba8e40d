"""Rank documents: threshold on calibrated relevance, then boosts, then order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ragdrop.domain.chunks import Hit, ranked_by
from ragdrop.domain.documents import PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import NOISE_RELEVANCE, OPERATING_RELEVANCE, Calibration, Curve
from ragdrop.domain.retrieval import (
    CHUNKS_PER_DOCUMENT,
    MAX_CANDIDATES,
    MAX_NEAREST,
    FoundChunk,
    FoundDocument,
    ScoreBasis,
)
from ragdrop.query.exact import NOTHING_EXACT, Exactness
from ragdrop.query.fusion import Fused

Relevance = Callable[[Fused], float]
"""The relevance of a fused chunk on the calibrated scale, in [0, 1]."""


class RankedDocument(NamedTuple):
    """A document over the threshold, and what orders it."""

    key: DocumentKey  # the document
    matching: tuple[FoundChunk, ...]  # its chunks over the threshold, best first; never empty
    boost: float  # what is added to its score
    order: float  # the weight that orders it
    fused: tuple[Fused, ...]  # all its candidates, best first

    @property
    def chunks(self) -> tuple[FoundChunk, ...]:
        """The chunks that are returned of it."""
        return self.matching[:CHUNKS_PER_DOCUMENT]

    def found(self) -> FoundDocument:
        """The document as it is returned; made for the few that are returned, not for all that are ranked."""
        best = self.matching[0].hit
        raw = max(chunk.score or 0.0 for chunk in self.matching)
        return FoundDocument(
            key=best.key,
            revision=best.revision,
            facts=best.facts,
            raw_score=raw,
            score=boosted(raw, self.boost),
            chunks=self.chunks,
            text=best.chunk.text,
            text_start=best.chunk.start,
            text_end=best.chunk.end,
        )


@dataclass(frozen=True, slots=True)
class Cutoff:
    """Which chunks are results."""

    threshold: float  # the relevance from which on a chunk is one, 0 to 1; 0 lets everything through
    # where a chunk reaches the threshold, every chunk with this share of the best fused score is a result too; None
    # leaves it at the threshold
    near_best: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents that are results, and the nearest ones where there is none; each list best first."""

    results: list[RankedDocument]
    nearest: list[RankedDocument]


def rank(
    fused: Sequence[Fused], *, relevance: Relevance, cut: Cutoff, boosts: Boosts, weight: Callable[[DocumentKey], float]
) -> Ranking:
    """Group chunks by document, decide whether there is an answer and which documents are shown, order these.

    Args:
        fused: Candidates, best first; at most 200 of them count.
        relevance: What the threshold is compared with, and what is shown; it does not order.
        cut: Which chunks are results.
        boosts: Added after the threshold and before ranking.  The score shown is capped at 1.0, the order is not.
        weight: Of a document's folder, (0, 1]; changes the order only.

    Returns:
        Documents by (fused score of the best chunk + boost) x weight, best first; ties by the fused score, then by key.
    """
    counted = fused[:MAX_CANDIDATES]
    scores = [relevance(found) for found in counted]
    answered = any(score >= cut.threshold for score in scores)
    least = cut.threshold if answered else NOISE_RELEVANCE
    near_best = cut.near_best * counted[0].score if cut.near_best is not None and answered else math.inf
    by_document: dict[DocumentKey, list[tuple[Fused, float]]] = {}
    for found in zip(counted, scores, strict=True):
        by_document.setdefault(found[0].hit.key, []).append(found)
    documents = []
    for key, chunks in by_document.items():
        matching = tuple(
            [FoundChunk(one.hit, score) for one, score in chunks if score >= least or one.score >= near_best]
        )
        if not matching:
            continue
        boost = boosts.of(matching[0].hit.facts.promotion_level)
        order = (chunks[0][0].score + boost) * weight(key)  # uncapped: at the cap a promotion would decide nothing
        documents.append(RankedDocument(key, matching, boost, order, tuple([one for one, _ in chunks])))
    ranked = ranked_by(documents, lambda one: (one.order, one.fused[0].score), lambda one: one.key.s3_key)
    return Ranking(ranked, []) if answered else Ranking([], ranked[:MAX_NEAREST])


MANY_SHARE = 0.65  # of the best document's score, for one beyond a limit that nobody set


def within_limit(ranked: Sequence[RankedDocument], limit: int, *, many: int) -> list[RankedDocument]:
    """The first *limit* documents, and those up to *many* that are about as good as the best."""
    least = MANY_SHARE * max((one.order for one in ranked), default=0.0)
    return [one for place, one in enumerate(ranked[: max(limit, many)]) if place < limit or one.order >= least]


@dataclass(frozen=True, slots=True)
class Boosts:
    """What is added to a score, on a scale of 0 to 1 (docs/api.md, "Candidates").  All zeros turn boosting off."""

    critical: float = 0.15
    important: float = 0.10

    def of(self, level: PromotionLevel) -> float:
        """The boost of a promotion level.

        >>> Boosts().of("critical"), Boosts().of("important"), Boosts().of("standard")
        (0.15, 0.1, 0.0)
        """
        if level == "standard":
            return 0.0
        return self.critical if level == "critical" else self.important


def boosted(score: float, boost: float) -> float:
    """*score* with *boost*, capped at 1.0.

    >>> boosted(0.5, 0.25), boosted(0.95, 0.15)
    (0.75, 1.0)
    """
    return min(1.0, score + boost)


WORDS_SHARE = 0.2  # of the logarithm of a BM25 score, beside the share of the question that a chunk covers
WORDS_POINTS = {"ar": 0.69, "de": 0.73, "es": 0.90, "ru": 0.80, "zh": 0.69}
"""Where `by_words` is an answer, by language: a twentieth of the questions that have one fall short of it.

Chosen on half of XQuAD's questions; docs/adr/0013-own-words.md has the table.
"""
OTHER_WORDS_POINT, WORDS_WIDTH = 0.75, 0.08
NEAR_BEST = 0.6  # share of the best fused score from which on a document is shown; docs/adr/0013-own-words.md


@dataclass(frozen=True, slots=True)
class Judged:
    """How chunks are judged: `relevance` of each, against the threshold of `cut`, on the scale of `basis`."""

    relevance: Callable[[Fused], float]
    cut: Cutoff
    basis: ScoreBasis


def judged(
    calibrations: Mapping[str, Calibration],
    *,
    threshold: float | None,
    vectors: bool,
    coverage: Mapping[str, float] | None = None,
    lacking: Mapping[str, float] | None = None,
    words_of: str | None = None,
    exact: Exactness = NOTHING_EXACT,
) -> Judged:
    """How to judge chunks.

    Args:
        calibrations: Of each vault that a chunk is of, in the tenant's active embedding space.
        threshold: `min_relevance`, 0 to 1, where somebody set it.  None asks the operating point whether there is an
            answer at all, and shows what is near the best (docs/adr/0013-own-words.md).
        vectors: Whether vectors took part.  Without them BM25's own calibration decides; where there is none, the fused
            score stands for relevance and the threshold is skipped (docs/api.md).
        words_of: The question's language where the model does not cover it: `by_words` decides.
        coverage: By chunk id the share of the question's words that the chunk holds, in [0, 1].
        lacking: By chunk id the share of the question's names that the chunk does not hold, in [0, 1].
        exact: Which chunks hold what the question names exactly: it raises or lowers the relevance of any basis.

    Returns:
        The judgement.
    """
    by = _by_scores(
        calibrations,
        threshold=threshold,
        vectors=vectors,
        coverage=coverage or {},
        lacking=lacking or {},
        words_of=words_of,
    )
    if exact == NOTHING_EXACT:
        return by
    return replace(by, relevance=lambda found: exact.relevance(found.hit.chunk_id, by.relevance(found)))


def _by_scores(
    calibrations: Mapping[str, Calibration],
    *,
    threshold: float | None,
    vectors: bool,
    coverage: Mapping[str, float],
    lacking: Mapping[str, float],
    words_of: str | None,
) -> Judged:
    cut = Cutoff(OPERATING_RELEVANCE, NEAR_BEST) if threshold is None else Cutoff(threshold)
    if words_of is not None:
        curve = Curve(WORDS_POINTS.get(words_of, OTHER_WORDS_POINT), WORDS_WIDTH)
        return Judged(lambda found: curve(by_words(found, coverage)), cut, "lexical")
    if vectors:
        return Judged(lambda found: _by_vector(found, calibrations, coverage, lacking), cut, "hybrid")
    if all(each.lexical is not None for each in calibrations.values()):
        return Judged(
            lambda found: calibrations[found.hit.key.vault].relevance(None, found.lexical_score), cut, "lexical"
        )
    return Judged(lambda found: found.score, Cutoff(0.0), "lexical")


def by_words(found: Fused, coverage: Mapping[str, float]) -> float:
    """What the words of a chunk say about a question, at least 0: what it covers, and how rare in the index that is.

    The share alone knows rarity among the candidates only; a BM25 score alone grows with the length of the question.
    """
    return coverage.get(found.hit.chunk_id, 0.0) + WORDS_SHARE * math.log1p(found.lexical_score or 0.0)


def _by_vector(
    found: Fused, calibrations: Mapping[str, Calibration], coverage: Mapping[str, float], lacking: Mapping[str, float]
) -> float:
    id_ = found.hit.chunk_id
    return calibrations[found.hit.key.vault].relevance(
        found.vector_score, found.lexical_score, coverage=coverage.get(id_, 0.0), lacking=lacking.get(id_, 0.0)
    )


def above_noise(hits: Sequence[Hit], calibrations: Mapping[str, Calibration], *, keep_all: bool) -> list[Hit]:
    """Drop the vector hits that are noise (docs/calibration.md), unless *keep_all* is set (min_relevance 0)."""
    floors = {vault: each.noise_floor for vault, each in calibrations.items()}
    return [hit for hit in hits if keep_all or hit.score >= floors[hit.key.vault]]
