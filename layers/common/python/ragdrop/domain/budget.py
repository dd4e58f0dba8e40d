"""The token budget of a prompt: which documents' chunks are shown to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragdrop.domain.answers import Excluded, Segment
from ragdrop.domain.retrieval import FoundDocument

CHARACTERS_PER_TOKEN = 4
SEGMENT_OVERHEAD_TOKENS = 60  # the tags, title and path around a segment
TOO_LARGE = "over_budget"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown to the model, and which documents were not."""

    segments: list[Segment]
    documents: list[FoundDocument]
    excluded: list[Excluded]


def estimate_tokens(text: str) -> int:
    """Tokens of *text* at four characters each, rounded up.

    >>> estimate_tokens("12345")
    2
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def document_tokens(*, context: int, answer: int, prompt: int, system_prompt: str) -> int:
    """Tokens left for documents: the context less the answer's and the prompt's reserve (or its true size)."""
    return max(0, context - answer - max(prompt, estimate_tokens(system_prompt)))


def fit(documents: Sequence[FoundDocument], *, tokens: int) -> Shown:
    """Number the chunks of *documents*, best first; one that does not fit is skipped, the next may fit."""
    segments: list[Segment] = []
    shown: list[FoundDocument] = []
    excluded: list[Excluded] = []
    left = tokens
    for document in documents:
        taken = []
        for found in document.chunks:
            size = estimate_tokens(found.hit.chunk.text) + SEGMENT_OVERHEAD_TOKENS
            if size <= left:
                left -= size
                taken.append(found.hit)
        if not taken:
            excluded.append(Excluded(document.key, TOO_LARGE))
            continue
        shown.append(document)
        segments += [Segment(len(segments) + place, hit) for place, hit in enumerate(taken, start=1)]
    return Shown(segments, shown, excluded)
