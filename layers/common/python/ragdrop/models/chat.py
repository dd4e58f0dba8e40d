"""Chat completions of OpenAI-compatible endpoints, whole or streamed, from the first model that works."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, DependencyError, GenerationError
from ragdrop.models.http import OpenAiHttp, missing_model, problem
from ragdrop.ports.model_services import Completion, Message

SERVICE = "chat"
PATH = "/chat/completions"
STAGE = "generate"
T = TypeVar("T")
Pieces = Generator[str | Completion, None, None]


class OpenAiChatModel:
    """A ChatModel over `POST /v1/chat/completions`; *models* are tried in order while one is down or missing."""

    def __init__(self, http: OpenAiHttp, *, models: Sequence[str]) -> None:
        self._http = http
        self._models = tuple(models)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Completion:
        def ask(name: str, until: Deadline) -> Completion:
            with _translated(until):
                response = self._http.post(PATH, _body(name, messages, max_tokens), until, stage=STAGE)
            if response.status_code != httpx.codes.OK:
                raise _refusal(response, name)
            return _completion(response, name)

        return self._first(ask, deadline, model)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        def begin(name: str, until: Deadline) -> tuple[str | Completion, Pieces]:
            # an answer that has begun may use all the time left, not only the share of this model
            pieces = self._pieces(name, _body(name, messages, max_tokens, stream=True), until, deadline)
            return next(pieces), pieces

        first, rest = self._first(begin, deadline, model)
        with closing(rest):  # who stops listening stops the model
            yield first
            yield from rest

    def _pieces(self, name: str, body: dict[str, Any], until: Deadline, deadline: Deadline) -> Pieces:
        with _translated(deadline), self._http.stream(PATH, body, until, limit=deadline, stage=STAGE) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                raise _refusal(response, name)
            if "json" in response.headers.get("content-type", ""):  # an endpoint that does not stream
                response.read()
                completion = _completion(response, name)
                yield completion.text
                yield completion
                return
            yield from _events(_lines(response.iter_bytes()), name)

    def _first(self, call: Callable[[str, Deadline], T], deadline: Deadline, model: str | None) -> T:
        """The result of the first model that is not down; each has its share of the time."""
        names = (model,) if model else self._models
        failed: DependencyError | None = None
        for place, name in enumerate(names):
            try:
                return call(name, deadline.share(len(names) - place))
            except DependencyError as exc:
                failed = failed or exc
                if exc.details.get("reason") == "content_filter":
                    break
        assert failed is not None  # noqa: S101 - the settings require a model
        raise failed


@contextmanager
def _translated(deadline: Deadline) -> Iterator[None]:
    try:
        yield
    except GenerationError as exc:
        if exc.details.get("reason") == "broken_off" and deadline.remaining_s() <= 0:  # we cut it off ourselves
            raise DeadlineError("the chat model was not done in time", service=SERVICE, stage=STAGE) from exc
        raise
    except httpx.TimeoutException as exc:
        raise DeadlineError("the chat model did not answer in time", service=SERVICE, stage=STAGE) from exc
    except httpx.DecodingError as exc:
        raise _unreadable() from exc
    except (httpx.TransportError, httpx.StreamError) as exc:
        if deadline.remaining_s() <= 0:  # we cut it off ourselves
            raise DeadlineError("the chat model was not done in time", service=SERVICE, stage=STAGE) from exc
        broken = isinstance(exc, httpx.RemoteProtocolError | httpx.ReadError)
        message = "the chat service broke off" if broken else "the chat service could not be reached"
        reason = "broken_off" if broken else "unreachable"
        raise GenerationError(message, service=SERVICE, reason=reason) from exc


def _body(name: str, messages: Sequence[Message], max_tokens: int, *, stream: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": name,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "max_tokens": max_tokens,
        "temperature": 0,
    }
    return {**body, "stream": True, "stream_options": {"include_usage": True}} if stream else body


def _completion(response: httpx.Response, model: str) -> Completion:
    """The completion of a whole reply."""
    try:
        body = response.json()
        choice = body["choices"][0]
        text = choice["message"].get("content") or ""
        return _whole(text, str(body.get("model") or model), choice.get("finish_reason"), body.get("usage"))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as exc:
        raise _unreadable() from exc


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    r"""The lines of a body that arrives in *chunks*; only newlines end them, not U+2028.

    >>> list(_lines([b"data: a\r", b"\n\xe2\x80\xa8b\n", b"c"])) == ["data: a", "\u2028b", "c"]
    True
    """
    left = b""
    for chunk in chunks:
        *whole_lines, left = (left + chunk).split(b"\n")
        yield from (line.removesuffix(b"\r").decode("utf-8", "replace") for line in whole_lines)
    if left:
        yield left.removesuffix(b"\r").decode("utf-8", "replace")


def _events(lines: Iterable[str], model: str) -> Iterator[str | Completion]:
    """The text of a stream's events as it arrives, then the completion."""
    text: list[str] = []
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    done = False
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
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
    yield _whole("".join(text), model, finish_reason, usage)


def _whole(text: str, model: str, finish_reason: str | None, usage: Mapping[str, Any] | None) -> Completion:
    """The completion of a *text*; one without a text is an error."""
    if not text.strip():
        filtered = finish_reason == "content_filter"
        message = "the chat service's content filter withheld the answer" if filtered else "the chat model said nothing"
        reason = "content_filter" if filtered else "empty"
        raise GenerationError(message, service=SERVICE, retryable=not filtered, reason=reason)
    counts = usage or {}
    return Completion(text, model, finish_reason, counts.get("prompt_tokens"), counts.get("completion_tokens"))


def _refusal(response: httpx.Response, model: str) -> DependencyError:
    """The error of a reply whose status is not 200."""
    if response.status_code == httpx.codes.NOT_FOUND:
        return missing_model(response, model, service=SERVICE, setting="CHAT_MODELS")
    retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
    details: dict[str, Any] = {"reason": "refused", "status": response.status_code}
    later = response.headers.get("retry-after", "")
    if later.isdigit():
        details["retry_after_s"] = int(later)
    key = " (is CHAT_API_KEY right?)" if response.status_code in {401, 403} else ""
    message = f"the chat service refused: {problem(response)}{key}"
    return GenerationError(message, service=SERVICE, retryable=retryable, **details)


def _unreadable() -> GenerationError:
    return GenerationError("the chat service gave an answer that cannot be read", service=SERVICE, reason="unreadable")


def _event(data: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as exc:
        raise _unreadable() from exc
    if not isinstance(event, dict):
        raise _unreadable()
    if event.get("error"):
        error = event["error"]
        message = str(error.get("message") if isinstance(error, dict) else error)[:300]
        raise GenerationError(f"the chat service broke off: {message}", service=SERVICE, reason="broken_off")
    return event
