"""What a fused chunk is worth on the calibrated scale, by what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragdrop.domain.calibration import Calibration
from ragdrop.domain.chunks import Hit
from ragdrop.domain.fusion import Fused
from ragdrop.domain.retrieval import ScoreBasis


@dataclass(frozen=True, slots=True)
class Judged:
    """How chunks are judged: `relevance` of each, against `threshold`, on the scale of `basis`."""

    relevance: Callable[[Fused], float]
    threshold: float
    basis: ScoreBasis


def judged(
    calibration: Calibration, *, threshold: float, vectors: bool, coverage: Mapping[str, float] | None = None
) -> Judged:
    """How to judge chunks.

    Args:
        calibration: Of the tenant's active embedding space.
        threshold: `min_relevance`, 0 to 1.
        vectors: Whether vectors took part.  Without them BM25's own calibration decides; where there is none, the fused
            score stands for relevance and the threshold is skipped (CONTRACT 2).
        coverage: By chunk id the share of the question's words that the chunk holds, in [0, 1].

    Returns:
        The judgement.
    """
    if vectors:
        return Judged(lambda found: _by_vector(found, calibration, coverage or {}), threshold, "hybrid")
    if calibration.lexical is not None:
        return Judged(lambda found: calibration.relevance(None, found.lexical_score), threshold, "lexical")
    return Judged(lambda found: found.score, 0.0, "lexical")


def _by_vector(found: Fused, calibration: Calibration, coverage: Mapping[str, float]) -> float:
    covered = coverage.get(found.hit.chunk_id, 0.0)
    return calibration.relevance(found.vector_score, found.lexical_score, coverage=covered)


def above_noise(hits: Sequence[Hit], calibration: Calibration, *, keep_all: bool) -> list[Hit]:
    """The vector hits that are not noise (DESIGN 6.3); all of them where nothing is to be dropped (min_relevance 0)."""
    return [hit for hit in hits if keep_all or hit.score >= calibration.noise_floor]
