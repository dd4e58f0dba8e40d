"""Metrics in memory, for tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller
from ragdrop.errors import RagdropError, UnauthenticatedError
from ragdrop.ports.message_queue import SUBSCRIBED, Wiring
from ragdrop.ports.model_services import Reading
from ragdrop.ports.registry import REFUSED
from ragdrop.ports.search_services import SpanFields
from ragdrop.ports.telemetry import UNITS


class MemoryMetrics:
    """Keeps every value by name, with the dependency that it is of; a name that does not exist is an error."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, str | None]] = []

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        for name, value in values.items():
            assert name in UNITS, f"{name} is no metric"  # noqa: S101 - a fake shows a test what is wrong
            self.seen.append((name, float(value), dependency))

    def total(self, name: str, dependency: str | None = None) -> float:
        """The sum of what was put under *name*."""
        return sum(value for seen, value, of in self.seen if (seen, of) == (name, dependency))


class MemoryTracer:
    """Keeps the name of every stage that ended, with the type of the error that ended it, and the fields of spans."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str | None]] = []
        self.spans: list[tuple[str, dict[str, Any]]] = []

    @contextmanager
    def span(
        self, name: str, fields: SpanFields, *, client: bool = False, leaf: bool = False
    ) -> Iterator[Callable[[SpanFields], None]]:
        noted = {"client": client, "leaf": leaf, **{key: value for key, value in fields.items() if value is not None}}
        self.spans.append((name, noted))
        try:
            yield lambda more: noted.update({key: value for key, value in more.items() if value is not None})
        except BaseException as exc:
            noted["error.type"] = type(exc).__name__
            raise

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        error: str | None = None
        try:
            yield
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            self.ended.append((name, error))


class MemoryTokens:
    """TokenVerifier for tests: *callers* by token."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = dict(callers)

    def caller(self, token: str) -> Caller:
        found = self._callers.get(token)
        if found is None:
            raise UnauthenticatedError(REFUSED)
        return found


class MemoryModelList:
    """A ModelList that holds *names*; None is an endpoint without a list.  `fail_with` is raised while it is set."""

    def __init__(self, *names: str, listed: bool = True) -> None:
        self.names: frozenset[str] | None = frozenset(names) if listed else None
        self.fail_with: RagdropError | None = None
        self.calls = 0

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        deadline.timeout_s(1.0, stage="models")
        self.calls += 1
        if self.fail_with is not None:
            raise self.fail_with
        return self.names


class WordReranker:
    """Scores by the share of the question's words that a text holds; `fail_with` is raised while it is set."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        if not texts:
            return []
        deadline.timeout_s(1.0, stage="rerank")
        self.asked.append((query, tuple(texts)))
        if self.fail_with is not None:
            raise self.fail_with
        words = _words(query)
        return [len(words & _words(text)) / max(1, len(words)) for text in texts]


class WordReader:
    """Reads by words: what a passage has of the query's words supports it, unless one alone has a `not`.

    The answer is the first word of the passage that the query does not have, else the first one.  `asked` keeps the
    pairs of each call; `fail_with` is raised while it is set.
    """

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.asked: list[list[tuple[str, str]]] = []

    def read(self, pairs: Sequence[tuple[str, str]], deadline: Deadline) -> list[Reading]:
        if not pairs:
            return []
        deadline.timeout_s(1.0, stage="read")
        self.asked.append(list(pairs))
        if self.fail_with is not None:
            raise self.fail_with
        return [self._reading(query, passage) for query, passage in pairs]

    def _reading(self, query: str, passage: str) -> Reading:
        words, others = _words(query), _words(passage)
        share = len(words & others) / max(1, len(words))
        spans = [found.span() for found in re.finditer(r"\w+", passage)]
        new = [(start, end) for start, end in spans if passage[start:end].casefold() not in words]
        denied = ("not" in words) != ("not" in others)
        return Reading(
            share,
            share if new else 0.0,
            0.0 if denied else share,
            share if denied else 0.0,
            next(iter(new or spans), None),
        )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


class MemoryWiring:
    """A WiringProbe that sees *wiring*; `fail_with` is raised while it is set."""

    def __init__(self, wiring: Wiring | None = None) -> None:
        whole = Wiring(versioned=True, events=frozenset(SUBSCRIBED), waiting=0, dead_letters=0)
        self.wiring = wiring or whole
        self.fail_with: RagdropError | None = None

    def look(self) -> Wiring:
        if self.fail_with is not None:
            raise self.fail_with
        return self.wiring
