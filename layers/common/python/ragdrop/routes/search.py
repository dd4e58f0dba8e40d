"""`POST /search`."""

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.explanations import Explanation
from ragdrop.domain.linked import LinkedDocument
from ragdrop.domain.retrieval import FoundChunk, FoundDocument, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.http import RETRY_AFTER_S, deadline_of
from ragdrop.routes.requests import SearchRequest, query_of
from ragdrop.routes.shapes import (
    CandidateShape,
    ChunkShape,
    DebugShape,
    DocumentShape,
    FoldersShape,
    LinkedShape,
    SearchResponse,
)
from ragdrop.usecases.cached_search import Searching

SearchPart = Callable[[], Searching]


def search_router(search: SearchPart, caller: Callable[..., Caller]) -> APIRouter:
    """The route over *search*; *search* is called at the first request, so that declaring the route costs nothing."""
    router = APIRouter(tags=["search"])

    @router.post("/search", response_model=SearchResponse, response_model_exclude_unset=True, summary="Find documents")
    def post_search(
        body: SearchRequest,
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(caller)],
        deadline: Annotated[Deadline, Depends(deadline_of)],
    ) -> SearchResponse:
        """Find the documents that answer a question, best first."""
        start = time.perf_counter()
        found = search()(query_of(body), who, deadline)
        if found.cause is not None:
            response.headers["retry-after"] = str(found.cause.details.get("retry_after_s", RETRY_AFTER_S))
        return _response(found, request, start)

    return router


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
        "snapshot_age_s": found.snapshot_age_s,
        "snapshot_coverage": found.snapshot_coverage,
        "score_basis": found.score_basis,
        "warnings": found.warnings,
        "latency_ms": round((time.perf_counter() - start_s) * 1_000, 3),
        "timings_ms": found.timings_ms,
    }


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
    )
