"""`POST /v1/chat/completions` and `GET /v1/models`: the OpenAI protocol, answered with checked citations."""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from ragdrop.domain.answers import Citation
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.questions import Question
from ragdrop.domain.tenants import Caller
from ragdrop.http import deadline_of
from ragdrop.routes.ask import AskPart
from ragdrop.routes.chat_replies import Reply
from ragdrop.routes.chat_requests import ChatRequest, model_names, vaults_of
from ragdrop.routes.event_stream import EVENT_STREAM, EventStream
from ragdrop.usecases.ask import AskEvent, Found
from ragdrop.usecases.condense_conversation import CondenseConversation
from ragdrop.usecases.tenants import Directory


def chat_router(
    ask: AskPart,
    condense: Callable[[], CondenseConversation],
    directory: Directory,
    caller: Callable[..., Caller],
) -> APIRouter:
    """The routes; *ask* and *condense* are called at the first request, so that declaring them costs nothing."""
    router = APIRouter(prefix="/v1", tags=["openai"])

    @router.post(
        "/chat/completions",
        summary="Answer a conversation",
        response_model=None,
        responses={200: {"content": {EVENT_STREAM: {}}, "description": "A completion, or its chunks with `stream`."}},
    )
    def post_chat(
        body: ChatRequest,
        request: Request,
        who: Annotated[Caller, Depends(caller)],
        deadline: Annotated[Deadline, Depends(deadline_of)],
    ) -> JSONResponse | EventStream:
        """Answer the last question of a conversation from the documents, in the OpenAI protocol.

        `model` is `default` or `vault:NAME`.  Citations stand in `annotations` and, as `/ask` gives them, in
        `citations`; the other fields of its answer in `ragdrop`.  Fields of the protocol not named here are ignored.
        """
        reply = Reply(request, body.model, int(time.time()), time.perf_counter())
        vaults = vaults_of(body.model, directory.tenant(who.tenant), who)
        question = Question(Query(condense()(body.turns, deadline), vaults=vaults))
        if not body.stream:
            return JSONResponse(reply.whole(ask()(question, who, deadline)))
        stream = _begun(ask().stream(question, who, deadline))
        usage = body.stream_options is not None and body.stream_options.include_usage
        return EventStream(reply.chunks(stream, include_usage=usage))

    @router.get("/models", summary="List the models")
    def get_models(who: Annotated[Caller, Depends(caller)]) -> dict[str, Any]:
        """What `model` may be: `default` for all that the key may see, `vault:NAME` for one vault."""
        names = model_names(directory.tenant(who.tenant), who)
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "ragdrop"} for name in names],
        }

    return router


def _begun(stream: Iterator[AskEvent]) -> Iterator[AskEvent]:
    """*stream* from its first word on: what fails before it is an error like any other, with a status."""
    first = next(event for event in stream if not isinstance(event, Found | Citation))
    return itertools.chain([first], stream)
