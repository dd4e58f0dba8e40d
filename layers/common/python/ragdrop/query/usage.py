"""Count which documents answers used: each answer's are written beside its reply, within a budget of writes."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Lock

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.times import rfc3339
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import Telemetry
from ragdrop.resilience.stages import before_reply

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 60  # documents that an environment writes in a burst: those of ten answers or so
WRITES_A_SECOND = 5.0  # documents in the long run; more wait for the next answer, and add up until then
THREADS = 8  # most answers hold no more documents: one round trip
RETRY_S = 10.0  # after a failure: no answer waits for a table that is down
MAX_COUNTED = 1_000  # documents; beyond them new ones are not counted until the next flush


class UsageCounter:
    """Counts uses of documents, and writes them before the reply ends, beside the making of the reply.

    A frozen environment writes nothing, so nothing waits that the budget has room for.

    Args:
        store: Where counts are added.
        clock: Seconds since 1970.
    """

    def __init__(self, store: Telemetry, *, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._counts: dict[DocumentKey, tuple[int, float]] = {}
        self._lock = Lock()
        self._budget = float(MAX_AT_ONCE)
        self._at_s = clock()
        self._write_from_s = 0.0

    def note(self, keys: Iterable[DocumentKey]) -> None:
        """An answer held the documents of *keys*; a failed write fails no answer."""
        now_s = self._clock()
        with self._lock:
            for key in set(keys):
                if key in self._counts or len(self._counts) < MAX_COUNTED:
                    self._counts[key] = (self._counts.get(key, (0, 0.0))[0] + 1, now_s)
            waits = bool(self._counts)
        if waits:
            before_reply(self.flush)

    def flush(self) -> None:
        """Write what the budget allows, all at once; the rest waits for the next answer."""
        with self._lock:
            now_s = self._clock()
            if now_s < self._write_from_s:
                return
            grown = self._budget + (now_s - self._at_s) * WRITES_A_SECOND
            self._budget, self._at_s = min(MAX_AT_ONCE, grown), now_s
            keys = list(self._counts)[: int(self._budget)]
            self._budget -= len(keys)
            taken = {key: self._counts.pop(key) for key in keys}
        writes = [
            _pool().submit(contextvars.copy_context().run, partial(self._write, key, *use))
            for key, use in taken.items()
        ]
        for each in writes:
            each.result()

    def _write(self, key: DocumentKey, count: int, used_at_s: float) -> None:
        try:
            self._store.add_use(key, count, rfc3339(used_at_s))
        except DatabaseError as exc:
            self._write_from_s = self._clock() + RETRY_S
            logger.warning("uses of documents could not be counted", extra={"service": exc.service})


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="ragdrop-uses")
