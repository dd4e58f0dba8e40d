"""Parse replies of chat endpoints: whole replies, stream events, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx

from ragdrop.errors import DependencyError, GenerationError, ModelNotFoundError
from ragdrop.models.http import OLLAMA_PORT, problem
from ragdrop.ports import Completion

SERVICE = "chat"
DONE = "[DONE]"


def completion_of(response: httpx.Response, model: str) -> Completion:
    """A whole reply.

    Raises:
        GenerationError: It cannot be read, is empty, or was withheld by the endpoint's content filter.
    """
    try:
        body = response.json()
        choice = body["choices"][0]
        text = choice["message"].get("content") or ""
        return whole(text, str(body.get("model") or model), choice.get("finish_reason"), body.get("usage"))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
        raise unreadable() from exc


def lines_of(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""The lines of a body that arrives in *chunks*, ended by newlines alone: U+2028 in a text ends no event.

    >>> list(lines_of([b"data: a\r", b"\n\xe2\x80\xa8b\n", b"c"])) == ["data: a", "\u2028b", "c"]
    True
    """
    left = b""
    for chunk in chunks:
        *whole_lines, left = (left + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole_lines)
    if left:
        yield left.removesuffix(b"\r").decode("utf-8", "replace")


def pieces_of(lines: Iterable[str], model: str) -> Iterator[str | Completion]:
    """The text of a stream's events as it comes, then the completion.

    Raises:
        GenerationError: An event cannot be read or tells an error, or the stream ended before the answer did.
    """
    text: list[str] = []
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    done = False
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == DONE:
            done = True
            break
        event = _event(data)
        model = str(event.get("model") or model)
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            finish_reason = choice.get("finish_reason") or finish_reason
            piece = (choice.get("delta") or {}).get("content")
            if piece:
                text.append(piece)
                yield piece
    if not done and finish_reason is None:
        raise GenerationError("the chat model's answer broke off", service=SERVICE, reason="broken_off")
    yield whole("".join(text), model, finish_reason, usage)


def whole(text: str, model: str, finish_reason: str | None, usage: Mapping[str, Any] | None) -> Completion:
    """The completion, if there is one.

    Raises:
        GenerationError: There is no text.
    """
    if not text.strip():
        filtered = finish_reason == "content_filter"
        message = "the chat service's content filter withheld the answer" if filtered else "the chat model said nothing"
        reason = "content_filter" if filtered else "empty"
        raise GenerationError(message, service=SERVICE, retryable=not filtered, reason=reason)
    counts = usage or {}
    return Completion(text, model, finish_reason, counts.get("prompt_tokens"), counts.get("completion_tokens"))


def refusal(response: httpx.Response, model: str) -> DependencyError:
    """The error of a reply whose status is not 200."""
    if response.status_code == httpx.codes.NOT_FOUND:
        ollama = response.request.url.port == OLLAMA_PORT  # callers see the error: the address itself is the operator's
        return ModelNotFoundError(
            f"the chat endpoint does not have the model {model!r}: {problem(response)}",
            service=SERVICE,
            retryable=False,
            model=model,
            install=f"ollama pull {model}"
            if ollama
            else "set CHAT_MODELS to a model that GET /models of the chat endpoint lists",
        )
    retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
    details: dict[str, Any] = {"reason": "refused", "status": response.status_code}
    later = response.headers.get("retry-after", "")
    if later.isdigit():
        details["retry_after_s"] = int(later)
    key = " (is CHAT_API_KEY right?)" if response.status_code in {401, 403} else ""
    message = f"the chat service refused: {problem(response)}{key}"
    return GenerationError(message, service=SERVICE, retryable=retryable, **details)


def unreadable() -> GenerationError:
    """The error of a reply that is no reply."""
    return GenerationError("the chat service gave an answer that cannot be read", service=SERVICE, reason="unreadable")


def _event(data: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as exc:
        raise unreadable() from exc
    if not isinstance(event, dict):
        raise unreadable()
    if event.get("error"):
        error = event["error"]
        told = str(error.get("message") if isinstance(error, dict) else error)[:300]
        raise GenerationError(f"the chat service broke off: {told}", service=SERVICE, reason="broken_off")
    return event
