"""Ports behind their breakers: an open one raises CircuitOpenError, and the dependency is not touched.

Questions go through these.  Ingest writes through the ports themselves: a breaker that readers opened must not delay
what the queue tries again by its own rules (docs/adr/0008).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import wraps
from typing import Any, TypeVar, cast

from ragdrop.domain.deadlines import Deadline
from ragdrop.ports import ChatModel, Completion, Message
from ragdrop.resilience.breakers import Breakers

INDEX = "index"
EMBEDDING = "embedding"
CHAT = "chat"
REGISTRY = "registry"
OBJECT_STORE = "object_store"
RERANK = "rerank"

T = TypeVar("T")


def guarded(port: T, dependency: str, breakers: Breakers) -> T:
    """*port* with every method behind the breaker of *dependency*; for methods that return once they are done."""
    return cast("T", _Guarded(port, dependency, breakers))


class _Guarded:
    """Wraps whatever method is asked for, once."""

    def __init__(self, port: object, dependency: str, breakers: Breakers) -> None:
        self._port = port
        self._dependency = dependency
        self._breakers = breakers

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        breakers, dependency = self._breakers, self._dependency

        @wraps(found)
        def behind(*args: Any, **named: Any) -> Any:
            with breakers.guard(dependency):
                return found(*args, **named)

        return behind


class GuardedChatModel:
    """A ChatModel behind its breaker; a stream counts as answered with its first piece."""

    def __init__(self, chat: ChatModel, breakers: Breakers) -> None:
        self._chat = chat
        self._breakers = breakers

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Completion:
        """The whole answer; raises CircuitOpenError too."""
        with self._breakers.guard(CHAT):
            return self._chat.complete(messages, max_tokens=max_tokens, deadline=deadline, model=model)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece; raises CircuitOpenError too, before the first."""
        pieces = self._chat.stream(messages, max_tokens=max_tokens, deadline=deadline, model=model)
        with closing(cast("Generator[str | Completion]", pieces)):  # who stops listening stops the model
            with self._breakers.guard(CHAT):
                first = next(pieces)
            yield first
            yield from pieces
