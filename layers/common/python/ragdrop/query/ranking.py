"""Rank documents: threshold on calibrated relevance, then boosts, then order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragdrop.domain.documents import PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import CHUNKS_PER_DOCUMENT, MAX_CANDIDATES, FoundChunk, FoundDocument
from ragdrop.query.fusion import Fused

Relevance = Callable[[Fused], float]
"""The relevance of a fused chunk on the calibrated scale, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document over the threshold, and what orders it.

    Args:
        key: The document.
        matching: Its chunks over the threshold, best first; never empty.
        boost: What is added to its score.
        order: The weight that orders it.
        fused: All its candidates, best first.
    """

    key: DocumentKey
    matching: tuple[FoundChunk, ...]
    boost: float
    order: float
    fused: tuple[Fused, ...]

    @property
    def chunks(self) -> tuple[FoundChunk, ...]:
        """The chunks that are told of it."""
        return self.matching[:CHUNKS_PER_DOCUMENT]

    def found(self) -> FoundDocument:
        """The document as it is told: made of the few that are told, not of all that are ranked."""
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


def rank(
    fused: Sequence[Fused],
    *,
    relevance: Relevance,
    threshold: float,
    boosts: Boosts,
    weight: Callable[[DocumentKey], float],
) -> list[RankedDocument]:
    """Group chunks by document, drop what is not relevant enough, order the rest.

    Args:
        fused: Candidates, best first; at most 200 of them count.
        relevance: What the threshold is compared with, and what is shown; it does not order.
        threshold: `min_relevance`, 0 to 1; 0 lets everything through.
        boosts: Added after the threshold and before ranking.  The score shown is capped at 1.0, the order is not.
        weight: Of a document's folder, (0, 1]; changes the order only.

    Returns:
        Documents by (fused score of the best chunk + boost) x weight, best first; ties by the fused score, then by key.
    """
    by_document: dict[DocumentKey, list[Fused]] = {}
    for found in fused[:MAX_CANDIDATES]:
        by_document.setdefault(found.hit.key, []).append(found)
    ranked = []
    for key, chunks in by_document.items():
        scored = [FoundChunk(chunk.hit, relevance(chunk)) for chunk in chunks]
        matching = tuple(chunk for chunk in scored if (chunk.score or 0.0) >= threshold)
        if not matching:
            continue
        boost = boosts.of(matching[0].hit.facts.promotion_level)
        order = (chunks[0].score + boost) * weight(key)  # uncapped: at the cap a promotion would decide nothing
        ranked.append(RankedDocument(key, matching, boost, order, tuple(chunks)))
    return sorted(ranked, key=lambda one: (-one.order, -one.fused[0].score, one.key.s3_key))


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
        return {"critical": self.critical, "important": self.important}.get(level, 0.0)


def boosted(score: float, boost: float) -> float:
    """*score* with *boost*, capped at 1.0.

    >>> boosted(0.5, 0.25), boosted(0.95, 0.15)
    (0.75, 1.0)
    """
    return min(1.0, score + boost)
