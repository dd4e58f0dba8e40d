"""What `POST /search` replies (docs/api.md)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.shapes.fields import (
    Abstained,
    CharCount,
    ChunkId,
    ChunkIndex,
    HeadingPath,
    Keyed,
    LatencyMs,
    Page,
    Placed,
    PlaceInDocument,
    Replied,
    Score,
    Spanned,
    Summary,
    Text,
    Title,
    VersionId,
    Warnings,
    placed,
    shaped,
)
from ragdrop.domain.documents import ContentType, PromotionLevel
from ragdrop.domain.retrieval import AbstainReason, Explanation, FoundChunk, FoundDocument, LinkedDocument, Retrieval

if TYPE_CHECKING:
    from starlette.requests import Request


class ChunkShape(Spanned):
    """A matching chunk; `start` and `end` are code points of the parsed text, `end` exclusive."""

    id: str = Field(description="Its id.")
    index: ChunkIndex
    text: Text
    heading_path: HeadingPath
    page: Page
    place: PlaceInDocument
    score: Score


class DocumentShape(Keyed):
    """A document that was found, its matching chunks best first, and the text to read."""

    version_id: VersionId
    title: Title
    summary: Summary
    doc_type: str | None = Field(description="What it is about, a free word.")
    content_type: ContentType = Field(description="chat, decision, code or documentation.")
    promotion_level: PromotionLevel = Field(description="standard, important or critical.")
    date: str | None = Field(description="The date that the document states.")
    indexed_at: str = Field(description="When its live revision was indexed.")
    tags: list[str] = Field(description="Words to find it by.")
    category: str | None = Field(description="A free word, unless settings list the allowed ones.")
    agent: str | None = Field(description="Who wrote it.")
    attributes: dict[str, str] = Field(description="Values of the document's own naming.")
    char_count: CharCount
    raw_score: float | None = Field(description="Relevance of its best chunk; null where it was not searched.")
    score: float | None = Field(description="The same with its boost.")
    chunks: list[ChunkShape] = Field(description="The matching chunks, best first, at most 3.")
    text: Text
    text_start: int = Field(description="The first code point of `text` in the parsed text.")
    text_end: int = Field(description="The code point after the last one of `text`.")


class LinkedShape(DocumentShape):
    """A document that a link led to; its score is on the scale of the results."""

    linked_from: str = Field(description="`vault/path` of the document that links to it.")
    link_depth: int = Field(description="How many links away from a result.")
    link_text: str = Field(description="The words of the link.")


class NearestDocument(Placed):
    """A document below the threshold, the closest one where nothing answers: a hint, never evidence."""

    title: Title
    score: Score


class NearestShape(NearestDocument, Keyed):
    """A document below the threshold, the closest one where nothing answers: a hint, never evidence."""

    summary: Summary
    heading_path: HeadingPath


class Timings(BaseModel):
    """Milliseconds by stage."""

    embed: float = Field(description="The question's vector.")
    retrieve: float = Field(description="The search in the index.")
    registry: float = Field(description="Reading what is live.")
    links: float = Field(description="Following links.")
    assemble: float = Field(description="Putting texts together.")


class Condition(BaseModel):
    """How well a reply could be made."""

    fallback: bool = Field(default=False, description="Whether something failed and another way was taken.")
    fallback_level: int = Field(
        default=1, description="1 all is well, 2 degraded, 3 nothing could be searched, 4 nor was tried."
    )
    circuit_breaker_open: bool = Field(
        default=False, description="Whether a service is left alone for a while after failures."
    )
    degraded: bool = Field(description="Whether something that was asked for is missing; `warnings` say what.")
    warnings: Warnings
    latency_ms: LatencyMs


class Flags(Condition, Replied):
    """What every answer says of itself."""

    total_matches: int = Field(description="Documents over the threshold, before the limit.")
    total_indexed: int | None = Field(description="Live documents of the tenant; null where the registry is down.")
    abstained: Abstained
    abstain_reason: AbstainReason | None = Field(description="Why it abstained; null where it did not.")
    served_by: Literal["index", "fallback", "cache", "none"] = Field(default="index", description="What was searched.")
    score_basis: Literal["hybrid", "lexical"] = Field(
        default="hybrid", description="`hybrid`, or `lexical` where the search was lexical only."
    )
    timings_ms: Timings = Field(description="Milliseconds by stage.")


class CandidateShape(Placed):
    """A candidate: scores in [0, 1], the lexical one normalised within the query; why it was returned or dropped."""

    chunk_id: ChunkId
    heading_path: HeadingPath
    text: Text
    score_vector: float | None = Field(description="Similarity of the vectors; null where only words found it.")
    score_lexical: float | None = Field(
        description="Share of the best lexical score of the query; null where only its vector found it."
    )
    score_final: float | None = Field(description="The fused score.")
    relevance: float | None = Field(description="The calibrated relevance.")
    rank: int | None = Field(description="Its place, from 1; null where it was dropped.")
    kept: bool = Field(description="Whether it is among the results.")
    reason: str = Field(description="Why it was returned or dropped.")


class FoldersShape(BaseModel):
    """Folders that were chosen, and those there are."""

    selected: list[str] = Field(description="Folders that were chosen.")
    available: list[str] = Field(description="Folders there are.")


class DebugShape(BaseModel):
    """Why the results are what they are."""

    candidates: list[CandidateShape] = Field(description="Every candidate that was looked at.")
    candidates_left_out: int = Field(description="Candidates that had no room in the response.")
    folders: FoldersShape = Field(description="Folders chosen, and those there are.")
    scopes: list[dict[str, Any]] = Field(description="Where was searched.")
    settings: dict[str, Any] = Field(description="Settings in force, and where each came from.")
    calibration: dict[str, Any] = Field(
        description="What scores of the embedding model are worth here, and where that is known from."
    )


class RerankingShape(BaseModel):
    """Whether the reader ordered the results; it changes no score."""

    model_config = ConfigDict(from_attributes=True)

    status: Literal["reranked", "no_reader", "language", "not_read", "nothing_found"] = Field(
        description="`reranked`; else why the order is that of the search: there is no reader, it does not read the "
        "question's language, it did not answer, or nothing was found."
    )
    model: str | None = Field(description="The model that ordered them; null where none did.")


class SearchResponse(Flags):
    """What was found."""

    results: list[DocumentShape] = Field(description="Documents found, best first.")
    critical: list[DocumentShape] = Field(
        default=[], description="Critical documents of the vaults in scope, whatever their score."
    )
    linked: list[LinkedShape] = Field(default=[], description="Documents that results link to.")
    nearest: list[NearestShape] = Field(
        default=[], description="Where nothing answers: the closest documents, at most 3. They are no evidence."
    )
    total_char_count: int = Field(description="Characters of the texts of all documents given.")
    reranking: RerankingShape | None = Field(
        default=None, description="Whether the reader ordered the results; with `rerank`."
    )
    context: str | None = Field(
        default=None, description="All texts in three headed groups, for a model of your own; with `include_context`."
    )
    debug: DebugShape | None = Field(default=None, description="Why the results are what they are; with `debug`.")


def search_response(found: Retrieval, request: Request, start_s: float) -> SearchResponse:
    """The body of `POST /search`; *start_s* is of time.perf_counter."""
    optional: dict[str, Any] = {}
    if found.reranking is not None:
        optional["reranking"] = RerankingShape.model_validate(found.reranking)
    if found.context is not None:
        optional["context"] = found.context
    if found.explanation is not None:
        optional["debug"] = debug_shape(found.explanation)
    return SearchResponse(
        results=[DocumentShape(**_fields(document)) for document in found.documents],
        critical=[DocumentShape(**_fields(document)) for document in found.critical],
        linked=[_linked(document) for document in found.linked],
        nearest=nearest_shapes(found.nearest),
        total_char_count=sum(len(document.text) for document in (*found.critical, *found.documents, *found.linked)),
        abstained=found.abstained,
        abstain_reason="no_relevant_context" if found.abstained else None,
        **flags(found, request, start_s),
        **optional,
    )


OF_RETRIEVAL = (
    *("total_matches", "total_indexed", "fallback_level", "circuit_breaker_open", "served_by"),
    *("degraded", "score_basis", "warnings", "timings_ms"),
)


def flags(found: Retrieval, request: Request, start_s: float) -> dict[str, Any]:
    """The fields of Flags that a retrieval gives; *start_s* is of time.perf_counter."""
    return {
        **{name: getattr(found, name) for name in OF_RETRIEVAL},
        "request_id": request.state.request_id,
        "fallback": found.fallback_level > 1,
        "latency_ms": round((time.perf_counter() - start_s) * 1_000, 3),
    }


def nearest_shapes(found: Sequence[FoundDocument]) -> list[NearestShape]:
    """Closest documents on the wire."""
    return [
        shaped(
            NearestShape,
            one.facts,
            **placed(one.key),
            key=one.key.s3_key,
            heading_path=one.chunks[0].hit.chunk.heading_path if one.chunks else [],
            score=one.score,
        )
        for one in found
    ]


def _linked(found: LinkedDocument) -> LinkedShape:
    return LinkedShape(
        **_fields(found),
        linked_from=found.linked_from.vault_path,
        link_depth=found.link_depth,
        link_text=found.link_text,
    )


OF_FOUND = ("raw_score", "score", "text", "text_start", "text_end")
OF_FACTS = tuple(sorted(DocumentShape.model_fields.keys() - {*Keyed.model_fields, *OF_FOUND, "chunks"}))


def _fields(found: FoundDocument) -> dict[str, Any]:
    return {
        **placed(found.key),
        "key": found.key.s3_key,
        "chunks": [_chunk(chunk) for chunk in found.chunks],
        **{name: getattr(found.facts, name) for name in OF_FACTS},
        **{name: getattr(found, name) for name in OF_FOUND},
    }


def _chunk(found: FoundChunk) -> ChunkShape:
    chunk = found.hit.chunk
    return shaped(ChunkShape, chunk, id=found.hit.chunk_id, index=chunk.ordinal, score=found.score)


def debug_shape(found: Explanation) -> DebugShape:
    """Why the results are what they are."""
    return shaped(
        DebugShape,
        found,
        candidates=[shaped(CandidateShape, each) for each in found.candidates],
        candidates_left_out=found.left_out,
        folders=FoldersShape(selected=found.folders_selected, available=found.folders_available),
    )
