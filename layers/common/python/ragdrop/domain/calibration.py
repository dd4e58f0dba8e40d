"""Calibration: map cosines and BM25 scores to one scale in [0, 1], with the operating point at 0.7."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # tenants carry a calibration
    from ragdrop.domain.models import EmbeddingSpace

OPERATING_RELEVANCE = 0.7
"""The relevance of the operating point: the default of `min_relevance`."""
NOISE_RELEVANCE = 0.05  # a cosine worth less cannot come up again: a boost adds 0.15, links and folders change no score

COVERAGE_CEILING = 0.35
"""About the share of a question's words in the best chunk if it has no answer: docs/calibration.md."""

Basis = Literal["fitted", "measured", "estimated", "generic"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic curve from raw scores to [0, 1] that gives 0.7 at its operating point.

    References:
        Platt, "Probabilistic Outputs for Support Vector Machines", 1999; the odds at the operating point are pinned.

    >>> curve = Curve(operating_point=0.4, width=0.05)
    >>> [round(curve(score), 2) for score in (0.0, 0.3, 0.4, 0.5, 1.0)]
    [0.0, 0.24, 0.7, 0.95, 1.0]
    """

    operating_point: float  # the raw score from which on a hit is taken as relevant
    width: float  # raw score over which the log-odds of being relevant rise by 1; more than 0

    def __call__(self, score: float, *, lift: float = 0.0) -> float:
        """The relevance of a raw *score*, in [0, 1], never falling as the score rises; *lift* is added log-odds."""
        odds = _OPERATING_ODDS + (score - self.operating_point) / self.width + lift
        if odds < -_MAX_ODDS:
            return 0.0
        return 1.0 / (1.0 + math.exp(-odds)) if odds < _MAX_ODDS else 1.0

    def score_at(self, relevance: float) -> float:
        """The raw score of a *relevance* in (0, 1).

        >>> round(Curve(0.4, 0.05).score_at(0.7), 6)
        0.4
        """
        return self.operating_point + (_log_odds(relevance) - _OPERATING_ODDS) * self.width


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scale of the scores of one embedding space, and its source."""

    space: EmbeddingSpace
    vector: Curve  # the curve of cosines
    # the curve of BM25 scores for answers without vectors; None without a fit: the threshold is then skipped
    lexical: Curve | None = None
    # `fitted` on a tenant's own documents, `measured` or `estimated` for the model, `generic` for an unknown model
    basis: Basis = "generic"
    pairs: int = 0  # pseudo-queries it was fitted on; 0 without a fit
    documents: int = 0  # live documents of the tenant at that time
    # share of (own chunk, random chunk) pairs in which the own chunk scored higher, 0.5 to 1: the quality of the fit;
    # None without a fit
    separation: float | None = None
    fitted_at: str = ""  # RFC 3339 UTC; empty without a fit

    def relevance(self, cosine: float | None, lexical: float | None = None, *, coverage: float = 0.0) -> float:
        """The relevance of a chunk, in [0, 1], by its raw scores; a score may be unknown.

        The cosine decides if there is one, lifted by *coverage*, the share in [0, 1] of the question's words in the
        chunk; else the lexical score does, if `lexical` has a curve; else the relevance is 0.
        """
        if cosine is not None:
            return self.vector(cosine, lift=coverage_lift(coverage))
        if lexical is not None and self.lexical is not None:
            return self.lexical(lexical)
        return 0.0

    def to_dict(self) -> dict[str, Any]:
        """The fields of `debug.calibration`."""
        return {
            "basis": self.basis,
            "model": self.space.model,
            "operating_point": self.vector.operating_point,
            "noise_floor": round(self.noise_floor, 4),
            "documents": self.documents,
            "pairs": self.pairs,
            "fitted_at": self.fitted_at or None,
        }

    @property
    def noise_floor(self) -> float:
        """The cosine under which a vector hit is noise and is dropped before fusion (docs/calibration.md)."""
        return max(self.vector.score_at(NOISE_RELEVANCE), -1.0)


def coverage_lift(coverage: float) -> float:
    """The log-odds that *coverage* in [0, 1] adds: none up to what off-topic questions reach, then in proportion.

    A chunk that holds every word of the question is lifted from the noise floor to the operating point, and no
    further: a cosine under the noise floor stays noise, whatever the words.  It is in log-odds, not in cosines, so it
    is the same for every model.

    >>> coverage_lift(0.3), round(coverage_lift(0.675), 2), round(coverage_lift(1.0), 2)
    (0.0, 1.9, 3.79)
    """
    return WHOLE_LIFT * max(0.0, coverage - COVERAGE_CEILING) / (1.0 - COVERAGE_CEILING)


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


_OPERATING_ODDS = _log_odds(OPERATING_RELEVANCE)
WHOLE_LIFT = _OPERATING_ODDS - _log_odds(NOISE_RELEVANCE)
"""What a chunk with every word of the question adds to the log-odds."""
_MAX_ODDS = 60.0  # beyond it float64 knows no difference from 0 and 1
