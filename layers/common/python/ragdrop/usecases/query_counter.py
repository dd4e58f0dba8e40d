"""Query counter: what queries came to, added to the tenant's hour with every query."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from threading import Lock

from ragdrop.domain.hour_counts import Counts, counts_of, hour_of, with_few_agents
from ragdrop.domain.query_reports import QueryReport
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import HourStore
from ragdrop.usecases.before_reply import before_reply

logger = logging.getLogger(__name__)

RETRY_S = 10.0  # after a failure: no request waits for a table that is down
FLUSH_BUDGET_S = 0.02  # a request gives no more to it; one write that hangs ends by the store's own time-out
MAX_HOURS = 500  # tenants and hours that wait; beyond them new ones are not counted until the next flush


class QueryCounter:
    """Counts queries, and writes the counts before the reply leaves, beside the making of the reply.

    One write adds all that waits for a tenant and hour: queries that end while another one's counts are being written
    share the next write.  What could not be written goes with a query ten seconds later or after.

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
        self._agents: dict[tuple[str, str], set[str]] = {}
        self._lock = Lock()
        self._write_from_s = 0.0

    def note(self, report: QueryReport) -> None:
        """Count a query that has ended; a failed write fails no query."""
        place = report.tenant, hour_of(self._clock())
        self._keep(place, with_few_agents(counts_of(report), self._agents_of(place)))
        if self._clock() >= self._write_from_s:
            before_reply(self.flush)

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
                self._write_from_s = self._clock() + RETRY_S
                logger.warning("queries could not be counted", extra={"service": exc.service})
                return

    def _keep(self, place: tuple[str, str], counts: Counts) -> None:
        with self._lock:
            if place in self._waiting or len(self._waiting) < MAX_HOURS:
                self._waiting.setdefault(place, Counter()).update(counts)

    def _agents_of(self, place: tuple[str, str]) -> set[str]:
        """The agents that this environment named in an hour; those of the oldest of many hours are forgotten."""
        with self._lock:
            if place not in self._agents and len(self._agents) >= MAX_HOURS:
                self._agents.pop(next(iter(self._agents)))
            return self._agents.setdefault(place, set())
