"""Stages of a request: time them, run them in parallel, note what models were asked, write before the reply ends."""

import contextvars
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TypeVar

from ragdrop.domain.models import ModelCall
from ragdrop.ports.search_services import SpanFields, Tracer

STAGES = ("embed", "retrieve", "registry", "links", "assemble")


class Timer:
    """Milliseconds by stage, on a monotonic clock."""

    def __init__(self, tracer: Tracer | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._tracer = tracer
        self._clock = clock
        self.stages: dict[str, float] = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to *name*."""
        start = self._clock()
        try:
            with self._tracer.stage(name) if self._tracer else nullcontext():
                yield
        finally:
            self.stages[name] = round(self.stages.get(name, 0.0) + (self._clock() - start) * 1_000, 3)


@contextmanager
def traced(
    tracer: Tracer | None, name: str, fields: SpanFields, *, client: bool = False
) -> Iterator[Callable[[SpanFields], None]]:
    """A span of *tracer* around the block, if there is one; yields what adds fields.

    >>> with traced(None, "retrieval team", {}) as note:
    ...     note({"gen_ai.request.top_k": 3})
    """
    if tracer is None:
        yield lambda _fields: None
    else:
        with tracer.span(name, fields, client=client) as note:
            yield note


def traced_search(
    tracer: Tracer | None, source: str, limit: int | None
) -> AbstractContextManager[Callable[[SpanFields], None]]:
    """A span around a search in *source*, vaults or a tenant, for *limit* documents; None chooses by what is found."""
    fields = {"gen_ai.operation.name": "retrieval", "gen_ai.provider.name": "ragdrop", "gen_ai.data_source.id": source}
    return traced(tracer, f"retrieval {source}", {**fields, "gen_ai.request.top_k": limit}, client=True)


A = TypeVar("A")
B = TypeVar("B")
THREADS = 4


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="ragdrop")


def run_in_parallel(aside: Callable[[], A], here: Callable[[], B]) -> tuple[A, B]:
    """Run *aside* in a thread of the pool and *here* in this one; raises what either raises, *here* first.

    >>> run_in_parallel(lambda: 1, lambda: "two")
    (1, 'two')
    """
    waiting = _pool().submit(contextvars.copy_context().run, aside)
    try:
        result = here()
    except BaseException:  # whatever it was, nobody waits for the other call any more; it continues
        waiting.cancel()
        raise
    return waiting.result(), result


_calls: contextvars.ContextVar[list[ModelCall] | None] = contextvars.ContextVar("ragdrop_model_calls", default=None)


@contextmanager
def noted_calls() -> Iterator[list[ModelCall]]:
    """The calls of models that are made within, in threads of the request too.

    >>> with noted_calls() as calls:
    ...     note_call(ModelCall("m", 7, 2))
    >>> calls == [ModelCall("m", 7, 2)], calls_so_far()
    (True, ())
    """
    calls: list[ModelCall] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def note_call(call: ModelCall) -> None:
    """Note a call of a model, where somebody counts them."""
    if (calls := _calls.get()) is not None:
        calls.append(call)


def calls_so_far() -> tuple[ModelCall, ...]:
    """The calls that were noted until now."""
    return tuple(_calls.get() or ())


def in_one_context(pieces: Generator[A, None, None]) -> Generator[A, None, None]:
    """*pieces*, each of which is made in one context, whoever asks for it: what was noted for one is known to the next.

    >>> list(in_one_context(each for each in (1, 2)))
    [1, 2]
    """
    context, end = contextvars.copy_context(), object()
    try:
        while (piece := context.run(next, pieces, end)) is not end:
            yield piece  # type: ignore[misc]
    finally:
        context.run(pieces.close)


_begun: contextvars.ContextVar[list[Future[None]] | None] = contextvars.ContextVar("ragdrop_writes", default=None)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="ragdrop-writes")  # one: writes that wait for each other add up


@contextmanager
def collected_writes() -> Iterator[list[Future[None]]]:
    """The writes that begin within: whoever sends the reply waits for them.

    >>> with collected_writes() as begun:
    ...     before_reply(lambda: None)
    >>> begun[0].result() is None
    True
    """
    begun: list[Future[None]] = []
    token = _begun.set(begun)
    try:
        yield begun
    finally:
        _begun.reset(token)


def before_reply(write: Callable[[], None]) -> None:
    """Begin *write* in another thread, or do it at once where nobody collects writes."""
    begun = _begun.get()
    if begun is None:
        write()
    else:
        begun.append(_thread().submit(contextvars.copy_context().run, write))
