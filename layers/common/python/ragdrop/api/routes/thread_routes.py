"""`/threads`: questions that follow one another, as the receipts of their answers."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from ragdrop.api.edge import Authenticate, RequestDeadline
from ragdrop.api.routes.receipt_routes import receipt_shape
from ragdrop.api.shapes.thread_shapes import (
    ThreadAnswer,
    ThreadChange,
    ThreadDeleted,
    ThreadList,
    ThreadMarkdown,
    ThreadReply,
    ThreadRequest,
    ThreadShape,
    ThreadSummary,
    thread_fields,
)
from ragdrop.domain.answers import Thread
from ragdrop.domain.tenants import Caller
from ragdrop.generate.threads import Threads

LISTED = 100
THREAD = "/threads/{thread_id}"


def threads_router(threads: Callable[[], Threads], reader: Authenticate) -> APIRouter:
    """The routes over a use case that is made at the first request."""
    router = APIRouter(tags=["ask"])

    def reply(thread: Thread, request: Request, who: Caller) -> ThreadReply:
        return ThreadReply.model_validate(thread_fields(thread, who) | {"request_id": request.state.request_id})

    @router.post("/threads", status_code=201, summary="Begin a thread")
    def post_thread(
        body: ThreadRequest, request: Request, who: Annotated[Caller, Depends(reader)], deadline: RequestDeadline
    ) -> ThreadReply:
        """Begin a thread with an answer that this key asked for."""
        return reply(threads().create(who, body.answer_id, body.name, deadline), request, who)

    @router.get("/threads", summary="List threads")
    def get_threads(
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        q: Annotated[str, Query(max_length=200, description="Words that the name has.")] = "",
    ) -> ThreadList:
        """The threads of this key, the one that changed last first."""
        found = [ThreadSummary.model_validate(thread_fields(each, who)) for each in threads().own(who, q)[:LISTED]]
        return ThreadList(request_id=request.state.request_id, threads=found)

    @router.get(THREAD, summary="Read a thread")
    def get_thread(
        thread_id: str,
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
        cursor: Annotated[str | None, Query(max_length=8)] = None,
    ) -> ThreadShape:
        """A thread of this key, or a shared one, with the receipts of answers that the key may read now."""
        thread = threads().read(who, thread_id)
        found, left_out, following = threads().page(who, thread, cursor, deadline)
        answers = [receipt_shape(each, request, who) for each in found]
        more = {"request_id": request.state.request_id, "answers": answers, "left_out": left_out, "cursor": following}
        return ThreadShape.model_validate(thread_fields(thread, who) | more)

    @router.get(f"{THREAD}/markdown", summary="Export a thread")
    def get_thread_markdown(
        thread_id: str, request: Request, who: Annotated[Caller, Depends(reader)], deadline: RequestDeadline
    ) -> ThreadMarkdown:
        """The thread as Markdown with footnotes, as far as the key may read its answers now."""
        markdown = threads().markdown(who, thread_id, deadline)
        return ThreadMarkdown(request_id=request.state.request_id, thread_id=thread_id, markdown=markdown)

    @router.post(f"{THREAD}/answers", summary="Add an answer to a thread")
    def post_thread_answer(
        thread_id: str,
        body: ThreadAnswer,
        request: Request,
        who: Annotated[Caller, Depends(reader)],
        deadline: RequestDeadline,
    ) -> ThreadReply:
        """Add an answer that this key asked for to a thread of it; one that is there already stays once."""
        return reply(threads().add(who, thread_id, body.answer_id, deadline), request, who)

    @router.patch(THREAD, summary="Name or share a thread")
    def patch_thread(
        thread_id: str, body: ThreadChange, request: Request, who: Annotated[Caller, Depends(reader)]
    ) -> ThreadReply:
        """Name a thread of this key, share it with the tenant, or stop sharing it."""
        return reply(threads().change(who, thread_id, name=body.name, shared=body.shared), request, who)

    @router.delete(THREAD, summary="Delete a thread")
    def delete_thread(thread_id: str, request: Request, who: Annotated[Caller, Depends(reader)]) -> ThreadDeleted:
        """Remove a thread of this key for good, with the receipts of its answers."""
        gone = threads().delete(who, thread_id)
        return ThreadDeleted(request_id=request.state.request_id, thread_id=thread_id, receipts=gone)

    return router
