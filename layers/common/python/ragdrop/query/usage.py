"""Count which documents answers used, in the environment, and write the counts in small batches."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from threading import Lock

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.times import rfc3339
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import UsageStore

logger = logging.getLogger(__name__)

FLUSH_EVERY_S = 10.0
FLUSH_BUDGET_S = 0.02  # a request gives no more to it; one write that hangs ends by the store's own time-out
MAX_COUNTED = 1_000  # documents; beyond them new ones are not counted until the next flush


class UsageCounter:
    """Counts uses of documents, and writes them inside a request now and then, never after its answer.

    What an environment has not written when it is stopped is lost: ten seconds of counts.

    Args:
        store: Where counts are added.
        clock: Seconds since 1970.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self, store: UsageStore, *, clock: Callable[[], float], stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._counts: dict[DocumentKey, tuple[int, float]] = {}
        self._lock = Lock()
        self._flushed_at_s = clock()

    def note(self, keys: Iterable[DocumentKey]) -> None:
        """An answer held the documents of *keys*."""
        now_s = self._clock()
        with self._lock:
            for key in set(keys):
                if key in self._counts or len(self._counts) < MAX_COUNTED:
                    self._counts[key] = (self._counts.get(key, (0, 0.0))[0] + 1, now_s)

    def is_due(self) -> bool:
        """Whether the last flush is ten seconds ago; True once, to the one that then flushes."""
        with self._lock:
            if self._clock() < self._flushed_at_s + FLUSH_EVERY_S:
                return False
            self._flushed_at_s = self._clock()
            return True

    def flush(self) -> None:
        """Write counts until twenty milliseconds are used up; the rest waits for the next time."""
        end_s = self._stopwatch() + FLUSH_BUDGET_S
        while self._stopwatch() < end_s:
            with self._lock:
                if not self._counts:
                    return
                key = next(iter(self._counts))
                count, used_at_s = self._counts.pop(key)
            try:
                self._store.add_use(key, count, rfc3339(used_at_s))
            except DatabaseError as exc:
                logger.warning("uses of documents could not be counted", extra={"service": exc.service})
                return
