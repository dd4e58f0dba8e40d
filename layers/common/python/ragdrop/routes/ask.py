"""`POST /ask`."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from ragdrop.domain.answers import Answer, Citation
from ragdrop.domain.chunks import Hit
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller
from ragdrop.http import deadline_of
from ragdrop.routes.requests import AskRequest, query_of
from ragdrop.routes.search import flags
from ragdrop.routes.shapes import (
    AskResponse,
    CitationShape,
    ExcludedShape,
    ReferenceShape,
    SourceShape,
    UsageShape,
)
from ragdrop.usecases.ask import Ask

AskPart = Callable[[], Ask]


def ask_router(ask: AskPart, caller: Callable[..., Caller]) -> APIRouter:
    """The route over *ask*; *ask* is called at the first request, so that declaring the route costs nothing."""
    router = APIRouter(tags=["ask"])

    @router.post("/ask", response_model=AskResponse, summary="Answer a question")
    def post_ask(
        body: AskRequest,
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        deadline: Annotated[Deadline, Depends(deadline_of)],
    ) -> AskResponse:
        """Answer a question from the documents, with citations that name bucket, key, version, span and quote."""
        start = time.perf_counter()
        return _response(ask()(query_of(body), who, deadline), request, start)

    return router


def _response(answer: Answer, request: Request, start: float) -> AskResponse:
    cited = list(dict.fromkeys(citation.hit.chunk_id for citation in answer.citations))
    hits = {segment.hit.chunk_id: segment.hit for segment in answer.segments}
    return AskResponse(
        answer=answer.text,
        citations=[_citation(citation) for citation in answer.citations],
        references=[_reference(hits[chunk_id]) for chunk_id in cited or hits],
        references_basis="cited" if cited else "all",
        sources=[
            SourceShape(
                vault=document.key.vault,
                path=document.key.path,
                title=document.facts.title,
                char_count=document.facts.char_count,
                relevance_score=document.score,
                promotion_level=document.facts.promotion_level,
            )
            for document in answer.shown
        ],
        excluded=[ExcludedShape(vault=out.key.vault, path=out.key.path, reason=out.reason) for out in answer.excluded],
        model=answer.model,
        usage=UsageShape(prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens),
        finish_reason=answer.finish_reason,
        prompt_version=answer.prompt_version,
        abstained=answer.abstain_reason is not None,
        abstain_reason=answer.abstain_reason,
        **flags(answer.retrieval, request, start),
    )


def _citation(citation: Citation) -> CitationShape:
    hit = citation.hit
    return CitationShape(
        marker=citation.marker,
        bucket=citation.bucket,
        key=hit.key.s3_key,
        version_id=hit.facts.version_id,
        path=hit.key.path,
        start=citation.start,
        end=citation.end,
        quote=citation.quote,
        page=hit.chunk.page,
        heading_path=list(hit.chunk.heading_path),
        chunk_id=hit.chunk_id,
        chunk_hash=citation.chunk_hash,
        support=citation.support,
        status=citation.status,
    )


def _reference(hit: Hit) -> ReferenceShape:
    return ReferenceShape(
        vault=hit.key.vault,
        path=hit.key.path,
        heading_path=list(hit.chunk.heading_path),
        chunk_index=hit.chunk.ordinal,
        chunk_id=hit.chunk_id,
    )
