"""Observed search: a search whose every end is told, good or bad."""

from __future__ import annotations

import time
from collections.abc import Callable

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.ports.metrics import Operation, QueryReport, failure_of, filters_of
from ragdrop.query.cache import Searching

Observe = Callable[[QueryReport, str], None]
"""Takes what a query came to, and its text."""


class ObservedSearch:
    """A Search that reports.

    Args:
        search: What is observed.
        observe: Is told of every query, once.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self, search: Searching, observe: Observe, *, stopwatch: Callable[[], float] = time.perf_counter
    ) -> None:
        self._search = search
        self._observe = observe
        self._stopwatch = stopwatch

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*; raises what Search raises."""
        start_s = self._stopwatch()
        found: Retrieval | None = None
        error: BaseException | None = None
        try:
            found = self._search(query, caller, deadline)
        except BaseException as exc:
            error = exc
            raise
        finally:
            taken_ms = (self._stopwatch() - start_s) * 1_000
            self._observe(report_of("search", query, caller, taken_ms, found=found, error=error), query.text)
        return found


def report_of(
    operation: Operation,
    query: Query,
    caller: Caller,
    latency_ms: float,
    *,
    found: Retrieval | None,
    error: BaseException | None,
) -> QueryReport:
    """What a query came to: what was *found*, or the *error*; one that is served by nothing says why."""
    error = error or (found.cause if found is not None else None)
    failure = None if error is None else failure_of(error, operation)
    who = {"operation": operation, "tenant": caller.tenant, "agent": query.agent, "filters": filters_of(query)}
    rest = {"latency_ms": round(latency_ms, 3), "failure": failure}
    if found is None:
        return QueryReport(**who, **rest)  # type: ignore[arg-type]
    return QueryReport(
        **who,  # type: ignore[arg-type]
        **rest,  # type: ignore[arg-type]
        results=len(found.documents),
        fallback_level=found.fallback_level,
        circuit_breaker_open=found.circuit_breaker_open,
        degraded=found.degraded,
        cached=found.served_by == "cache",
        abstain_reason="no_relevant_context" if found.abstained else None,
        timings_ms=found.timings_ms,
    )
