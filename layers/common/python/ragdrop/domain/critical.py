"""Critical documents: put first whatever their score, within a share of the document budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ragdrop.domain.boosting import Boosts, boosted
from ragdrop.domain.chunks import Hit
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import CHUNKS_PER_DOCUMENT, FoundChunk, FoundDocument

MAX_CRITICAL = 50  # heads that may be read for them, of the 100 of one batch


def live_critical(
    keys: Iterable[DocumentKey], heads: Mapping[DocumentKey, Head], doc_types: Sequence[str] = ()
) -> list[Head]:
    """The heads of those of *keys* that are critical now, and of one of *doc_types* where some are given."""
    found = [heads[key] for key in keys if key in heads]
    return [
        head
        for head in found
        if head.live_revision is not None
        and head.promotion_level == "critical"
        and (not doc_types or head.doc_type in doc_types)
    ]


def as_document(
    head: Head,
    chunks: Sequence[FoundChunk],
    read: Sequence[Hit],
    boosts: Boosts,
) -> FoundDocument | None:
    """A critical document by its best chunks, or by what was *read* of it; None where the index holds nothing of it.

    Its score is None where it was not searched: at level 2, or where nearer chunks of others took all the room.
    """
    hits = [chunk.hit for chunk in chunks] or list(read)
    if not hits or head.live_revision is None:
        return None
    best = hits[0]
    scores = [chunk.score for chunk in chunks if chunk.score is not None]
    raw = max(scores) if scores else None
    return FoundDocument(
        key=head.key,
        revision=head.live_revision,
        facts=best.facts,
        raw_score=raw,
        score=None if raw is None else boosted(raw, boosts.of("critical")),
        chunks=tuple(chunks[:CHUNKS_PER_DOCUMENT]),
        text=best.chunk.text,
        text_start=best.chunk.start,
        text_end=best.chunk.end,
    )


def in_order(documents: Iterable[FoundDocument]) -> list[FoundDocument]:
    """By raw score, those without one last; then newest first; then by key."""
    by_key = sorted(documents, key=lambda one: one.key.s3_key)
    by_date = sorted(by_key, key=lambda one: one.facts.date or "", reverse=True)
    return sorted(by_date, key=lambda one: -1.0 if one.raw_score is None else one.raw_score, reverse=True)


def within_share(
    documents: Sequence[FoundDocument], characters: int
) -> tuple[list[FoundDocument], int, list[FoundDocument]]:
    """As many of *documents*, in order, as fit in *characters*; one that does not fit is shortened to its best chunk.

    Returns:
        Those that fit, how many characters of the share they leave, and those that were shortened or left out.
    """
    kept: list[FoundDocument] = []
    short: list[FoundDocument] = []
    for document in documents:
        best = document.chunks[0].hit.chunk if document.chunks else None
        if len(document.text) <= characters:
            kept.append(document)
        elif best is not None and len(best.text) <= characters:
            kept.append(replace(document, text=best.text, text_start=best.start, text_end=best.end))
            short.append(document)
        else:
            short.append(document)
            continue
        characters -= len(kept[-1].text)
    return kept, characters, short
