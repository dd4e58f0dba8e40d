"""Arguments and results of the MCP tools (docs/mcp.md, "Tools"). Unknown arguments are refused."""

import json
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from ragdrop.api.shapes.answer_shapes import (
    AnswersQuestionShape,
    CitedEvidence,
    ClosestShape,
    LinkedSourceShape,
    SourceShape,
    TableProofShape,
)
from ragdrop.api.shapes.fields import AnswerAnyway, NullIsAbsent
from ragdrop.api.shapes.search_shapes import Condition, NearestDocument, RerankingShape
from ragdrop.domain.documents import ContentType, PromotionLevel, in_lower_case
from ragdrop.domain.retrieval import AbstainReason

MAX_CONTENT_CHARACTERS = 100_000
MAX_NAMES = 100


def _of_text(value: object, *, several: bool = False) -> object:
    """The list or object that a model wrote as a text of JSON; of *several* values, a single one.

    >>> _of_text('{"a": 1}'), _of_text('["a", "b"]', several=True), _of_text("team", several=True)
    ({'a': 1}, ['a', 'b'], ['team'])
    """
    if not isinstance(value, str):
        return value
    with suppress(ValueError, RecursionError):
        found = json.loads(value)
        if isinstance(found, list | dict):
            return found
    return [value] if several else value


_SEVERAL = BeforeValidator(partial(_of_text, several=True))
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Names = Annotated[list[Word], Field(max_length=MAX_NAMES), _SEVERAL]
Agent = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Attributes = Annotated[dict[str, str | int | float | bool], Field(max_length=20), BeforeValidator(_of_text)]


class Arguments(NullIsAbsent):
    """The arguments of a tool, as models write them: an empty text is left out, `"5"` is a number."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=None)  # clients are offered no null
    absent = (None, "")


class RagQuery(Arguments):
    """A question to be answered."""

    query: Question = Field(description="The question, in plain words.")
    doc_types: Names = Field(default=[], description="Only documents of these types; empty means all.")
    max_sources: int = Field(default=3, ge=1, le=20, description="How many documents the answer may stand on.")
    min_relevance_score: float = Field(
        default=0.7, ge=0, le=1, description="How relevant a document must be, 0 to 1. Leave it out for the usual."
    )
    min_promotion_level: Annotated[PromotionLevel, BeforeValidator(in_lower_case)] = Field(
        default="standard", description="Only documents of this level and those above it."
    )
    include_critical: bool = Field(default=True, description="Always show the critical documents to the model.")
    vaults: Names = Field(default=[], description="Only these vaults; empty means all that the key may see.")
    agent: Agent | None = Field(default=None, description="Who asks: a label for metrics.")
    as_of: Word | None = Field(
        default=None, description="What the documents said then: RFC 3339 with its offset, within 30 days."
    )
    answer_anyway: AnswerAnyway = False


class RagSource(Arguments):
    """A text that an answer may stand on."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=900)] = Field(description="Your name for it.")
    text: Annotated[str, StringConstraints(min_length=1, max_length=500_000)] = Field(description="Its text.")


class RagVerify(Arguments):
    """An answer to be checked."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] = Field(
        description="The answer. [2] behind a sentence names the second source."
    )
    sources: Annotated[list[RagSource], Field(min_length=1, max_length=50), BeforeValidator(_of_text)] = Field(
        description="The texts that it was written from, with different ids."
    )
    question: Question | None = Field(default=None, description="What it answers: then you learn whether it does.")


class RagContextSearch(Arguments):
    """A search for passages."""

    query: Question = Field(description="What to look for, in plain words.")
    limit: int = Field(default=5, ge=1, le=20, description="How many passages at most.")
    rerank: bool = Field(default=False, description="Let the reader order them: slower, and better for questions.")
    category: Word | None = Field(default=None, description="Only documents of this category.")
    session_id: Word | None = Field(default=None, description="Only documents of this session.")
    content_type: Annotated[ContentType | None, BeforeValidator(in_lower_case)] = Field(
        default=None, description="Only documents of this kind."
    )
    doc_types: Names = Field(default=[], description="Only documents of these types; empty means all.")
    vaults: Names = Field(default=[], description="Only these vaults; empty means all that the key may see.")
    attributes: Attributes = Field(default={}, description="Only documents with exactly these values.")
    agent: Agent | None = Field(default=None, description="Who asks: a label for metrics.")
    as_of: Word | None = Field(
        default=None, description="What the documents said then: RFC 3339 with its offset, within 30 days."
    )


class Metadata(Arguments):
    """What a new document says of itself."""

    agent: Agent | None = Field(default=None, description="Who wrote it.")
    tags: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=100)]], _SEVERAL] = Field(
        default=[], max_length=50, description="Words to find it by."
    )
    category: Word | None = Field(default=None, description="A word of your own, or one that the settings list.")
    attributes: Attributes = Field(default={}, description="Values to filter by, of your own naming.")


class RagContextIndex(Arguments):
    """A document to be stored."""

    content: str = Field(
        min_length=1, max_length=MAX_CONTENT_CHARACTERS, description="The text, Markdown or plain, stored unchanged."
    )
    content_type: Annotated[ContentType | None, BeforeValidator(in_lower_case)] = Field(
        default=None, description="What it is; found by its text if left out."
    )
    session_id: Word | None = Field(default=None, description="The session that it belongs to, to filter by.")
    source: Annotated[str, StringConstraints(min_length=1, max_length=900)] | None = Field(
        default=None,
        description="Its path in the vault, like notes/pump.md; the same path replaces. Named by its text if left out.",
    )
    metadata: Annotated[Metadata, BeforeValidator(_of_text)] = Field(
        default=Metadata(), description="What it says of itself."
    )
    vault: str = Field(default="agents", pattern="^[a-z0-9-]{2,63}$", description="The vault to keep it in.")


class RagContextHealth(Arguments):
    """Nothing is asked for."""


class RagContextStats(Arguments):
    """Which time is counted."""

    time_range: Literal["1h", "24h", "7d", "30d"] = Field(default="24h", description="How far back to count.")


class AnswerSource(SourceShape):
    """A document whose text the model was shown."""

    relevance_score: float | None = Field(description="0 to 1; 1.0 for a critical document that is always shown.")


class Answered(Condition):
    """An answer whose citations were checked."""

    answer: str
    sources: list[AnswerSource]
    linked_docs: list[LinkedSourceShape]
    citations: list[CitedEvidence]
    abstained: bool
    abstain_reason: AbstainReason | None
    answers_question: AnswersQuestionShape
    closest: list[ClosestShape] = Field(
        default=[], description="The closest passages, where nothing answers. Nothing confirms that they do."
    )
    nearest: list[NearestDocument] = Field(default=[], description="The closest documents, where nothing answers.")
    table: TableProofShape | None = Field(default=None, description="How it was computed, where it comes from a table.")
    answer_id: str | None = Field(description="Of the receipt, stored 30 days.")


class PassageMetadata(BaseModel):
    """What the document of a passage says of itself."""

    agent: str | None
    tags: list[str]
    category: str | None
    attributes: dict[str, str]


class PassageShape(BaseModel):
    """A passage of a document."""

    content: str
    score: float | None = Field(description="Relevance, 0 to 1.")
    source: str = Field(description="The document's S3 key: tenant/vault/path.")
    timestamp: str = Field(description="When it was indexed.")
    metadata: PassageMetadata


class Passages(Condition):
    """Passages, best first."""

    results: list[PassageShape]
    reranking: RerankingShape | None = Field(default=None, description="With `rerank`: who ordered them.")
    total_indexed: int | None = Field(description="Live documents of the project; null where it cannot be known.")
    nearest: list[NearestDocument] = Field(default=[], description="The closest documents, where nothing was found.")


class Indexed(BaseModel):
    """What became of a document; `pending` means that it was stored and will be found a little later."""

    success: bool
    pending: bool
    document_id: str = Field(description="The document's S3 key: tenant/vault/path.")
    chunks_indexed: int | None
    chunk_ids: list[str]
    latency_ms: float
    status_url: str | None = Field(description="Where its status can be read while it is pending.")
