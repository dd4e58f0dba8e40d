"""`POST /search`."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from ragdrop.api.http import RETRY_AFTER_S, Authenticate, RequestDeadline
from ragdrop.api.requests import SearchRequest, query_of
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import ContentType, PromotionLevel
from ragdrop.domain.retrieval import Explanation, FoundChunk, FoundDocument, LinkedDocument, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.query.cache import Searching


class ChunkShape(BaseModel):
    """A matching chunk; `start` and `end` are code points of the parsed text, `end` exclusive."""

    id: str
    index: int
    text: str
    heading_path: list[str]
    start: int
    end: int
    page: int | None
    place: str | None
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


class NearestShape(BaseModel):
    """A document below the threshold, the closest one where nothing answers: a hint, never evidence."""

    vault: str
    path: str
    key: str
    title: str
    summary: str | None
    heading_path: list[str]
    score: float | None


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
    served_by: Literal["index", "fallback", "cache", "none"] = "index"
    degraded: bool
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
    calibration: dict[str, Any]


class SearchResponse(Flags):
    """What was found."""

    results: list[DocumentShape]
    critical: list[DocumentShape] = []
    linked: list[LinkedShape] = []
    nearest: list[NearestShape] = []
    total_char_count: int = Field(description="Characters of the texts of all documents given.")
    context: str | None = None
    debug: DebugShape | None = None


SearchPart = Callable[[], Searching]


def search_router(search: SearchPart, caller: Authenticate) -> APIRouter:
    """The route over *search*; *search* is called at the first request, so that declaring the route costs nothing."""
    router = APIRouter(tags=["search"])

    @router.post("/search", response_model=SearchResponse, response_model_exclude_unset=True, summary="Find documents")
    async def post_search(
        body: SearchRequest,
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
    ) -> SearchResponse:
        """Find the documents that answer a question, best first."""
        found, shown = await asyncio.to_thread(find, search(), body, request, who, deadline)
        if found.cause is not None:
            response.headers["retry-after"] = str(found.cause.details.get("retry_after_s", RETRY_AFTER_S))
        return shown

    return router


def find(
    search: Searching, body: SearchRequest, request: Request, who: Caller, deadline: Deadline
) -> tuple[Retrieval, SearchResponse]:
    """What *search* found, and how it is shown."""
    start = time.perf_counter()
    found = search(query_of(body), who, deadline)
    return found, _response(found, request, start)


def _response(found: Retrieval, request: Request, start_s: float) -> SearchResponse:
    optional: dict[str, Any] = {}
    if found.context is not None:
        optional["context"] = found.context
    if found.explanation is not None:
        optional["debug"] = debug_shape(found.explanation)
    return SearchResponse(
        results=[_document(document) for document in found.documents],
        critical=[_document(document) for document in found.critical],
        linked=[_linked(document) for document in found.linked],
        nearest=nearest_shapes(found.nearest),
        total_char_count=sum(len(document.text) for document in (*found.critical, *found.documents, *found.linked)),
        abstained=found.abstained,
        abstain_reason="no_relevant_context" if found.abstained else None,
        **flags(found, request, start_s),
        **optional,
    )


def flags(found: Retrieval, request: Request, start_s: float) -> dict[str, Any]:
    """The fields of Flags that a retrieval gives; *start_s* is of time.perf_counter."""
    return {
        "request_id": request.state.request_id,
        "total_matches": found.total_matches,
        "total_indexed": found.total_indexed,
        "fallback": found.fallback_level > 1,
        "fallback_level": found.fallback_level,
        "circuit_breaker_open": found.circuit_breaker_open,
        "served_by": found.served_by,
        "degraded": found.degraded,
        "score_basis": found.score_basis,
        "warnings": found.warnings,
        "latency_ms": round((time.perf_counter() - start_s) * 1_000, 3),
        "timings_ms": found.timings_ms,
    }


def nearest_shapes(found: Sequence[FoundDocument]) -> list[NearestShape]:
    """Closest documents on the wire."""
    return [
        NearestShape(
            vault=one.key.vault,
            path=one.key.path,
            key=one.key.s3_key,
            title=one.facts.title,
            summary=one.facts.summary,
            heading_path=list(one.chunks[0].hit.chunk.heading_path) if one.chunks else [],
            score=one.score,
        )
        for one in found
    ]


def _document(found: FoundDocument) -> DocumentShape:
    return DocumentShape(**_fields(found))


def _linked(found: LinkedDocument) -> LinkedShape:
    return LinkedShape(
        **_fields(found),
        linked_from=found.linked_from.vault_path,
        link_depth=found.link_depth,
        link_text=found.link_text,
    )


def _fields(found: FoundDocument) -> dict[str, Any]:
    facts = found.facts
    return {
        "vault": found.key.vault,
        "path": found.key.path,
        "key": found.key.s3_key,
        "version_id": facts.version_id,
        "title": facts.title,
        "summary": facts.summary,
        "doc_type": facts.doc_type,
        "content_type": facts.content_type,
        "promotion_level": facts.promotion_level,
        "date": facts.date,
        "indexed_at": facts.indexed_at,
        "tags": list(facts.tags),
        "category": facts.category,
        "agent": facts.agent,
        "attributes": facts.attributes,
        "char_count": facts.char_count,
        "raw_score": found.raw_score,
        "score": found.score,
        "chunks": [_chunk(chunk) for chunk in found.chunks],
        "text": found.text,
        "text_start": found.text_start,
        "text_end": found.text_end,
    }


def _chunk(found: FoundChunk) -> ChunkShape:
    chunk = found.hit.chunk
    return ChunkShape(
        id=found.hit.chunk_id,
        index=chunk.ordinal,
        text=chunk.text,
        heading_path=list(chunk.heading_path),
        start=chunk.start,
        end=chunk.end,
        page=chunk.page,
        place=chunk.place,
        score=found.score,
    )


def debug_shape(found: Explanation) -> DebugShape:
    """Why the results are what they are."""
    return DebugShape(
        candidates=[
            CandidateShape(
                chunk_id=one.chunk_id,
                vault=one.vault,
                path=one.path,
                heading_path=list(one.heading_path),
                text=one.text,
                score_vector=one.score_vector,
                score_lexical=one.score_lexical,
                score_final=one.score_final,
                relevance=one.relevance,
                rank=one.rank,
                kept=one.kept,
                reason=one.reason,
            )
            for one in found.candidates
        ],
        candidates_left_out=found.left_out,
        folders=FoldersShape(selected=found.folders_selected, available=found.folders_available),
        scopes=found.scopes,
        settings=found.settings,
        calibration=found.calibration,
    )
