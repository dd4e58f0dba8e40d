"""The calibrated relevance of a fused chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.calibration import OPERATING_RELEVANCE, Calibration, Curve
from ragdrop.domain.chunks import Hit
from ragdrop.domain.retrieval import ScoreBasis
from ragdrop.query.exact import NOTHING_EXACT, Exactness
from ragdrop.query.fusion import Fused
from ragdrop.query.ranking import Cutoff

BY_WORDS = Curve(0.42, 0.08)
"""Of what a chunk covers of a question: two fifths of it, by the weight of its words, are an answer."""
NEAR_BEST = 0.6  # share of the best fused score from which on a document is shown; docs/adr/0013-own-words.md


@dataclass(frozen=True, slots=True)
class Judged:
    """How chunks are judged: `relevance` of each, against the threshold of `cut`, on the scale of `basis`."""

    relevance: Callable[[Fused], float]
    cut: Cutoff
    basis: ScoreBasis


def judged(
    calibration: Calibration,
    *,
    threshold: float | None,
    vectors: bool,
    coverage: Mapping[str, float] | None = None,
    words_alone: bool = False,
    exact: Exactness = NOTHING_EXACT,
) -> Judged:
    """How to judge chunks.

    Args:
        calibration: Of the tenant's active embedding space.
        threshold: `min_relevance`, 0 to 1, where somebody set it.  None asks the operating point whether there is an
            answer at all, and shows what is near the best (docs/adr/0013-own-words.md).
        vectors: Whether vectors took part.  Without them BM25's own calibration decides; where there is none, the fused
            score stands for relevance and the threshold is skipped (docs/api.md).
        words_alone: The model does not cover the question's language: what a chunk covers of the question decides.
        coverage: By chunk id the share of the question's words that the chunk holds, in [0, 1].
        exact: Which chunks hold what the question names exactly: it raises or lowers the relevance of any basis.

    Returns:
        The judgement.
    """
    by = _by_scores(calibration, threshold=threshold, vectors=vectors, coverage=coverage, words_alone=words_alone)
    if exact == NOTHING_EXACT:
        return by
    return replace(by, relevance=lambda found: exact.relevance(found.hit.chunk_id, by.relevance(found)))


def _by_scores(
    calibration: Calibration,
    *,
    threshold: float | None,
    vectors: bool,
    coverage: Mapping[str, float] | None,
    words_alone: bool,
) -> Judged:
    cut = Cutoff(OPERATING_RELEVANCE, NEAR_BEST) if threshold is None else Cutoff(threshold)
    if words_alone:
        return Judged(lambda found: BY_WORDS((coverage or {}).get(found.hit.chunk_id, 0.0)), cut, "lexical")
    if vectors:
        return Judged(lambda found: _by_vector(found, calibration, coverage or {}), cut, "hybrid")
    if calibration.lexical is not None:
        return Judged(lambda found: calibration.relevance(None, found.lexical_score), cut, "lexical")
    return Judged(lambda found: found.score, Cutoff(0.0), "lexical")


def _by_vector(found: Fused, calibration: Calibration, coverage: Mapping[str, float]) -> float:
    covered = coverage.get(found.hit.chunk_id, 0.0)
    return calibration.relevance(found.vector_score, found.lexical_score, coverage=covered)


def above_noise(hits: Sequence[Hit], calibration: Calibration, *, keep_all: bool) -> list[Hit]:
    """Drop the vector hits that are noise (docs/calibration.md), unless *keep_all* is set (min_relevance 0)."""
    floor = calibration.noise_floor
    return [hit for hit in hits if keep_all or hit.score >= floor]
