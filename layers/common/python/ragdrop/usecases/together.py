"""Two calls to the outside world at once: the code is synchronous, only waiting is shared."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
THREADS = 4


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="ragdrop")


def together(aside: Callable[[], A], here: Callable[[], B]) -> tuple[A, B]:
    """Run *aside* in a thread of the pool and *here* in this one; raises what either raises, *here* first.

    >>> together(lambda: 1, lambda: "two")
    (1, 'two')
    """
    waiting = _pool().submit(contextvars.copy_context().run, aside)
    try:
        result = here()
    except BaseException:  # whatever it was, nobody waits for the other call any more; it goes on
        waiting.cancel()
        raise
    return waiting.result(), result
