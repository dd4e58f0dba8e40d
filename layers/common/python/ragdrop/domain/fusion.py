"""Fusion of vector and lexical hits into one ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.chunks import Hit

DEFAULT_VECTOR_WEIGHT = 0.5  # the best of the weights measured on SciFact, Cranfield and HotpotQA, see docs/quality.md


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk with its fused score in [0, 1] and the raw scores it came from; None where that part did not find it."""

    hit: Hit
    score: float
    vector_score: float | None
    lexical_score: float | None


def blend(vector: Sequence[Hit], lexical: Sequence[Hit], *, weight: float = DEFAULT_VECTOR_WEIGHT) -> list[Fused]:
    """Fuse two result lists by a convex combination of min-max normalised scores.

    A chunk that one list does not hold has 0 in it.  With one list empty the other alone decides.

    Args:
        vector, lexical: Hits with raw scores; the scales need not agree.
        weight: Share of the vector score in [0, 1], unitless; the lexical score gets the rest.

    Returns:
        Every chunk of either list once, best first, scores in [0, 1]; ties by chunk id, so the order is repeatable.

    References:
        Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023.
    """
    if not vector or not lexical:
        weight = 1.0 if vector else 0.0
    hits = {hit.chunk_id: hit for hit in (*lexical, *vector)}
    raw_vector = {hit.chunk_id: hit.score for hit in vector}
    raw_lexical = {hit.chunk_id: hit.score for hit in lexical}
    scaled_vector, scaled_lexical = min_max(raw_vector), min_max(raw_lexical)
    fused = [
        Fused(
            hit,
            weight * scaled_vector.get(id_, 0.0) + (1 - weight) * scaled_lexical.get(id_, 0.0),
            raw_vector.get(id_),
            raw_lexical.get(id_),
        )
        for id_, hit in hits.items()
    ]
    return sorted(fused, key=lambda found: (-found.score, found.hit.chunk_id))


def min_max(scores: dict[str, float]) -> dict[str, float]:
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
