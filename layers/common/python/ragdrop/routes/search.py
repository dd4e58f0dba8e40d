"""`POST /search`."""

import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.fusion import Fused
from ragdrop.domain.retrieval import DEFAULT_LIMIT, FoundDocument, Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.http import deadline_of
from ragdrop.routes.shapes import ChunkShape, DocumentShape, SearchRequest, SearchResponse
from ragdrop.usecases.search import Search

SearchPart = Callable[[], Search]


def search_router(search: SearchPart, caller: Callable[..., Caller]) -> APIRouter:
    """The route over *search*; *search* is called at the first request, so that declaring the route costs nothing."""
    router = APIRouter(tags=["search"])

    @router.post("/search", response_model=SearchResponse, summary="Find documents")
    def post_search(
        body: SearchRequest,
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        deadline: Annotated[Deadline, Depends(deadline_of)],
    ) -> SearchResponse:
        """Find the documents that answer a question, best first."""
        start = time.perf_counter()
        found = search()(query_of(body), who, deadline)
        results = [_document(document) for document in found.documents]
        return SearchResponse(
            results=results,
            total_char_count=sum(len(result.text) for result in results),
            abstained=not results,
            abstain_reason=None if results else "no_relevant_context",
            **flags(found, request, start),
        )

    return router


def query_of(body: SearchRequest) -> Query:
    """The domain's query of a request."""
    return Query(body.query, tuple(body.vaults), tuple(body.folders), body.limit or DEFAULT_LIMIT)


def flags(found: Retrieval, request: Request, start_s: float) -> dict[str, Any]:
    """The fields of Flags that a retrieval gives; *start_s* is of time.perf_counter."""
    return {
        "request_id": request.state.request_id,
        "total_matches": found.total_matches,
        "total_indexed": found.total_indexed,
        "degraded": bool(found.warnings),
        "warnings": found.warnings,
        "latency_ms": round((time.perf_counter() - start_s) * 1_000, 3),
        "timings_ms": found.timings_ms,
    }


def _document(found: FoundDocument) -> DocumentShape:
    facts = found.facts
    return DocumentShape(
        vault=found.key.vault,
        path=found.key.path,
        key=found.key.s3_key,
        version_id=facts.version_id,
        title=facts.title,
        summary=facts.summary,
        doc_type=facts.doc_type,
        content_type=facts.content_type,
        promotion_level=facts.promotion_level,
        date=facts.date,
        indexed_at=facts.indexed_at,
        tags=list(facts.tags),
        category=facts.category,
        agent=facts.agent,
        attributes=facts.attributes,
        char_count=facts.char_count,
        raw_score=found.raw_score,
        score=found.score,
        chunks=[_chunk(chunk) for chunk in found.chunks],
        text=found.text,
        text_start=found.text_start,
        text_end=found.text_end,
    )


def _chunk(found: Fused) -> ChunkShape:
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
