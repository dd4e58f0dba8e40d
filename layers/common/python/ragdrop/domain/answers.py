"""An answer and what it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ragdrop.domain.chunks import Hit
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.retrieval import FoundDocument, Retrieval

AbstainReason = Literal["no_relevant_context", "insufficient_information", "ambiguous_question"]

# What the prompt asks the model to say when it cannot answer; never shown to a caller.
SENTINELS: dict[str, AbstainReason] = {
    "INSUFFICIENT_INFORMATION": "insufficient_information",
    "AMBIGUOUS_QUESTION": "ambiguous_question",
}
ABSTENTIONS: dict[AbstainReason, str] = {
    "no_relevant_context": "Nothing in the documents was found that is relevant to this question.",
    "insufficient_information": "The documents that were found do not hold enough to answer this question.",
    "ambiguous_question": "The question can be understood in several ways; please say more precisely what you mean.",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A chunk as the model is shown it, under a number from 1."""

    number: int
    hit: Hit


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited sentence's evidence: `quote` is code points `start` to `end` of the parsed text of that version."""

    marker: int
    bucket: str
    hit: Hit
    start: int
    end: int
    quote: str
    chunk_hash: str
    support: float
    status: Literal["verified", "unsupported"]


@dataclass(frozen=True, slots=True)
class Excluded:
    """A document that was found but not shown to the model, and why."""

    key: DocumentKey
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What `/ask` gives.  `text` is always a sentence, also when abstaining."""

    text: str
    retrieval: Retrieval
    prompt_version: str
    citations: list[Citation] = field(default_factory=list)
    shown: list[FoundDocument] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    abstain_reason: AbstainReason | None = None
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def sentinel(text: str) -> AbstainReason | None:
    """The reason that a model gives for not answering, if that is what *text* says.

    >>> sentinel(" INSUFFICIENT_INFORMATION. "), sentinel("It is 7.")
    ('insufficient_information', None)
    """
    return SENTINELS.get(text.strip().strip(".*`\"'").upper())
