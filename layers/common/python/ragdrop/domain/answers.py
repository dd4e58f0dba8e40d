"""Questions and answers: the answer, the sources shown to the model, and the citations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from groundcheck import ClaimStatus
from ragdrop.domain.chunks import Hit
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import ModelCall
from ragdrop.domain.retrieval import FoundDocument, LinkedDocument, Query, Retrieval

AnswerStyle = Literal["brief", "normal", "detailed"]
Group = Literal["critical", "relevant", "linked"]
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


def closest_text(documents: Sequence[FoundDocument]) -> str:
    """The closest documents, and how to widen the search, for people who get an abstention; empty without documents."""
    if not documents:
        return ""
    lines = [f"- {document.key.vault_path}: {document.facts.title}" for document in documents]
    return "\n".join(["Closest documents, which may not answer it:", *lines, WIDEN])


WIDEN = "Ask in other words, name what it is about, or lower min_relevance to see more."


@dataclass(frozen=True, slots=True)
class Segment:
    """A chunk as shown to the model, with a number from 1.

    `repeated` counts the characters at its start that the segment before shows already.
    """

    number: int
    hit: Hit
    repeated: int = 0

    @property
    def text(self) -> str:
        """The part of the chunk that is shown."""
        return self.hit.chunk.text[self.repeated :].lstrip("\n") if self.repeated else self.hit.chunk.text


@dataclass(frozen=True, slots=True)
class Source:
    """A document as shown to the model, with its segments in the order of the text; `cut` if some are left out."""

    document: FoundDocument
    group: Group
    segments: tuple[Segment, ...]
    cut: bool = False

    @property
    def characters(self) -> int:
        """Characters of its text that are shown."""
        return sum(len(segment.text) for segment in self.segments)

    @property
    def linked_from(self) -> str | None:
        """The path of the document whose link led to this one."""
        return self.document.linked_from.vault_path if isinstance(self.document, LinkedDocument) else None


@dataclass(frozen=True, slots=True)
class Citation:
    """The evidence of one sentence: `quote` is code points `start` to `end` of the parsed text of that version.

    `attributed`: the model did not cite it, the check found it among the sources.
    """

    marker: int
    bucket: str
    hit: Hit
    start: int
    end: int
    quote: str
    chunk_hash: str
    support: float
    status: ClaimStatus
    attributed: bool = False


@dataclass(frozen=True, slots=True)
class Excluded:
    """A document that was found but is not, or not whole, shown to the model, and why."""

    key: DocumentKey
    reason: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The sources shown to the model, in the order of the prompt, and the documents left out or cut."""

    sources: list[Source] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)

    @property
    def segments(self) -> list[Segment]:
        """All segments, by number."""
        return [segment for source in self.sources for segment in source.segments]

    def documents(self, *groups: Group) -> list[FoundDocument]:
        """The documents of *groups*, of all groups if none is named."""
        return [source.document for source in self.sources if not groups or source.group in groups]


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer: code points `start` to `end` of the answer's text, and the result of its check.

    `reason` and `support` are those of `groundcheck.Checked`; `unknown_marker` is a reason too.  `attributed`: the
    model set no marker, and its evidence was found all the same.
    """

    start: int
    end: int
    text: str
    status: ClaimStatus
    markers: tuple[int, ...] = ()
    reason: str | None = None
    support: float | None = None
    attributed: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of `/ask`; `text` is always a sentence, also for an abstention.

    `warnings` are those of the answer without the retrieval's; `cost` is in the currency of the price table, None if
    the model has no price; `timings_ms` are those of the answer's stages.
    """

    text: str
    retrieval: Retrieval
    prompt_version: str
    citations: list[Citation] = field(default_factory=list)
    claims: list[CheckedSentence] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)
    warnings: list[str] = field(default_factory=list)
    abstain_reason: AbstainReason | None = None
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    id: str | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def unsupported(self) -> list[CheckedSentence]:
        """The claims that their sources contradict or do not support; spans are of `text`."""
        return [claim for claim in self.claims if claim.status in {"unsupported", "contradicted"}]


def sentinel(text: str) -> AbstainReason | None:
    """The reason for not answering if *text* is a sentinel, else None.

    >>> sentinel(" INSUFFICIENT_INFORMATION. "), sentinel("It is 7.")
    ('insufficient_information', None)
    """
    return SENTINELS.get(text.strip().strip(".*`\"'").upper())


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and how to answer it; None leaves it to the settings.

    `max_context_tokens` is for the whole context; `calls` of a chat model condensed the question of a conversation.
    """

    query: Query
    style: AnswerStyle | None = None
    model: str | None = None
    system_prompt: str | None = None
    prompt_template: str | None = None
    max_context_tokens: int | None = None
    calls: tuple[ModelCall, ...] = ()
