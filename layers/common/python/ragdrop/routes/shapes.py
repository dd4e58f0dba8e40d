"""What search and ask give: the shapes of CONTRACT 1."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from ragdrop.domain.documents import ContentType, PromotionLevel


class ChunkShape(BaseModel):
    """A matching chunk; `start` and `end` are code points of the parsed text, `end` exclusive."""

    id: str
    index: int
    text: str
    heading_path: list[str]
    start: int
    end: int
    page: int | None
    score: float | None


class DocumentShape(BaseModel):
    """A document that was found, its matching chunks best first, and the text to read."""

    vault: str
    path: str
    key: str
    version_id: str
    title: str
    summary: str | None
    doc_type: str | None
    content_type: ContentType
    promotion_level: PromotionLevel
    date: str | None
    indexed_at: str
    tags: list[str]
    category: str | None
    agent: str | None
    attributes: dict[str, str]
    char_count: int
    raw_score: float | None = Field(description="Relevance of its best chunk; null where it was not searched.")
    score: float | None = Field(description="The same with its boost.")
    chunks: list[ChunkShape]
    text: str
    text_start: int
    text_end: int


class LinkedShape(DocumentShape):
    """A document that a link led to; its score is on the scale of the results."""

    linked_from: str = Field(description="`vault/path` of the document that links to it.")
    link_depth: int
    link_text: str


class Timings(BaseModel):
    """Milliseconds by stage."""

    embed: float
    retrieve: float
    registry: float
    links: float
    assemble: float


class Flags(BaseModel):
    """What every answer says of itself."""

    request_id: str
    total_matches: int = Field(description="Documents over the threshold, before the limit.")
    total_indexed: int | None = Field(description="Live documents of the tenant; null where the registry is down.")
    abstained: bool
    abstain_reason: Literal["no_relevant_context", "insufficient_information", "ambiguous_question"] | None
    fallback: bool = False
    fallback_level: int = 1
    circuit_breaker_open: bool = False
    served_by: Literal["index", "snapshot", "cache", "none"] = "index"
    degraded: bool
    snapshot_age_s: float | None = None
    snapshot_coverage: float | None = None
    score_basis: Literal["hybrid", "lexical"] = "hybrid"
    warnings: list[str]
    latency_ms: float
    timings_ms: Timings


class CandidateShape(BaseModel):
    """A candidate: scores in [0, 1], the lexical one normalised within the query; why it was kept or dropped."""

    chunk_id: str
    vault: str
    path: str
    heading_path: list[str]
    text: str
    score_vector: float | None
    score_lexical: float | None
    score_final: float | None
    relevance: float | None
    rank: int | None
    kept: bool
    reason: str


class FoldersShape(BaseModel):
    """Folders that were chosen, and those there are."""

    selected: list[str]
    available: list[str]


class DebugShape(BaseModel):
    """Why the results are what they are."""

    candidates: list[CandidateShape]
    candidates_left_out: int = Field(description="Candidates that had no room in the response.")
    folders: FoldersShape
    scopes: list[dict[str, Any]]
    settings: dict[str, Any]


class SearchResponse(Flags):
    """What was found."""

    results: list[DocumentShape]
    critical: list[DocumentShape] = []
    linked: list[LinkedShape] = []
    total_char_count: int = Field(description="Characters of the texts of all documents given.")
    context: str | None = None
    debug: DebugShape | None = None
