"""From an answer of the domain to its shape on the wire."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from ragdrop.domain.answers import Answer, Citation, Claim, Shown
from ragdrop.domain.chunks import Hit
from ragdrop.domain.receipts import citation_fields
from ragdrop.domain.retrieval import FoundDocument
from ragdrop.routes.answer_shapes import (
    AskDebugShape,
    AskResponse,
    BedrockShape,
    CitationShape,
    ClaimShape,
    ExcludedShape,
    LinkedSourceShape,
    ReferenceShape,
    SourceShape,
    UnsupportedShape,
    UsageShape,
)
from ragdrop.routes.bedrock import bedrock_citations
from ragdrop.routes.search import debug_shape, flags


def ask_response(answer: Answer, request: Request, start_s: float) -> AskResponse:
    """The body of `POST /ask`; *start_s* is of time.perf_counter."""
    told = flags(answer.retrieval, request, start_s)
    cited = list(dict.fromkeys(citation.hit.chunk_id for citation in answer.citations))
    hits = {segment.hit.chunk_id: segment.hit for segment in answer.shown.segments}
    explanation = answer.retrieval.explanation
    optional: dict[str, Any] = {}
    if answer.retrieval.context is not None:
        optional["context"] = answer.retrieval.context
    if explanation is not None:
        claims = [_claim(claim) for claim in answer.claims]
        optional["debug"] = AskDebugShape(**debug_shape(explanation).model_dump(), claims=claims)
    return AskResponse(
        answer=answer.text,
        citations=[citation_shape(citation) for citation in answer.citations],
        references=[_reference(hits[chunk_id]) for chunk_id in cited or hits if chunk_id in hits],
        references_basis="cited" if cited else "all",
        **shown_fields(answer.shown),
        unsupported=[_unsupported(claim) for claim in answer.unsupported],
        model=answer.model,
        usage=UsageShape(prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens),
        cost=answer.cost,
        finish_reason=answer.finish_reason,
        prompt_version=answer.prompt_version,
        answer_id=answer.id,
        bedrock=BedrockShape(citations=bedrock_citations(answer)),
        abstained=answer.abstain_reason is not None,
        abstain_reason=answer.abstain_reason,
        **optional,
        **{**told, "warnings": [*told["warnings"], *answer.warnings]},
    )


def shown_fields(shown: Shown) -> dict[str, Any]:
    """`sources`, `linked_docs` and `excluded`: what the model was shown, critical first, and what it was not."""
    return {
        "sources": [_source(document) for document in shown.documents("critical", "relevant")],
        "linked_docs": [
            LinkedSourceShape(
                vault=source.document.key.vault,
                path=source.document.key.path,
                title=source.document.facts.title,
                char_count=source.document.facts.char_count,
                linked_from=source.linked_from,
                link_depth=getattr(source.document, "link_depth", None),
            )
            for source in shown.sources
            if source.group == "linked"
        ],
        "excluded": [
            ExcludedShape(vault=out.key.vault, path=out.key.path, reason=out.reason) for out in shown.excluded
        ],
    }


def citation_shape(citation: Citation) -> CitationShape:
    """A citation on the wire."""
    return CitationShape(**citation_fields(citation))


def _source(document: FoundDocument) -> SourceShape:
    return SourceShape(
        vault=document.key.vault,
        path=document.key.path,
        title=document.facts.title,
        char_count=document.facts.char_count,
        relevance_score=document.score,
        promotion_level=document.facts.promotion_level,
    )


def _reference(hit: Hit) -> ReferenceShape:
    return ReferenceShape(
        vault=hit.key.vault,
        path=hit.key.path,
        heading_path=list(hit.chunk.heading_path),
        chunk_index=hit.chunk.ordinal,
        chunk_id=hit.chunk_id,
    )


def _unsupported(claim: Claim) -> UnsupportedShape:
    return UnsupportedShape(start=claim.start, end=claim.end, text=claim.text, reason=claim.reason or "words")


def _claim(claim: Claim) -> ClaimShape:
    return ClaimShape(
        start=claim.start,
        end=claim.end,
        text=claim.text,
        status=claim.status,
        markers=list(claim.markers),
        reason=claim.reason,
        support=claim.support,
        attributed=claim.attributed,
    )
