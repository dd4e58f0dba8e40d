"""`/v1`: chat completions with checked citations, models and embeddings, in the OpenAI protocol."""

import base64
import json
import sys
import time
import uuid
from array import array
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import JSONResponse

from groundcheck import STANDING
from ragdrop.api.edge import Authenticate, RequestDeadline, body_of_error
from ragdrop.api.routes.ask_routes import AskPart
from ragdrop.api.shapes.answer_shapes import ask_response, cited_claims
from ragdrop.api.shapes.fields import ignored_header
from ragdrop.api.shapes.openai_shapes import DEFAULT_MODEL, ChatRequest, EmbeddingsRequest
from ragdrop.api.streams import EVENT_STREAM, EventStream, begun, left_to_say, whole_text
from ragdrop.domain.answers import Answer, CheckedSentence, Citation, Question
from ragdrop.domain.chunks import Vector
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.domain.tokens import estimate_tokens
from ragdrop.errors import InvalidParamsError, NotFoundError, RagdropError
from ragdrop.generate.ask import AskEvent
from ragdrop.generate.prompt import CondenseConversation
from ragdrop.ports.model_services import Embedder
from ragdrop.query.understand import visible_vaults
from ragdrop.resilience.timing import noted_calls
from ragdrop.tenants.directory import TenantDirectory

VAULT_PREFIX = "vault:"


def chat_router(
    ask: AskPart, condense: Callable[[], CondenseConversation], directory: TenantDirectory, caller: Authenticate
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
        body: ChatRequest, request: Request, who: Annotated[Caller, Depends(caller)], deadline: RequestDeadline
    ) -> JSONResponse | EventStream:
        """Answer the last question of a conversation from the documents, in the OpenAI protocol.

        `model` is `default` or `vault:NAME`.  Citations stand in `annotations` and, as `/ask` gives them, in
        `citations`; the other fields of its answer in `ragdrop`.  Other fields of the protocol are ignored, and named
        in the header `x-ragdrop-ignored`.
        """
        reply = ChatReply(request, body.model, int(time.time()), time.perf_counter())
        vaults = vaults_of(body.model, directory.tenant(who.tenant), who)
        asked = condense()(body.turns, deadline)
        query, anyway = Query(asked.text, vaults=vaults), body.answer_anyway
        question = Question(query, answer_anyway=anyway, calls=asked.calls, turns=asked.turns)
        if not body.stream:
            return JSONResponse(reply.whole(ask()(question, who, deadline)), headers=ignored_header(body))
        stream = begun(ask().stream(question, who, deadline))
        usage = body.stream_options is not None and body.stream_options.include_usage
        return EventStream(reply.chunks(stream, include_usage=usage), headers=ignored_header(body))

    @router.get("/models", summary="List the models")
    def get_models(who: Annotated[Caller, Depends(caller)]) -> dict[str, Any]:
        """What `model` may be: `default` for all that the key may see, `vault:NAME` for one vault."""
        names = model_names(directory.tenant(who.tenant), who)
        return {"object": "list", "data": [_model(name) for name in names]}

    @router.get("/models/{model:path}", summary="Read one model")
    def get_model(
        model: Annotated[str, Path(description="As `GET /v1/models` lists it.")],
        who: Annotated[Caller, Depends(caller)],
    ) -> dict[str, Any]:
        """A model that `GET /v1/models` lists, or the embedding model; any other is 404."""
        tenant = directory.tenant(who.tenant)
        if tenant is None or model != tenant.active.space.model:
            vaults_of(model, tenant, who)
        return _model(model)

    return router


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ragdrop"}


def embeddings_router(embedder: Callable[[], Embedder], directory: TenantDirectory, caller: Authenticate) -> APIRouter:
    """The route; *embedder* is called at the first request."""
    router = APIRouter(prefix="/v1", tags=["openai"])

    @router.post("/embeddings", summary="Embed texts")
    def post_embeddings(
        body: EmbeddingsRequest,
        request: Request,
        response: Response,
        who: Annotated[Caller, Depends(caller)],
        deadline: RequestDeadline,
    ) -> dict[str, Any]:
        """The vectors of texts by the model of the index, in the OpenAI protocol; nothing is stored.

        The endpoint behind it need not count, so `usage` estimates the tokens.
        """
        tenant = directory.tenant(who.tenant)
        space = tenant.active.space if tenant is not None else None
        if space is None or body.model not in {DEFAULT_MODEL, space.model}:
            names = " and ".join(repr(name) for name in (DEFAULT_MODEL, space and space.model) if name)
            message = f"there is no embedding model named {body.model[:100]!r}: there are {names}"
            raise NotFoundError(message, field="model", value=body.model[:100])
        if body.dimensions not in {None, space.dimension}:
            message = f"dimensions is {body.dimensions}; the index has {space.dimension}"
            raise InvalidParamsError(message, field="dimensions", value=body.dimensions, allowed=[space.dimension])
        texts = body.texts
        if body.input_type == "query":
            space = replace(space, passage_prefix=space.query_prefix)
        with noted_calls() as calls:
            vectors = embedder().passages(texts, space, deadline)
        if request.app.state.observe is not None:
            request.app.state.observe().note_calls(who, calls)
        response.headers.update(ignored_header(body))
        tokens = sum(map(estimate_tokens, texts))
        shown = [_base64(each) if body.encoding_format == "base64" else list(each) for each in vectors]
        return {
            "object": "list",
            "data": [{"object": "embedding", "index": place, "embedding": each} for place, each in enumerate(shown)],
            "model": space.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    return router


def _base64(found: Vector) -> str:
    floats = array("f", found)
    if sys.byteorder == "big":
        floats.byteswap()
    return base64.b64encode(floats.tobytes()).decode()


def model_names(tenant: Tenant | None, caller: Caller) -> list[str]:
    """The models that there are for *caller*: the whole tenant, and each vault that it may see."""
    vaults = visible_vaults(tenant.vaults, caller.vaults) if tenant else ()
    return [DEFAULT_MODEL, *(VAULT_PREFIX + vault for vault in vaults)]


def vaults_of(model: str, tenant: Tenant | None, caller: Caller) -> tuple[str, ...]:
    """The vaults that *model* asks; empty means all that the caller may see.

    Raises NotFoundError: there is no such model.
    """
    if model not in model_names(tenant, caller):
        message = f"there is no model named {model[:100]!r}: GET /v1/models lists those there are"
        raise NotFoundError(message, field="model", value=model[:100])
    return () if model == DEFAULT_MODEL else (model.removeprefix(VAULT_PREFIX),)


DONE = "data: [DONE]\n\n"
ELSEWHERE = {"answer", "citations", "bedrock", "finish_reason"}  # of an answer's fields: in the protocol's own


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
            "content": whole_text(answer),
            "refusal": None,
            "annotations": annotations_of(answer),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer),
            **beyond_the_protocol(answer, self.request, self.start_s),
        }

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
                    rest = left_to_say(event, said)
                    if rest:
                        yield self._chunk({"content": rest})
                    yield self._last(event)
                    if include_usage:
                        yield _event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(event)})
                    yield DONE
        except RagdropError as exc:
            yield _event(body_of_error(exc, self.request))

    def _chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _last(self, answer: Answer) -> str:
        delta = {"annotations": annotations_of(answer)}
        return self._chunk(
            delta, finish_reason=_finish_reason(answer), **beyond_the_protocol(answer, self.request, self.start_s)
        )

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def beyond_the_protocol(answer: Answer, request: Request, start_s: float) -> dict[str, Any]:
    """What the protocol has no word for: citations as `/ask` gives them, and the rest of its answer."""
    body = ask_response(answer, request, start_s).model_dump(mode="json", exclude_unset=True)
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
        for claim, citation in standing_citations(answer)
    ]


def standing_citations(answer: Answer) -> list[tuple[CheckedSentence, Citation]]:
    """The cited sentences that their evidence supports, each with every citation of it, in the order of the answer."""
    return [
        (claim, citation)
        for claim, citations in cited_claims(answer)
        for citation in citations
        if claim.status in STANDING and citation.status in STANDING
    ]


def source_url(citation: Citation) -> str:
    """Where the evidence stands: the object, and code points of its parsed text as a fragment of RFC 5147."""
    return f"s3://{citation.bucket}/{quote(citation.hit.key.s3_key)}#char={citation.start},{citation.end}"


CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer ends early, and what the Responses API calls it."""


def _finish_reason(answer: Answer) -> str:
    """One of the protocol's reasons, whatever the endpoint calls its own."""
    return answer.finish_reason if answer.finish_reason in CUT else "stop"


def _usage(answer: Answer) -> dict[str, int] | None:
    """Tokens, zeros if no model was asked; None if an endpoint did not count."""
    if answer.prompt_tokens is None or answer.completion_tokens is None:
        return None
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
