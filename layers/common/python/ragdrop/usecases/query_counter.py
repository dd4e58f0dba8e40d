"""Query counter: what queries came to, counted in the environment and added to the tenant's hour now and then."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from ragdrop.domain.hour_counts import Counts, added, counts_of, hour_of
from ragdrop.domain.query_reports import QueryReport
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import HourStore

logger = logging.getLogger(__name__)

FLUSH_EVERY_S = 10.0
FLUSH_BUDGET_S = 0.02  # a request gives no more to it; one write that hangs ends by the store's own time-out
MAX_HOURS = 500  # tenants and hours that wait; beyond them new ones are not counted until the next flush


class QueryCounter:
    """Counts queries, and writes the sums inside a request at most every ten seconds, never after its answer.

    One write adds all that waits for a tenant and hour.  What could not be written waits for the next time; what an
    environment has not written when it is stopped is lost: ten seconds of counts.

    Args:
        store: Where counts are added.
        clock: Seconds since 1970.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self, store: HourStore, *, clock: Callable[[], float], stopwatch: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch
        self._waiting: dict[tuple[str, str], Counter[str]] = {}
        self._lock = Lock()
        self._flushed_at_s = clock()

    def note(self, report: QueryReport) -> None:
        """A query came to its end."""
        self._keep((report.tenant, hour_of(self._clock())), counts_of(report))
        if self._is_due():
            self.flush()

    def flush(self) -> None:
        """Write what waits until twenty milliseconds are used up; the rest waits for the next time."""
        end_s = self._stopwatch() + FLUSH_BUDGET_S
        while self._stopwatch() < end_s:
            with self._lock:
                if not self._waiting:
                    return
                place = next(iter(self._waiting))
                counts = self._waiting.pop(place)
            try:
                self._store.add_counts(*place, counts)
            except DatabaseError as exc:
                self._keep(place, counts)
                logger.warning("queries could not be counted", extra={"service": exc.service})
                return

    def _keep(self, place: tuple[str, str], counts: Counts) -> None:
        with self._lock:
            if place in self._waiting or len(self._waiting) < MAX_HOURS:
                added(self._waiting.setdefault(place, Counter()), counts)

    def _is_due(self) -> bool:
        with self._lock:
            if self._clock() < self._flushed_at_s + FLUSH_EVERY_S:
                return False
            self._flushed_at_s = self._clock()
            return True
