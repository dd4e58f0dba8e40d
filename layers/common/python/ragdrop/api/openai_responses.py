"""`POST /v1/responses`: an answer with file citations, whole or by events, in the OpenAI protocol."""

import time
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from ragdrop.api.edge import Authenticate, RequestDeadline, body_of_error
from ragdrop.api.knowledge_bases import KnowledgeBases, valid
from ragdrop.api.openai import CUT, beyond_the_protocol, standing_citations, vaults_of
from ragdrop.api.routes.ask_routes import AskPart, earlier_turns, turns_of
from ragdrop.api.shapes.fields import ignored_header
from ragdrop.api.shapes.openai_shapes import ResponsesRequest, bedrock_filter, file_id
from ragdrop.api.shapes.request_shapes import SearchRequest, query_of
from ragdrop.api.streams import EVENT_STREAM, EventStream, begun, left_to_say, sse, whole_text
from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.receipt_chains import new_receipt_id
from ragdrop.domain.tenants import Caller
from ragdrop.errors import RagdropError
from ragdrop.generate.ask import AskEvent
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.generate.store_receipts import StoreReceipts
from ragdrop.tenants.directory import TenantDirectory

RESPONSE_PREFIX = "resp_"


def responses_router(
    ask: AskPart,
    condense: Callable[[], CondenseConversation],
    receipts: Callable[[], StoreReceipts],
    bases: KnowledgeBases,
    directory: TenantDirectory,
    caller: Authenticate,
) -> APIRouter:
    """The route; its parts are called at the first request, so that declaring it costs nothing."""
    router = APIRouter(prefix="/v1", tags=["openai"])

    def scope_of(body: ResponsesRequest, who: Caller) -> dict[str, Any]:
        """The fields of a search that say where to look: the model's vault, or the vector stores of `file_search`."""
        vaults = list(vaults_of(body.model, directory.tenant(who.tenant), who))
        tools = body.searches
        stores = [each for tool in tools for each in tool.vector_store_ids]
        asked = list(dict.fromkeys(bases.vault(who, each, field="vector_store_ids") for each in stores))
        tree = bedrock_filter(tools[0].filters) if tools else None
        alone = {} if tree is None else {"include_critical": False, "follow_links": False}
        return {**bases.within(who, asked or vaults or None, tree), **alone}

    def question_of(body: ResponsesRequest, who: Caller, deadline: Deadline) -> Question:
        scope, turns = scope_of(body, who), body.turns
        last = (body.previous_response_id or "").removeprefix(RESPONSE_PREFIX) or None
        if last is not None:
            before = earlier_turns(receipts(), who, last, deadline, field="previous_response_id")
            turns = [*turns_of(before), *turns]
        asked = condense()(turns, deadline)
        query = query_of(valid(SearchRequest, query=asked.text, session=last, **scope))
        answer_id = new_receipt_id(time.time(), None, uuid.uuid4().hex)
        anyway = body.answer_anyway
        return Question(query, answer_anyway=anyway, calls=asked.calls, turns=asked.turns, answer_id=answer_id)

    @router.post(
        "/responses",
        summary="Answer, with file citations",
        response_model=None,
        responses={200: {"content": {EVENT_STREAM: {}}, "description": "A response, or its events with `stream`."}},
    )
    def post_response(
        body: ResponsesRequest, request: Request, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> JSONResponse | EventStream:
        """Answer the last question of a conversation from the documents, as OpenAI's Responses API does.

        Annotations are file citations; `citations` has them as `/ask` gives them, `ragdrop` the rest of its answer.
        Other fields of the protocol are ignored, and named in the header `x-ragdrop-ignored`.
        """
        start_s, now_s = time.perf_counter(), int(time.time())
        question = question_of(body, who, deadline)
        reply = ResponseReply(request, body, str(question.answer_id), now_s, start_s)
        if not body.stream:
            return JSONResponse(reply.completed(ask()(question, who, deadline)), headers=ignored_header(body))
        stream = begun(ask().stream(question, who, deadline))
        return EventStream(reply.events(stream), headers=ignored_header(body))

    return router


@dataclass(frozen=True, slots=True)
class ResponseReply:
    """What all events of one response say; `answer_id` is that of its receipt, `created_s` seconds since 1970."""

    request: Request
    body: ResponsesRequest
    answer_id: str
    created_s: int
    start_s: float

    def completed(self, answer: Answer) -> dict[str, Any]:
        """The whole `response`; `incomplete` where the answer was cut off."""
        counted = answer.prompt_tokens is not None and answer.completion_tokens is not None
        why = CUT.get(answer.finish_reason or "")
        status = "incomplete" if why else "completed"
        return {
            **self._response(status, [self._message([self._part(answer)], status=status)]),
            "incomplete_details": {"reason": why} if why else None,
            "usage": _usage(answer.prompt_tokens or 0, answer.completion_tokens or 0) if counted else None,
            **beyond_the_protocol(answer, self.request, self.start_s),
        }

    def events(self, stream: Iterator[AskEvent]) -> Generator[str, None, None]:
        """The events of *stream*; an error that comes on the way is the last of them."""
        numbers = count()

        def event(kind: str, **more: Any) -> str:
            return sse(kind, {"type": kind, "sequence_number": next(numbers), **more})

        of_item = {"output_index": 0, "item_id": f"msg_{self.answer_id}"}
        of_part = {**of_item, "content_index": 0}
        said = ""
        yield event("response.created", response=self._response("in_progress", []))
        yield event("response.in_progress", response=self._response("in_progress", []))
        yield event("response.output_item.added", output_index=0, item=self._message([], status="in_progress"))
        yield event("response.content_part.added", **of_part, part=_text("", []))
        try:
            for each in stream:
                if isinstance(each, str):
                    said += each
                    yield event("response.output_text.delta", **of_part, delta=each, logprobs=[])
                elif isinstance(each, Answer):
                    if rest := left_to_say(each, said):
                        said += rest
                        yield event("response.output_text.delta", **of_part, delta=rest, logprobs=[])
                    whole = self.completed(each)
                    [part] = whole["output"][0]["content"]
                    for place, found in enumerate(part["annotations"]):
                        kind = "response.output_text.annotation.added"
                        yield event(kind, **of_part, annotation_index=place, annotation=found)
                    yield event("response.output_text.done", **of_part, text=said, logprobs=[])
                    yield event("response.content_part.done", **of_part, part=part)
                    yield event("response.output_item.done", output_index=0, item=whole["output"][0])
                    yield event(f"response.{whole['status']}", response=whole)
        except RagdropError as exc:
            error = body_of_error(exc, self.request)["error"]
            yield event("error", **{name: error[name] for name in ("code", "message", "param")})

    def _response(self, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": RESPONSE_PREFIX + self.answer_id,
            "object": "response",
            "created_at": self.created_s,
            "status": status,
            "model": self.body.model,
            "output": output,
            "previous_response_id": self.body.previous_response_id,
            "tools": [tool.model_dump(exclude_unset=True) for tool in self.body.searches],
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": self.body.metadata or {},
            "usage": None,
        }

    def _message(self, content: list[dict[str, Any]], *, status: str) -> dict[str, Any]:
        kind = {"id": f"msg_{self.answer_id}", "type": "message", "role": "assistant"}
        return {**kind, "status": status, "content": content}

    @staticmethod
    def _part(answer: Answer) -> dict[str, Any]:
        """The text, and a `file_citation` behind each cited sentence for each citation of it."""
        cited = [
            {
                "type": "file_citation",
                "index": claim.end,
                "file_id": file_id(citation.hit.key.path),
                "filename": citation.hit.key.path.rpartition("/")[2],
                "vector_store_id": citation.hit.key.vault,
            }
            for claim, citation in standing_citations(answer)
        ]
        return _text(whole_text(answer), cited)


def _text(text: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


def _usage(given: int, made: int) -> dict[str, Any]:
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
