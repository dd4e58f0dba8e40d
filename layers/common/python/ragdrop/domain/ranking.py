"""From fused chunks to ranked documents: threshold on calibrated relevance, then boosts, then order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragdrop.domain.boosting import Boosts, boosted
from ragdrop.domain.fusion import Fused
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import CHUNKS_PER_DOCUMENT, MAX_CANDIDATES, FoundChunk, FoundDocument

Relevance = Callable[[Fused], float]
"""The relevance of a fused chunk on the calibrated scale, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document over the threshold and the weight that orders it; `fused` are all its candidates, best first."""

    found: FoundDocument
    order: float
    fused: tuple[Fused, ...]


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
        boosts: Added after the threshold and before ranking, capped at 1.0.
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
        order = boosted(chunks[0].score, boost) * weight(key)
        ranked.append(RankedDocument(_document(matching, boost), order, tuple(chunks)))
    return sorted(ranked, key=lambda one: (-one.order, -one.fused[0].score, one.found.key.s3_key))


def _document(matching: tuple[FoundChunk, ...], boost: float) -> FoundDocument:
    best = matching[0].hit
    raw = max(chunk.score or 0.0 for chunk in matching)
    return FoundDocument(
        key=best.key,
        revision=best.revision,
        facts=best.facts,
        raw_score=raw,
        score=boosted(raw, boost),
        chunks=matching[:CHUNKS_PER_DOCUMENT],
        text=best.chunk.text,
        text_start=best.chunk.start,
        text_end=best.chunk.end,
    )
