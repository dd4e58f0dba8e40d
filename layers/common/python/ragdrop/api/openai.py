"""`POST /v1/chat/completions` and `GET /v1/models`: the OpenAI protocol, answered with checked citations."""

import itertools
import json
import time
import uuid
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ragdrop.api.answer_shapes import ask_response, cited_claims
from ragdrop.api.ask import AskPart
from ragdrop.api.http import Authenticate, RequestDeadline, body_of_error
from ragdrop.api.streams import EVENT_STREAM, EventStream
from ragdrop.domain.answers import STANDING, Answer, CheckedSentence, Citation, Question, closest_text
from ragdrop.domain.queries import Query
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import InvalidParamsError, NotFoundError, RagdropError
from ragdrop.generate.ask import AskEvent, SourcesFound
from ragdrop.generate.conversations import Turn
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.query.scopes import visible_vaults
from ragdrop.tenants.directory import TenantDirectory


def chat_router(
    ask: AskPart,
    condense: Callable[[], CondenseConversation],
    directory: TenantDirectory,
    caller: Authenticate,
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
        deadline: RequestDeadline,
    ) -> JSONResponse | EventStream:
        """Answer the last question of a conversation from the documents, in the OpenAI protocol.

        `model` is `default` or `vault:NAME`.  Citations stand in `annotations` and, as `/ask` gives them, in
        `citations`; the other fields of its answer in `ragdrop`.  Fields of the protocol not named here are ignored.
        """
        reply = ChatReply(request, body.model, int(time.time()), time.perf_counter())
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
    first = next(event for event in stream if not isinstance(event, SourcesFound | Citation | CheckedSentence))
    return itertools.chain([first], stream)


DEFAULT_MODEL = "default"
VAULT_PREFIX = "vault:"
SPEAKERS = frozenset({"user", "assistant"})  # a client's system prompt is not ours: ragdrop has its own


class StreamOptions(BaseModel):
    """What a stream tells beside the answer."""

    include_usage: bool = Field(default=False, strict=True, description="A last chunk with the tokens.")


class ChatMessage(BaseModel):
    """One message; of a content in parts the texts count."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, StringConstraints(max_length=40)]
    content: str | list[dict[str, Any]] | None = Field(
        default=None, description="What is said; of a content in parts the texts count."
    )

    @property
    def text(self) -> str:
        """What is said.

        >>> ChatMessage(role="user", content=[{"type": "text", "text": "pump?"}, {"type": "image_url"}]).text
        'pump?'
        """
        if isinstance(self.content, list):
            parts = [part.get("text") for part in self.content if part.get("type") in {"text", "input_text"}]
            return "\n".join(part for part in parts if isinstance(part, str)).strip()
        return (self.content or "").strip()


class ChatRequest(BaseModel):
    """A chat completion; `model` is `default` or `vault:NAME`."""

    model_config = ConfigDict(extra="ignore")

    model: Annotated[str, StringConstraints(max_length=200)] = Field(
        default=DEFAULT_MODEL, description="`default`, or `vault:NAME` for one vault.", examples=[DEFAULT_MODEL]
    )
    messages: list[ChatMessage] = Field(min_length=1, max_length=1_000)
    stream: bool | None = Field(default=False, strict=True, description="Answer by server-sent events.")
    stream_options: StreamOptions | None = None

    @property
    def turns(self) -> list[Turn]:
        """The conversation up to the user's last message.

        Raises:
            InvalidParamsError: The user says nothing in it.
        """
        turns = [Turn(each.role, each.text) for each in self.messages if each.role in SPEAKERS and each.text]
        last = next((place for place in reversed(range(len(turns))) if turns[place].role == "user"), None)
        if last is None:
            raise InvalidParamsError(
                "messages: there is no message with text of the role user", field="messages", value=None, allowed=None
            )
        return turns[: last + 1]


def model_names(tenant: Tenant | None, caller: Caller) -> list[str]:
    """The models that there are for *caller*: the whole tenant, and each vault that it may see."""
    vaults = visible_vaults(tenant.vaults, caller.vaults) if tenant else ()
    return [DEFAULT_MODEL, *(VAULT_PREFIX + vault for vault in vaults)]


def vaults_of(model: str, tenant: Tenant | None, caller: Caller) -> tuple[str, ...]:
    """The vaults that *model* asks; empty means all that the caller may see.

    Raises:
        NotFoundError: There is no such model.
    """
    if model not in model_names(tenant, caller):
        message = f"there is no model named {model[:100]!r}: GET /v1/models lists those there are"
        raise NotFoundError(message, field="model", value=model[:100])
    return () if model == DEFAULT_MODEL else (model.removeprefix(VAULT_PREFIX),)


DONE = "data: [DONE]\n\n"
ELSEWHERE = {"answer", "citations", "bedrock", "usage", "finish_reason"}  # of an answer's fields: told by the protocol


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What all parts of one reply say: `model` as it was asked for, `created` in seconds since 1970."""

    request: Request
    model: str
    created: int
    start_s: float
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")

    def whole(self, answer: Answer) -> dict[str, Any]:
        """A `chat.completion`."""
        message = {
            "role": "assistant",
            "content": _said(answer),
            "refusal": None,
            "annotations": annotations_of(answer),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _usage(answer), **self._told(answer)}

    def chunks(self, stream: Iterator[AskEvent], *, include_usage: bool) -> Generator[str, None, None]:
        """The `chat.completion.chunk` events of *stream*; an error that comes on the way is the last of them."""
        said = ""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            for event in stream:
                if isinstance(event, str):
                    said += event
                    yield self._chunk({"content": event})
                elif isinstance(event, Answer):
                    rest = _left_to_say(event, said)
                    if rest:
                        yield self._chunk({"content": rest})
                    yield self._last(event)
                    if include_usage:
                        yield _event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(event)})
                    yield DONE
        except RagdropError as exc:
            yield _event(body_of_error(exc, self.request))

    def _chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None, **told: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **told})

    def _last(self, answer: Answer) -> str:
        delta = {"annotations": annotations_of(answer)}
        return self._chunk(delta, finish_reason=_finish_reason(answer), **self._told(answer))

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _told(self, answer: Answer) -> dict[str, Any]:
        """What the protocol has no word for: citations as `/ask` gives them, and the rest of its answer."""
        body = ask_response(answer, self.request, self.start_s).model_dump(mode="json", exclude_unset=True)
        return {
            "citations": body["citations"],
            "ragdrop": {name: value for name, value in body.items() if name not in ELSEWHERE},
        }


def annotations_of(answer: Answer) -> list[dict[str, Any]]:
    """A `url_citation` for each citation: the cited sentence's code points, `end_index` exclusive, and its source."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": claim.start,
                "end_index": claim.end,
                "title": citation.hit.facts.title,
                "url": source_url(citation),
            },
        }
        for claim, citations in cited_claims(answer)
        for citation in citations
        if claim.status in STANDING and citation.status in STANDING
    ]


def source_url(citation: Citation) -> str:
    """Where the evidence stands: the object, and code points of its parsed text as a fragment of RFC 5147."""
    return f"s3://{citation.bucket}/{quote(citation.hit.key.s3_key)}#char={citation.start},{citation.end}"


def _left_to_say(answer: Answer, said: str) -> str:
    """What has not been said of an answer: an abstention comes at the end, whatever was let out before it."""
    if answer.abstain_reason is None:
        return ""
    return f"\n\n{_said(answer)}" if said.strip() else _said(answer)


def _said(answer: Answer) -> str:
    """The answer, or the abstention with the closest documents."""
    hint = closest_text(answer.retrieval.closest) if answer.abstain_reason else ""
    return f"{answer.text}\n\n{hint}" if hint else answer.text


def _finish_reason(answer: Answer) -> str:
    return answer.finish_reason or "stop"


def _usage(answer: Answer) -> dict[str, int] | None:
    """Tokens; None where the endpoint did not count, or no model was asked."""
    if answer.prompt_tokens is None or answer.completion_tokens is None:
        return None
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
