"""`GET /answers/{id}`: the receipt of an answer."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from ragdrop.api.answer_shapes import CitationShape, ClaimShape, UnsupportedShape, UsageShape, with_url
from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.domain.receipts import FeedbackKind, Receipt
from ragdrop.domain.tenants import Caller
from ragdrop.generate.store_receipts import StoreReceipts


class ReceiptDocument(BaseModel):
    """A document that was found, and its version then."""

    vault: str
    path: str
    key: str
    version_id: str
    group: Literal["critical", "relevant", "linked"]
    raw_score: float | None
    score: float | None


class RetrievedChunk(BaseModel):
    """A chunk that was found: code points `start` to `end` of that version's parsed text have that SHA-256.

    `marker` is the number under which the model was shown it, null where it was not.
    """

    chunk_id: str
    chunk_hash: str
    key: str
    version_id: str
    start: int
    end: int
    marker: int | None
    score: float | None


class FeedbackShape(BaseModel):
    """What a caller said of an answer."""

    kind: FeedbackKind = Field(description="`right`, `wrong`, or `missing` where the documents had more to say.")
    text: str = Field(description="In the caller's own words; empty for none.")
    at: str
    own: bool = Field(description="Whether it is of the key that asks.")


class ReceiptShape(BaseModel):
    """What an answer was asked, said and stood on."""

    request_id: str
    answer_id: str
    created_at: str
    expires_at: str
    question: str
    request: dict[str, Any] = Field(description="The fields that were given, but those at their defaults.")
    request_left_out: list[str] = Field(description="Prompts of the request's own, whose text is not kept.")
    answer: str
    abstained: bool
    abstain_reason: str | None
    citations: list[CitationShape]
    sentences: list[ClaimShape] | None = Field(
        default=None, description="Every sentence with its status; null in receipts of older versions."
    )
    unsupported: list[UnsupportedShape]
    documents: list[ReceiptDocument]
    retrieved: list[RetrievedChunk]
    model: str | None
    finish_reason: str | None
    prompt_version: str | None
    prompt_sha256: str | None = Field(description="Of the messages that the model got, whose text is not kept.")
    usage: UsageShape
    cost: float | None
    fallback_level: int
    degraded: bool
    warnings: list[str]
    timings_ms: dict[str, float]
    shortened: bool = Field(description="Whether it was too large to be kept whole.")
    feedback: list[FeedbackShape] = Field(description="What callers said of it, the last word of each key.")


def answers_router(receipts: Callable[[], StoreReceipts], caller: Authenticate) -> APIRouter:
    """The route over a use case that is made at the first request."""
    router = APIRouter(tags=["ask"])

    @router.get("/answers/{answer_id}", response_model=ReceiptShape, summary="Read the receipt of an answer")
    def get_answer(
        answer_id: str,
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
    ) -> ReceiptShape:
        """What the answer was asked, said and stood on; for 30 days, unless a document of it is purged before."""
        found = receipts().read(who, answer_id, deadline)
        more = {"request_id": request.state.request_id, "feedback": said_of(found, who)}
        receipt = ReceiptShape.model_validate({**found.body, **more})
        receipt.citations = [with_url(citation, request) for citation in receipt.citations]
        return receipt

    return router


def said_of(receipt: Receipt, who: Caller) -> list[FeedbackShape]:
    """What callers said of an answer, in the order of time."""
    said = sorted(receipt.feedback.items(), key=lambda each: each[1].at)
    return [FeedbackShape(**asdict(each), own=credential == who.credential) for credential, each in said]
