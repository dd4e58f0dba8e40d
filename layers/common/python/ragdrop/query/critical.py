"""Critical documents: first whatever their score, within a share of the document budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ragdrop.domain.chunks import Hit
from ragdrop.domain.documents import Head
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import CHUNKS_PER_DOCUMENT, FoundChunk, FoundDocument
from ragdrop.query.ranking import Boosts, boosted

MAX_CRITICAL = 50  # heads that may be read for them, of the 100 of one batch
MIN_CUT = 40  # characters: a shorter beginning of a document says nothing


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
    """As many of *documents*, in order, as fit in *characters*; one that does not is shortened to its best chunk.

    Where not even that fits, it is cut at the end of a paragraph, sentence or word; only where less than MIN_CUT
    characters are left is a document left out.

    Returns:
        Those that fit, how many characters of the share they leave, and those that were shortened or left out.
    """
    kept: list[FoundDocument] = []
    short: list[FoundDocument] = []
    for document in documents:
        if len(document.text) <= characters:
            kept.append(document)
        elif characters >= MIN_CUT:
            kept.append(_shortened(document, characters))
            short.append(document)
        else:
            short.append(document)
            continue
        characters -= len(kept[-1].text)
    return kept, characters, short


def cut_at_boundary(text: str, characters: int) -> str:
    """The longest beginning of *text* of at most *characters* that ends a paragraph, else a line, a sentence, a word.

    One of them only where it keeps at least half of the room; a text without any is cut where the room ends.

    >>> cut_at_boundary("Never restart. Call the shift first.", 20), cut_at_boundary("x" * 9, 5)
    ('Never restart.', 'xxxxx')
    """
    if len(text) <= characters:
        return text
    for boundary, kept in (("\n\n", 0), ("\n", 0), (". ", 1), (" ", 0)):
        end = text.rfind(boundary, 0, characters + len(boundary) - kept)
        if end + kept >= max(1, characters // 2):
            return text[: end + kept]
    return text[:characters]


def _shortened(document: FoundDocument, characters: int) -> FoundDocument:
    """The document by its best chunk, which is cut itself where it does not fit: what a prompt shows is cut too."""
    if not document.chunks:
        text = cut_at_boundary(document.text, characters)
        return replace(document, text=text, text_end=document.text_start + len(text), parts=())
    found = document.chunks[0]
    chunk = found.hit.chunk
    text = cut_at_boundary(chunk.text, characters)
    if len(text) < len(chunk.text):
        chunk = replace(chunk, text=text, end=chunk.start + len(text), after="")
        found = replace(found, hit=replace(found.hit, chunk=chunk))
    return replace(document, text=text, text_start=chunk.start, text_end=chunk.end, chunks=(found,), parts=(found.hit,))
