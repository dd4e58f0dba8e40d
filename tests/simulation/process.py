"""One process without time, chance or threads of its own: what runs in it depends on a seed alone.

`take_over` comes before ragdrop is imported: its modules bind clocks as defaults and import `ThreadPoolExecutor` by
name.  So a simulation is a process of its own, and no test of pytest runs in it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import random
import secrets
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import anyio.to_thread

START_S = 1_800_000_000.0
MEMORY = "/dev/shm"  # noqa: S108 - folders of our own are made there, where a segment of the index waits for no disk


class Clock:
    """Seconds since 1970, which pass where a port is called, where something sleeps, and where the scheduler says."""

    def __init__(self) -> None:
        self.now_s = START_S
        self.sleep: Callable[[float], None] = self.advance

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds

    def __call__(self) -> float:
        """What the time is."""
        return self.now_s


class InlineExecutor(Executor):
    """Runs what it is given at once, in the caller's thread: the calls of a pool come in one order."""

    def __init__(self, *_args: Any, **_named: Any) -> None:
        self._threads: set[Any] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """A future that is done."""
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **named))
        except BaseException as exc:  # noqa: BLE001 - as an executor does
            done.set_exception(exc)
        return done

    def map(self, fn: Callable[..., Any], *iterables: Any, **_named: Any) -> Iterator[Any]:
        """The results, in order."""
        return iter([fn(*each) for each in zip(*iterables, strict=False)])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing runs that could be waited for."""


CLOCK = Clock()


def same_hashes() -> None:
    """Start this process again with a fixed order of sets, unless it has one."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(  # noqa: S606 - this very program
            sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
        )


def take_over() -> None:
    """Put the simulation's clock, chance, executor and folders in the place of the process's."""
    assert "ragdrop" not in sys.modules, "ragdrop has bound the real clock already"
    if os.access(MEMORY, os.W_OK):
        tempfile.tempdir = MEMORY
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, CLOCK)
    time.sleep = lambda seconds: CLOCK.sleep(float(seconds))
    uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)
    secrets.token_hex = lambda nbytes=None: random.randbytes(nbytes or 32).hex()
    secrets.token_bytes = lambda nbytes=None: random.randbytes(nbytes or 32)
    secrets.token_urlsafe = lambda nbytes=None: random.randbytes(nbytes or 32).hex()
    secrets.randbits = lambda k: random.getrandbits(k)  # noqa: PLW0108 - by its stub it takes an index too
    concurrent.futures.ThreadPoolExecutor = InlineExecutor  # type: ignore[misc, assignment]
    asyncio.to_thread = _inline
    anyio.to_thread.run_sync = _inline_sync  # type: ignore[assignment]


async def _inline(fn: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    return fn(*args, **named)


async def _inline_sync(fn: Callable[..., Any], *args: Any, **_named: Any) -> Any:
    return fn(*args)
