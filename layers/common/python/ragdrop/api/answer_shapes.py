"""Response shapes of ask (docs/api.md, "POST /ask")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

from fastapi import Request
from pydantic import BaseModel, Field

from groundcheck import STANDING, ClaimStatus
from ragdrop.api.http import base_of
from ragdrop.api.search import DebugShape, Flags, NearestShape, debug_shape, flags, nearest_shapes
from ragdrop.domain.answers import Answer, CheckedSentence, Citation, Shown
from ragdrop.domain.chunks import Hit
from ragdrop.domain.documents import PromotionLevel
from ragdrop.domain.receipts import citation_fields, sentence_fields
from ragdrop.domain.retrieval import FoundDocument


class CitationShape(BaseModel):
    """A cited sentence's evidence: `quote` is code points `start` to `end` of the parsed text of that version."""

    marker: int
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
    attributed: bool
    url: str | None = Field(default=None, description="The evidence in the web page, as a browser opens it.")


class ReferenceShape(BaseModel):
    """A chunk that the answer refers to."""

    vault: str
    path: str
    heading_path: list[str]
    chunk_index: int
    chunk_id: str


class UnsupportedShape(BaseModel):
    """A sentence of the answer that its sources do not support: code points of `answer`, and what is wrong."""

    start: int
    end: int
    text: str
    reason: str


class ClaimShape(BaseModel):
    """A sentence of the answer and what its check gave."""

    start: int
    end: int
    text: str
    status: ClaimStatus
    markers: list[int]
    reason: str | None
    support: float | None
    attributed: bool


class AskDebugShape(DebugShape):
    """Why the results are what they are, and each claim of the answer."""

    claims: list[ClaimShape]


class LinkedSourceShape(BaseModel):
    """A document that a result links to and whose text was in the prompt."""

    vault: str
    path: str
    title: str
    char_count: int
    linked_from: str | None
    link_depth: int | None


class SourceShape(BaseModel):
    """A document whose text was in the prompt."""

    vault: str
    path: str
    title: str
    char_count: int
    relevance_score: float | None
    promotion_level: PromotionLevel


class ExcludedShape(BaseModel):
    """A document that was found but not shown to the model, or not whole."""

    vault: str
    path: str
    reason: str


class UsageShape(BaseModel):
    """Tokens as the chat endpoint counted them."""

    prompt_tokens: int | None
    completion_tokens: int | None


class BedrockShape(BaseModel):
    """The citations in Amazon Bedrock's shape."""

    citations: list[dict[str, Any]]


class AskResponse(Flags):
    """An answer and what it stands on."""

    asked: str | None = Field(default=None, description="The question as it was searched, `history` considered.")
    answer: str
    citations: list[CitationShape]
    references: list[ReferenceShape]
    references_basis: Literal["cited", "all"]
    sources: list[SourceShape]
    linked_docs: list[LinkedSourceShape]
    excluded: list[ExcludedShape]
    sentences: list[ClaimShape]
    unsupported: list[UnsupportedShape]
    nearest: list[NearestShape]
    model: str | None
    usage: UsageShape
    cost: float | None = Field(description="By the price table of the deployment; null where the model has no price.")
    finish_reason: str | None
    prompt_version: str
    answer_id: str | None = Field(description="Of the receipt, kept 30 days.")
    bedrock: BedrockShape
    context: str | None = None
    debug: AskDebugShape | None = None


def ask_response(answer: Answer, request: Request, start_s: float) -> AskResponse:
    """The body of `POST /ask`; *start_s* is of time.perf_counter."""
    told = flags(answer.retrieval, request, start_s)
    cited = list(dict.fromkeys(citation.hit.chunk_id for citation in answer.citations))
    hits = {segment.hit.chunk_id: segment.hit for segment in answer.shown.segments}
    explanation = answer.retrieval.explanation
    optional: dict[str, Any] = asked_field(request)
    if answer.retrieval.context is not None:
        optional["context"] = answer.retrieval.context
    if explanation is not None:
        claims = [claim_shape(claim) for claim in answer.claims]
        optional["debug"] = AskDebugShape(**debug_shape(explanation).model_dump(), claims=claims)
    return AskResponse(
        answer=answer.text,
        citations=[citation_shape(citation, request) for citation in answer.citations],
        references=[_reference(hits[chunk_id]) for chunk_id in cited or hits if chunk_id in hits],
        references_basis="cited" if cited else "all",
        **shown_fields(answer.shown),
        sentences=[claim_shape(claim) for claim in answer.claims],
        unsupported=[_unsupported(claim) for claim in answer.unsupported],
        nearest=nearest_shapes(answer.retrieval.closest) if answer.abstain_reason else [],
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


def asked_field(request: Request) -> dict[str, str]:
    """`asked`, where the route noted it."""
    asked = getattr(request.state, "asked", None)
    return {"asked": asked} if asked is not None else {}


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


def citation_shape(citation: Citation, request: Request) -> CitationShape:
    """A citation on the wire."""
    shape = CitationShape(**citation_fields(citation))
    return with_url(shape, request)


def with_url(shape: CitationShape, request: Request) -> CitationShape:
    """*shape* with the address at which a browser shows the cited version in the web page, at the cited passage."""
    _tenant, _, place = shape.key.partition("/")
    version = quote(shape.version_id, safe="")
    url = f"{base_of(request)}/app#/documents/{quote(place)}?version={version}&span={shape.start}-{shape.end}"
    return shape.model_copy(update={"url": url})


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


def _unsupported(claim: CheckedSentence) -> UnsupportedShape:
    return UnsupportedShape(start=claim.start, end=claim.end, text=claim.text, reason=claim.reason or "words")


def claim_shape(claim: CheckedSentence) -> ClaimShape:
    """A sentence as the API shows it."""
    return ClaimShape(**sentence_fields(claim))


def bedrock_citations(answer: Answer) -> list[dict[str, Any]]:
    """One entry a cited sentence that has evidence; `span` counts code points of the answer, `end` exclusive."""
    return [
        {
            "generatedResponsePart": {
                "textResponsePart": {"text": claim.text, "span": {"start": claim.start, "end": claim.end}}
            },
            "retrievedReferences": [
                _bedrock_reference(citation) for citation in citations if citation.status in STANDING
            ],
        }
        for claim, citations in cited_claims(answer)
        if claim.status in STANDING
    ]


def cited_claims(answer: Answer) -> Iterator[tuple[CheckedSentence, list[Citation]]]:
    """The claims that cite something, each with its own citations: both lists are in the order of the answer."""
    left = iter(answer.citations)
    for claim in answer.claims:
        if claim.markers:
            yield claim, [citation for _, citation in zip(claim.markers, left, strict=False)]


def _bedrock_reference(citation: Citation) -> dict[str, Any]:
    hit = citation.hit
    return {
        "content": {"type": "TEXT", "text": citation.quote},
        "location": {"type": "S3", "s3Location": {"uri": f"s3://{citation.bucket}/{hit.key.s3_key}"}},
        "metadata": {
            "x-amz-bedrock-kb-source-uri": f"s3://{citation.bucket}/{hit.key.s3_key}",
            "x-amz-bedrock-kb-chunk-id": hit.chunk_id,
            "version_id": hit.facts.version_id,
            "start": citation.start,
            "end": citation.end,
        },
    }
