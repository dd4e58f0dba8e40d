"""`/answers/{id}`, `/feedback` and `GET /receipts`: receipts, what callers say of answers, and all for an audit."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.shapes.answer_shapes import with_url
from ragdrop.api.shapes.receipt_shapes import (
    AuditPage,
    FeedbackPage,
    FeedbackRequest,
    FeedbackResponse,
    ReceiptShape,
    audited_receipts,
    feedback_shapes,
    judged_answer,
    link_shape,
)
from ragdrop.domain.answers import Receipt
from ragdrop.domain.tenants import Caller
from ragdrop.generate.store_receipts import StoreReceipts


def receipt_shape(found: Receipt, request: Request, who: Caller) -> ReceiptShape:
    """A receipt as *who* is shown it."""
    more = {"request_id": request.state.request_id, "feedback": feedback_shapes(found, who)}
    more["link"] = link_shape(found)
    receipt = ReceiptShape.model_validate({**found.body, **more})
    receipt.citations = [with_url(citation, request) for citation in receipt.citations]
    return receipt


def receipts_router(receipts: Callable[[], StoreReceipts], reader: Authenticate, admin: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["ask"])

    @router.get("/answers/{answer_id}", summary="Read the receipt of an answer")
    def get_answer(
        answer_id: str, request: Request, who: Annotated[Caller, Depends(reader)], deadline: RequestDeadline
    ) -> ReceiptShape:
        """What the answer was asked, said and stood on; for 30 days, unless a document of it is purged before."""
        return receipt_shape(receipts().read(who, answer_id, deadline), request, who)

    @router.post("/answers/{answer_id}/feedback", summary="Say how an answer is")
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

    @router.get("/feedback", summary="List answers that have feedback")
    def get_feedback(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
        cursor: Annotated[str | None, Query(max_length=64)] = None,
    ) -> FeedbackPage:
        """Answers of 30 days of which somebody said something, as far as the key may read their receipts."""
        found, next_cursor = receipts().with_feedback(who, cursor, deadline)
        answers = [judged_answer(each, who) for each in found]
        return FeedbackPage(request_id=request.state.request_id, answers=answers, cursor=next_cursor)

    @router.get("/receipts", summary="List receipts for an audit")
    def get_receipts(
        request: Request,
        who: Annotated[Caller, Depends(admin)],
        deadline: RequestDeadline,
        cursor: Annotated[str | None, Query(max_length=64)] = None,
    ) -> AuditPage:
        """Receipts of the tenant with their links, but those of the last ten minutes.  Role admin, for all vaults."""
        found, next_cursor, at = receipts().for_audit(who, cursor, deadline)
        return AuditPage(
            request_id=request.state.request_id,
            tenant=who.tenant,
            at=at,
            receipts=audited_receipts(found),
            cursor=next_cursor,
        )

    return router
