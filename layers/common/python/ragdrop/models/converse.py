"""Chat models of Amazon Bedrock: by its OpenAI route where it serves the model, else by Converse (ADR 0033)."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
from botocore.eventstream import EventStreamBuffer, NoInitialResponseError, ParserError

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import foundation_model
from ragdrop.errors import GUARDRAIL, GenerationError
from ragdrop.models.bedrock import bedrock_refusal, error_of_aws, invoke_path, refused_call
from ragdrop.models.chat import (
    SERVICE,
    STAGE,
    ChatInOrder,
    OpenAiChatModel,
    Pieces,
    Visible,
    chat_errors,
    unreadable_answer,
    whole_answer,
    without_thoughts,
)
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import Completion, Message

BY_OPENAI = ("openai.", "xai.")
"""Providers whose models the OpenAI route of bedrock-runtime serves."""
REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
    "guardrail_intervened": GUARDRAIL,
}
"""Why a model stopped, in the protocol's words."""
STATUS_OF = {"throttlingException": 429, "validationException": 400, "modelStreamErrorException": 424}
_REFUSED = {
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "system": re.compile(r"system (?:messages?|prompts?)", re.IGNORECASE),
}
"""What a model says where it does not take a part of the request."""


class BedrockChatModel(ChatInOrder):
    """A ChatModel over both routes, chosen by the model's name."""

    def __init__(self, openai: OpenAiChatModel, converse: "ConverseChatModel", *, models: Sequence[str]) -> None:
        super().__init__(models)
        self._openai = openai
        self._converse = converse

    def ask(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, *, as_json: bool
    ) -> Completion:
        return self._route(name).ask(name, messages, max_tokens, until, as_json=as_json)

    def pieces(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, deadline: Deadline
    ) -> Pieces:
        return self._route(name).pieces(name, messages, max_tokens, until, deadline)

    def _route(self, name: str) -> ChatInOrder:
        return self._openai if foundation_model(name).startswith(BY_OPENAI) else self._converse


class ConverseChatModel(ChatInOrder):
    """A ChatModel over Converse and ConverseStream; *http* ends with `/model`."""

    def __init__(self, http: OpenAiHttp, *, models: Sequence[str]) -> None:
        super().__init__(models)
        self._http = http
        self._left_out: dict[str, frozenset[str]] = {}  # by model: what it does not take

    def ask(
        self,
        name: str,
        messages: Sequence[Message],
        max_tokens: int,
        until: Deadline,
        *,
        as_json: bool,  # noqa: ARG002 - Converse has no such field
    ) -> Completion:
        path = invoke_path(name, "converse")
        while True:
            body = converse_body(messages, max_tokens, self._left_out.get(name, frozenset()))
            with chat_errors(until):
                response = self._http.post(path, body, until, stage=STAGE)
            if response.status_code == httpx.codes.OK:
                return _completion(response, name)
            if not self._adapts(name, response):
                raise bedrock_refusal(response, name, service=SERVICE)

    def pieces(
        self, name: str, messages: Sequence[Message], max_tokens: int, until: Deadline, deadline: Deadline
    ) -> Pieces:
        path = invoke_path(name, "converse-stream")
        body = converse_body(messages, max_tokens, self._left_out.get(name, frozenset()))
        with chat_errors(deadline), self._http.stream(path, body, until, limit=deadline, stage=STAGE) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                if self._adapts(name, response):
                    return
                raise bedrock_refusal(response, name, service=SERVICE)
            yield from _answer(_events(response.iter_bytes(), name), name)

    def _adapts(self, name: str, response: httpx.Response) -> bool:
        """Whether *response* refused what can be left out or moved; the next request does so."""
        known = self._left_out.get(name, frozenset())
        if response.status_code != httpx.codes.BAD_REQUEST:
            return False
        _, message = error_of_aws(response)
        new = next((part for part, said in _REFUSED.items() if part not in known and said.search(message)), None)
        self._left_out[name] = known | {new} if new else known
        return new is not None


def converse_body(messages: Sequence[Message], max_tokens: int, left_out: frozenset[str]) -> dict[str, Any]:
    """The request of Converse; a system message that the model does not take goes before the first question.

    >>> converse_body([Message("system", "Be true."), Message("user", "So?")], 50, frozenset({"system"}))["messages"]
    [{'role': 'user', 'content': [{'text': 'Be true.'}, {'text': 'So?'}]}]
    """
    system = [{"text": each.content} for each in messages if each.role == "system"]
    said = [{"role": each.role, "content": [{"text": each.content}]} for each in messages if each.role != "system"]
    settings: dict[str, float] = {"maxTokens": max_tokens, "temperature": 0}
    if "temperature" in left_out:
        del settings["temperature"]
    body: dict[str, Any] = {"messages": said, "inferenceConfig": settings}
    if system and "system" in left_out:
        first = said[0]
        body["messages"] = [{**first, "content": [*system, *first["content"]]}, *said[1:]]
    elif system:
        body["system"] = system
    return body


def _completion(response: httpx.Response, model: str) -> Completion:
    try:
        body = response.json()
        blocks = body["output"]["message"]["content"]
        text = without_thoughts("".join(block.get("text", "") for block in blocks))  # other blocks are its thoughts
        return whole_answer(text, model, REASONS.get(body["stopReason"], body["stopReason"]), _usage(body))
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise unreadable_answer() from exc


def _usage(body: dict[str, Any]) -> dict[str, int | None]:
    usage = body.get("usage") or {}
    return {"prompt_tokens": usage.get("inputTokens"), "completion_tokens": usage.get("outputTokens")}


def _events(chunks: Iterator[bytes], model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Type and content of each event of a stream; raises the error that one of them is."""
    buffer = EventStreamBuffer()
    try:
        for chunk in chunks:
            buffer.add_data(chunk)
            for event in buffer:
                kind = event.headers.get(":event-type") or event.headers.get(":exception-type") or ""
                content = json.loads(event.payload or b"{}")
                if event.headers.get(":message-type") != "event":
                    name, status = f"{kind[:1].upper()}{kind[1:]}", STATUS_OF.get(kind, 503)
                    raise refused_call(name, content.get("message", ""), model, service=SERVICE, status=status)
                yield kind, content
    except (ParserError, NoInitialResponseError, ValueError) as exc:
        raise unreadable_answer() from exc


def _answer(events: Iterator[tuple[str, dict[str, Any]]], model: str) -> Pieces:
    """The text of a stream's events as it arrives, then the completion."""
    text: list[str] = []
    reason: str | None = None
    usage: dict[str, int | None] = {}
    visible = Visible()
    for kind, content in events:
        if kind == "contentBlockDelta":
            if piece := visible.feed(content["delta"].get("text", "")):
                text.append(piece)
                yield piece
        elif kind == "messageStop":
            reason = REASONS.get(content["stopReason"], content["stopReason"])
        elif kind == "metadata":
            usage = _usage(content)
    if rest := visible.end():
        text.append(rest)
        yield rest
    if reason is None:
        raise GenerationError("the chat model's answer broke off", service=SERVICE, reason="broken_off")
    yield whole_answer("".join(text), model, reason, usage)
