"""`POST /answers/{id}/feedback` and `GET /feedback`: what callers say of answers."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from ragdrop.api.http import Authenticate, RequestDeadline
from ragdrop.api.receipts import FeedbackShape, said_of
from ragdrop.domain.receipts import FeedbackKind, Receipt
from ragdrop.domain.tenants import Caller
from ragdrop.generate.store_receipts import StoreReceipts

MAX_CHARACTERS = 2_000


class FeedbackRequest(BaseModel):
    """What is said of an answer."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: FeedbackKind = Field(description="`right`, `wrong`, or `missing` where the documents had more to say.")
    text: str = Field(
        default="", max_length=MAX_CHARACTERS, description="In your own words, such as which document has the answer."
    )


class FeedbackResponse(BaseModel):
    """What was kept."""

    request_id: str
    answer_id: str
    kind: FeedbackKind
    text: str
    at: str


class JudgedAnswer(BaseModel):
    """An answer that has feedback, and what it stood on."""

    answer_id: str
    created_at: str
    question: str
    abstained: bool
    cited: list[str] = Field(description="`vault/path` of each document that the answer cites.")
    found: list[str] = Field(description="`vault/path` of each document that was found.")
    feedback: list[FeedbackShape] = Field(description="What callers said of it, the last word of each key.")


class FeedbackPage(BaseModel):
    """Answers that have feedback."""

    request_id: str
    answers: list[JudgedAnswer] = Field(description="Answers that have feedback, by id.")
    cursor: str | None


def feedback_router(receipts: Callable[[], StoreReceipts], reader: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["ask"])

    @router.post("/answers/{answer_id}/feedback", response_model=FeedbackResponse, summary="Say how an answer is")
    def post_feedback(
        answer_id: str,
        body: FeedbackRequest,
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
    ) -> FeedbackResponse:
        """Keep what the key says of an answer with its receipt, and for as long; the last word of a key counts."""
        said = receipts().store_feedback(who, answer_id, body.kind, body.text, deadline)
        return FeedbackResponse(
            request_id=request.state.request_id, answer_id=answer_id, kind=said.kind, text=said.text, at=said.at
        )

    @router.get("/feedback", response_model=FeedbackPage, summary="List answers that have feedback")
    def get_feedback(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
        cursor: Annotated[str | None, Query(max_length=64)] = None,
    ) -> FeedbackPage:
        """Answers of 30 days of which somebody said something, as far as the key may read their receipts."""
        found, next_cursor = receipts().with_feedback(who, cursor, deadline)
        answers = [_judged(each, who) for each in found]
        return FeedbackPage(request_id=request.state.request_id, answers=answers, cursor=next_cursor)

    return router


def _judged(receipt: Receipt, who: Caller) -> JudgedAnswer:
    body = receipt.body
    cited, found = (
        list(dict.fromkeys(each["key"].partition("/")[2] for each in body[name])) for name in ("citations", "documents")
    )
    known = {name: body[name] for name in ("answer_id", "created_at", "question", "abstained")}
    return JudgedAnswer(**known, cited=cited, found=found, feedback=said_of(receipt, who))
