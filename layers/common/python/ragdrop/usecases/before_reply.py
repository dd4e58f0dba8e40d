"""Writes that run beside a reply that is being made, and are over before it leaves: nothing runs after it on Lambda."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

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
    """Begin *write* in a thread of its own, or do it at once where nobody collects writes."""
    begun = _begun.get()
    if begun is None:
        write()
    else:
        begun.append(_thread().submit(contextvars.copy_context().run, write))
