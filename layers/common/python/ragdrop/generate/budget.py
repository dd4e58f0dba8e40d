"""The token budget of a prompt: which documents the model is shown, and in what order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragdrop.domain.answers import Excluded, Group, Segment, Shown, Source
from ragdrop.domain.chunks import CHARACTERS_PER_TOKEN, Hit
from ragdrop.domain.retrieval import FoundDocument

DOCUMENT_OVERHEAD_TOKENS = 60  # a document's two tags, with its title and path
SEGMENT_OVERHEAD_TOKENS = 20  # the tag before a segment, with its number and heading
TOO_LARGE = "over_budget"
CUT = "cut_to_budget"
LAYOUT: tuple[Group, ...] = ("critical", "relevant", "linked")


def estimate_tokens(text: str) -> int:
    """Tokens of *text* at four characters each, rounded up.

    >>> estimate_tokens("12345")
    2
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def document_tokens(*, context: int, answer: int, prompt: int, system_prompt: str) -> int:
    """Tokens left for documents: the context without the reserves of answer and prompt, or the prompt's true size.

    >>> document_tokens(context=24_000, answer=2_000, prompt=500, system_prompt="")
    21500
    """
    return max(0, context - context_for(0, answer=answer, prompt=prompt, system_prompt=system_prompt))


def context_for(documents: int, *, answer: int, prompt: int, system_prompt: str) -> int:
    """Tokens of a context with room for *documents* tokens of sources.

    >>> context_for(100, answer=2_000, prompt=500, system_prompt="")
    2600
    """
    return documents + answer + max(prompt, estimate_tokens(system_prompt))


def fit(
    critical: Sequence[FoundDocument],
    relevant: Sequence[FoundDocument],
    linked: Sequence[FoundDocument] = (),
    *,
    tokens: int,
) -> Shown:
    """Choose what the model is shown, and number it.

    Documents, each list best first, are admitted in this order while there is room: critical ones, important ones, then
    by score, newest first, linked ones last.  A document that does not fit is cut to its matching chunks, a critical
    one to its first chunks.  If not even these fit it is skipped, and the next may fit.  Segments are numbered in the
    order of the prompt: critical, relevant by score, linked by depth.
    """
    left = tokens
    admitted: dict[int, tuple[tuple[Hit, ...], bool]] = {}
    excluded: list[Excluded] = []
    for group, document in _admission(critical, relevant, linked):
        taken, cut = _taken(document, group, left)
        if cut or not taken:
            excluded.append(Excluded(document.key, CUT if taken else TOO_LARGE))
        if taken:
            left -= _cost(taken)
            admitted[id(document)] = (taken, cut)
    sources: list[Source] = []
    number = 0
    for group, documents in zip(LAYOUT, (critical, _by_score(relevant), linked), strict=True):
        for document in documents:
            if id(document) in admitted:
                taken, cut = admitted[id(document)]
                segments = _segments(taken, number + 1)
                sources.append(Source(document, group, segments, cut))
                number += len(segments)
    return Shown(sources, excluded)


def _admission(
    critical: Sequence[FoundDocument], relevant: Sequence[FoundDocument], linked: Sequence[FoundDocument]
) -> Iterator[tuple[Group, FoundDocument]]:
    newest = sorted(relevant, key=lambda found: found.facts.date or "", reverse=True)
    best = sorted(newest, key=lambda found: -(found.score or 0.0))
    ranked = sorted(best, key=lambda found: found.facts.promotion_level == "standard")
    yield from (("critical", document) for document in critical)
    yield from (("relevant", document) for document in ranked)
    yield from (("linked", document) for document in linked)


def _by_score(documents: Sequence[FoundDocument]) -> list[FoundDocument]:
    return sorted(documents, key=lambda found: -(found.score or 0.0))


def _taken(document: FoundDocument, group: Group, left: int) -> tuple[tuple[Hit, ...], bool]:
    """The chunks of a document that fit into *left* tokens, in the order of its text, and whether some do not."""
    whole = _whole(document)
    if _cost(whole) <= left:
        return whole, False
    left -= DOCUMENT_OVERHEAD_TOKENS
    taken: list[Hit] = []
    for hit in whole if group == "critical" else tuple(found.hit for found in document.chunks):
        cost = _cost([hit]) - DOCUMENT_OVERHEAD_TOKENS
        if cost > left and group == "critical":
            break
        if cost <= left:
            left -= cost
            taken.append(hit)
    return tuple(sorted(taken, key=lambda hit: hit.chunk.ordinal)), True


def smallest_cost(documents: Sequence[FoundDocument]) -> int:
    """Tokens that the smallest chunk of *documents* takes in a prompt."""
    return min(_cost([hit]) for document in documents for hit in _whole(document))


def _whole(document: FoundDocument) -> tuple[Hit, ...]:
    """The chunks of its text that was found, and the chunks that matched elsewhere in it."""
    hits = {hit.chunk_id: hit for hit in (*document.parts, *(found.hit for found in document.chunks))}
    return tuple(sorted(hits.values(), key=lambda hit: hit.chunk.ordinal))


def _segments(hits: Sequence[Hit], number: int) -> tuple[Segment, ...]:
    """*hits* of one document in the order of its text, numbered from *number*; overlaps are shown once."""
    ends = [0, *(hit.chunk.end for hit in hits)]
    overlaps = [max(0, end - hit.chunk.start) for end, hit in zip(ends, hits, strict=False)]
    return tuple(
        Segment(number + place, hit, overlap if overlap < len(hit.chunk.text) else 0)
        for place, (hit, overlap) in enumerate(zip(hits, overlaps, strict=True))
    )


def _cost(hits: Sequence[Hit]) -> int:
    """Tokens that *hits* of one document take in a prompt."""
    segments = _segments(hits, 1)
    shown = sum(estimate_tokens(each.hit.chunk.context) + estimate_tokens(each.text) for each in segments)
    return shown + DOCUMENT_OVERHEAD_TOKENS + SEGMENT_OVERHEAD_TOKENS * len(hits)
