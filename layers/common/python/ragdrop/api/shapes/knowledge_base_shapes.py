"""Requests of Bedrock's knowledge bases, as far as ragdrop reads them; AWS's model of the service names the fields."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from ragdrop.api.shapes.fields import Tolerant

ID_LENGTH = 10
EVERYTHING = "EVERYTHING"  # the id of all vaults that a key may read
MAX_RESULTS = 100
MAX_SOURCES_TO_RERANK = 1_000


def knowledge_base_id(vault: str) -> str:
    """The id by which clients of Bedrock name a vault: ten capital letters and digits, of its name alone.

    >>> knowledge_base_id("team")
    'ZKFSFUG3QO'
    """
    return base64.b32encode(hashlib.sha256(vault.encode()).digest()).decode()[:ID_LENGTH]


def _refused(value: object) -> object:
    if value is not None:
        raise ValueError("ragdrop does not have this, and an answer without it would be another one")
    return value


Absent = Annotated[None, BeforeValidator(_refused), Field(description="Not supported: a request with it is refused.")]


class KnowledgeBaseShape(Tolerant):
    """Fields that are not named here are ignored, and named in the header `x-ragdrop-ignored`."""

    model_config = ConfigDict(strict=True, alias_generator=to_camel, populate_by_name=True)


class QueryShape(KnowledgeBaseShape):
    """What is searched for."""

    type: Literal["TEXT"] = Field(default="TEXT", description="Text alone; images are refused.")
    text: str = Field(default="", description="The question, 1 to 1,000 characters.")


class RerankedShape(KnowledgeBaseShape):
    """How many results are left; the reader reranks, whatever model is named."""

    number_of_reranked_results: int | None = Field(default=None, ge=1, le=MAX_RESULTS, description="Results left.")


class RerankedSearch(KnowledgeBaseShape):
    """That the results are reranked."""

    type: Literal["BEDROCK_RERANKING_MODEL"] = Field(description="The only type.")
    bedrock_reranking_configuration: RerankedShape = Field(
        default_factory=RerankedShape, description="How many results are left."
    )


class SearchConfiguration(KnowledgeBaseShape):
    """How to search."""

    number_of_results: int | None = Field(default=None, ge=1, le=MAX_RESULTS, description="Passages; 5 if not given.")
    override_search_type: Literal["HYBRID", "SEMANTIC"] | None = Field(
        default=None, description="`SEMANTIC` is ignored: every search is by vectors and by words."
    )
    filter: dict[str, Any] | None = Field(default=None, description="A tree of conditions on metadata.")
    reranking_configuration: RerankedSearch | None = Field(default=None, description="The reader orders the results.")
    reranking_model_type: Literal["CUSTOM", "MANAGED", "NONE"] | None = Field(
        default=None, description="All but `NONE`: the reader orders the results."
    )
    implicit_filter_configuration: Absent = None

    @property
    def rerank(self) -> bool:
        """Whether the reader orders the results."""
        return self.reranking_configuration is not None or self.reranking_model_type in {"CUSTOM", "MANAGED"}

    @property
    def results(self) -> int:
        """Passages of a page."""
        asked = self.number_of_results or 5
        if self.reranking_configuration is None:
            return asked
        left = self.reranking_configuration.bedrock_reranking_configuration.number_of_reranked_results
        return min(asked, left or asked)

    def ignored(self, place: str = "") -> Iterator[str]:
        """The fields that were given and are not read."""
        yield from super().ignored(place)
        if self.override_search_type == "SEMANTIC":
            yield place + "overrideSearchType"


class RetrievalConfiguration(KnowledgeBaseShape):
    """One of two ways to say the same."""

    vector_search_configuration: SearchConfiguration | None = Field(default=None, description="How to search.")
    managed_search_configuration: SearchConfiguration | None = Field(default=None, description="How to search.")

    @property
    def search(self) -> SearchConfiguration:
        """The one that was given."""
        return self.vector_search_configuration or self.managed_search_configuration or SearchConfiguration()


class RetrieveRequest(KnowledgeBaseShape):
    """A search for passages."""

    retrieval_query: QueryShape = Field(description="What is searched for.")
    retrieval_configuration: RetrievalConfiguration = Field(
        default_factory=RetrievalConfiguration, description="How to search."
    )
    next_token: Annotated[str, StringConstraints(pattern=r"^\d{1,3}$")] | None = Field(
        default=None, description="The `nextToken` of the page before."
    )
    guardrail_configuration: Absent = None
    user_context: Absent = None


class InputShape(KnowledgeBaseShape):
    """What is asked."""

    text: str = Field(description="The question, 1 to 1,000 characters.")


class GenerationShape(KnowledgeBaseShape):
    """How to write the answer; the deployment decides."""

    guardrail_configuration: Absent = None


class KnowledgeBaseConfiguration(KnowledgeBaseShape):
    """Which vault is asked, and how."""

    knowledge_base_id: str = Field(min_length=1, max_length=2_048, description="The id of a vault.")
    retrieval_configuration: RetrievalConfiguration = Field(
        default_factory=RetrievalConfiguration, description="How to search."
    )
    generation_configuration: GenerationShape = Field(default_factory=GenerationShape, description="How to write.")


class GenerateConfiguration(KnowledgeBaseShape):
    """What the answer stands on."""

    type: Literal["KNOWLEDGE_BASE"] = Field(description="Documents of vaults; external sources are refused.")
    knowledge_base_configuration: KnowledgeBaseConfiguration = Field(description="Which vault is asked, and how.")


class GenerateRequest(KnowledgeBaseShape):
    """A question to be answered from the documents of a vault."""

    input: InputShape = Field(description="What is asked.")
    retrieve_and_generate_configuration: GenerateConfiguration = Field(description="What the answer stands on.")
    session_id: str | None = Field(default=None, description="The `sessionId` of the answer that it follows up.")
    user_context: Absent = None


class TextShape(KnowledgeBaseShape):
    """A text."""

    text: str = Field(min_length=1, max_length=32_000, description="The text.")


class RerankQueryShape(KnowledgeBaseShape):
    """What the sources are compared with."""

    type: Literal["TEXT"] = Field(description="Text alone.")
    text_query: TextShape = Field(description="The question.")


class InlineDocument(KnowledgeBaseShape):
    """A text, or JSON that is read as text."""

    type: Literal["TEXT", "JSON"] = Field(description="Which of both.")
    text_document: TextShape | None = Field(default=None, description="The text.")
    json_document: Any = Field(default=None, description="The JSON.")

    @property
    def read(self) -> str:
        """What is read of it."""
        if self.type == "TEXT":
            return self.text_document.text if self.text_document else ""
        return json.dumps(self.json_document, ensure_ascii=False)


class RerankSourceShape(KnowledgeBaseShape):
    """A source to be ordered."""

    type: Literal["INLINE"] = Field(description="The only type.")
    inline_document_source: InlineDocument = Field(description="The source itself.")


class RerankCountShape(KnowledgeBaseShape):
    """How many results are given."""

    number_of_results: int | None = Field(default=None, ge=1, le=1_000, description="Results; all if not given.")


class RerankConfiguration(KnowledgeBaseShape):
    """How many results are given; the reader reranks, whatever model is named."""

    type: Literal["BEDROCK_RERANKING_MODEL"] = Field(description="The only type.")
    bedrock_reranking_configuration: RerankCountShape = Field(description="How many results are given.")


class RerankRequest(KnowledgeBaseShape):
    """Sources to be ordered by how relevant they are to a question."""

    queries: list[RerankQueryShape] = Field(min_length=1, max_length=1, description="One question.")
    sources: list[RerankSourceShape] = Field(
        min_length=1, max_length=MAX_SOURCES_TO_RERANK, description="What is ordered."
    )
    reranking_configuration: RerankConfiguration = Field(description="How many results are given.")
    next_token: Absent = None
