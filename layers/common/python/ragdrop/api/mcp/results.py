"""Structured results of the MCP tools (docs/mcp.md, "Tools"): fields of the API's replies."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from groundcheck import ClaimStatus
from ragdrop.domain.documents import PromotionLevel


class Result(BaseModel):
    """Part of a tool's result; what the API says beyond it is left out."""

    model_config = ConfigDict(extra="ignore")


class Flags(Result):
    """What every result of a search says of itself."""

    latency_ms: float
    fallback: bool = Field(description="Whether something failed and another way was taken.")
    fallback_level: int = Field(description="1 all is well, 2 degraded, 3 nothing could be searched, 4 nor was tried.")
    circuit_breaker_open: bool
    degraded: bool = Field(description="Whether something that was asked for is missing; `warnings` say what.")
    warnings: list[str]


class Citation(Result):
    """Evidence: `quote` is code points `start` to `end` of the parsed text of that version of the document."""

    marker: int = Field(description="The [n] in the answer.")
    bucket: str
    key: str
    version_id: str
    path: str
    start: int
    end: int
    quote: str
    page: int | None
    place: str | None = None
    heading_path: list[str]
    chunk_id: str
    chunk_hash: str
    support: float
    status: ClaimStatus
    attributed: bool = Field(description="The model did not cite it; the check found it among the sources.")


class Source(Result):
    """A document whose text the model was shown."""

    vault: str
    path: str
    title: str
    char_count: int
    relevance_score: float | None = Field(description="0 to 1; 1.0 for a critical document that is always shown.")
    promotion_level: PromotionLevel


class LinkedSource(Result):
    """A document that a source links to."""

    vault: str
    path: str
    title: str
    char_count: int
    linked_from: str | None
    link_depth: int | None


class Nearest(Result):
    """A document below the threshold, the closest one where nothing answers: a hint, never evidence."""

    vault: str
    path: str
    title: str
    score: float | None


class Answered(Flags):
    """An answer whose citations were checked."""

    answer: str
    sources: list[Source]
    linked_docs: list[LinkedSource]
    citations: list[Citation]
    abstained: bool
    abstain_reason: Literal["no_relevant_context", "insufficient_information", "ambiguous_question"] | None
    answer_id: str | None = Field(description="Of the receipt, kept 30 days.")
    nearest: list[Nearest] = Field(default=[], description="The closest documents, where nothing answers.")


class Proof(Result):
    """The passage that decided: code points `start` to `end` of the source's text."""

    source: str
    start: int
    end: int
    quote: str


class Sentence(Result):
    """A sentence of the answer: code points `start` to `end` of it."""

    start: int
    end: int
    text: str
    status: ClaimStatus
    reason: str | None = Field(description="What is wrong, or not certain; null where it is verified.")
    support: float | None
    evidence: list[Proof]


class Verified(Result):
    """Each sentence of an answer with its status."""

    sentences: list[Sentence]
    warnings: list[str]
    latency_ms: float


class PassageMetadata(Result):
    """What the document of a passage says of itself."""

    agent: str | None
    tags: list[str]
    category: str | None
    attributes: dict[str, str]


class Passage(Result):
    """A passage of a document."""

    content: str
    score: float | None = Field(description="Relevance, 0 to 1.")
    source: str = Field(description="The document's S3 key: tenant/vault/path.")
    timestamp: str = Field(description="When it was indexed.")
    metadata: PassageMetadata


class Passages(Flags):
    """Passages, best first."""

    results: list[Passage]
    total_indexed: int | None = Field(description="Live documents of the project; null where it cannot be known.")
    nearest: list[Nearest] = Field(default=[], description="The closest documents, where nothing was found.")


class Indexed(Result):
    """What became of a document; `pending` means that it was stored and will be found a little later."""

    success: bool
    pending: bool
    document_id: str = Field(description="The document's S3 key: tenant/vault/path.")
    chunks_indexed: int | None
    chunk_ids: list[str]
    latency_ms: float
    status_url: str | None = Field(description="Where its status can be read while it is pending.")


class Dependency(Result):
    """One thing that the service depends on."""

    status: Literal["healthy", "degraded", "unavailable", "absent", "unknown"]
    latency_ms: float | None
    circuit_breaker_open: bool
    detail: str | None


class Health(Result):
    """The state of the service, as `GET /health` gives it."""

    healthy: bool
    status: Literal["healthy", "degraded", "unavailable"]
    version: str
    dependencies: dict[str, Dependency]
    indexed_documents: int | None = None
    latency_ms: float | None = None


class Tokens(Result):
    """Tokens that chat models read and wrote; null where none of them told."""

    prompt: int | None
    completion: int | None
    total: int | None


class Stats(Result):
    """Figures of a time, as `GET /stats` gives them; rates are shares of the queries in [0, 1], null without any."""

    time_range: Literal["1h", "24h", "7d", "30d"]
    total_documents: int | None
    total_chunks: int | None
    total_queries: int
    avg_latency_ms: float | None
    p50_latency_ms: float | None
    p95_latency_ms: float | None
    p99_latency_ms: float | None
    cache_hit_rate: float | None
    fallback_rate: float | None
    abstention_rate: float | None
    error_rate: float | None
    queries_by_agent: dict[str, int]
    errors_by_code: dict[str, int]
    tokens: Tokens
    cost: float | None = Field(description="In the currency of the deployment's prices; null without a price.")


def as_structured(result: BaseModel) -> dict[str, Any]:
    """A result as structured content."""
    return result.model_dump(mode="json")
