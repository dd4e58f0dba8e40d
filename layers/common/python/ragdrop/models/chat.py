"""Chat completions of OpenAI-compatible endpoints, whole or streamed, from the first model that works."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, DependencyError, GenerationError
from ragdrop.models.chat_replies import SERVICE, completion_of, lines_of, pieces_of, refusal, unreadable
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports import Completion, Message

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
        """The whole answer of the first model that gives one."""

        def ask(name: str, until: Deadline) -> Completion:
            with _translated(until):
                response = self._http.post(PATH, _body(name, messages, max_tokens), until, stage=STAGE)
            if response.status_code != httpx.codes.OK:
                raise refusal(response, name)
            return completion_of(response, name)

        return self._first(ask, deadline, model)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer of the first model that begins one, piece by piece."""

        def begin(name: str, until: Deadline) -> tuple[str | Completion, Pieces]:
            # once an answer has begun it may use all the time that is left, not only the share of this model
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
                raise refusal(response, name)
            if "json" in response.headers.get("content-type", ""):  # an endpoint that does not stream
                response.read()
                completion = completion_of(response, name)
                yield completion.text
                yield completion
                return
            yield from pieces_of(lines_of(response.iter_bytes()), name)

    def _first(self, call: Callable[[str, Deadline], T], deadline: Deadline, model: str | None) -> T:
        """What the first model gives that is not down; each has its share of the time."""
        names = (model,) if model else self._models
        failed: DependencyError | None = None
        for place, name in enumerate(names):
            try:
                return call(name, deadline.share(len(names) - place))
            except DependencyError as exc:
                failed = failed or exc
                if exc.details.get("reason") == "content_filter":
                    break
        assert failed is not None  # noqa: S101 - there is always a model: the settings want one
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
        raise unreadable() from exc
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
