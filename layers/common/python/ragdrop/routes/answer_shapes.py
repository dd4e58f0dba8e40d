"""What ask gives: the shapes of CONTRACT 1."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ragdrop.domain.documents import PromotionLevel
from ragdrop.routes.shapes import DebugShape, Flags


class CitationShape(BaseModel):
    """A cited sentence's evidence: `quote` is code points `start` to `end` of the parsed text of that version."""

    marker: int
    bucket: str
    key: str
    version_id: str
    path: str
    start: int
    end: int
    quote: str
    page: int | None
    heading_path: list[str]
    chunk_id: str
    chunk_hash: str
    support: float
    status: Literal["verified", "unsupported"]
    attributed: bool


class ReferenceShape(BaseModel):
    """A chunk that the answer refers to."""

    vault: str
    path: str
    heading_path: list[str]
    chunk_index: int
    chunk_id: str


class UnsupportedShape(BaseModel):
    """A sentence of the answer that its sources do not support: code points of `answer`, and what is wrong."""

    start: int
    end: int
    text: str
    reason: str


class ClaimShape(BaseModel):
    """A sentence of the answer and what its check gave."""

    start: int
    end: int
    text: str
    status: Literal["verified", "unsupported", "no_claim"]
    markers: list[int]
    reason: str | None
    support: float | None
    attributed: bool


class AskDebugShape(DebugShape):
    """Why the results are what they are, and each claim of the answer."""

    claims: list[ClaimShape]


class LinkedSourceShape(BaseModel):
    """A document that a result links to and whose text was in the prompt."""

    vault: str
    path: str
    title: str
    char_count: int
    linked_from: str | None
    link_depth: int | None


class SourceShape(BaseModel):
    """A document whose text was in the prompt."""

    vault: str
    path: str
    title: str
    char_count: int
    relevance_score: float | None
    promotion_level: PromotionLevel


class ExcludedShape(BaseModel):
    """A document that was found but not shown to the model, or not whole."""

    vault: str
    path: str
    reason: str


class UsageShape(BaseModel):
    """Tokens as the chat endpoint counted them."""

    prompt_tokens: int | None
    completion_tokens: int | None


class BedrockShape(BaseModel):
    """The citations in Amazon Bedrock's shape."""

    citations: list[dict[str, Any]]


class AskResponse(Flags):
    """An answer and what it stands on."""

    answer: str
    citations: list[CitationShape]
    references: list[ReferenceShape]
    references_basis: Literal["cited", "all"]
    sources: list[SourceShape]
    linked_docs: list[LinkedSourceShape]
    excluded: list[ExcludedShape]
    unsupported: list[UnsupportedShape]
    model: str | None
    usage: UsageShape
    cost: float | None = Field(description="By the price table of the deployment; null where the model has no price.")
    finish_reason: str | None
    prompt_version: str
    answer_id: str | None = Field(description="Of the receipt, kept 30 days.")
    bedrock: BedrockShape
    context: str | None = None
    debug: AskDebugShape | None = None
