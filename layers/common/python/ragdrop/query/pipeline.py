"""The search pipeline: what wraps a search, top to bottom.

observed    metrics, counts and one log line of every query
fallback    the bucket index where an OpenSearch failed, then an empty answer that says why
cached      the answer of the same question, while its documents are unchanged; else refuses behind an open breaker
search      candidates, fusion, ranking, links
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import spent
from ragdrop.domain.retrieval import NOTHING_SEARCHED, Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import CircuitOpenError, DatabaseError, DeadlineError, DependencyError, IndexLostError, RagdropError
from ragdrop.ports.search_services import Metrics, SearchableIndex
from ragdrop.ports.telemetry import Operation, QueryReport, failure_of, filters_of, scope_of
from ragdrop.query.cache import Searching
from ragdrop.query.search import Search
from ragdrop.resilience.breakers import INDEX, REGISTRY
from ragdrop.resilience.timing import Timer, noted_calls
from ragdrop.tenants.directory import TenantDirectory

DEGRADED = 2
NOTHING_TOUCHED = 4


Observe = Callable[[QueryReport, str], None]
"""Takes what a query came to, and its text."""


class ObservedSearch:
    """A Search that reports.

    Args:
        search: What is observed.
        observe: Takes the report of every query, once.
        prices: By chat model, of a million tokens read and written.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        search: Searching,
        observe: Observe,
        *,
        prices: Mapping[str, tuple[float, float]],
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._prices = prices
        self._search = search
        self._observe = observe
        self._stopwatch = stopwatch

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*; raises what Search raises."""
        start_s = self._stopwatch()
        found: Retrieval | None = None
        error: BaseException | None = None
        with noted_calls() as calls:
            try:
                found = self._search(query, caller, deadline)
            except BaseException as exc:
                error = exc
                raise
            finally:
                taken_ms = (self._stopwatch() - start_s) * 1_000
                report = report_of("search", query, caller, taken_ms, found=found, error=error)
                if calls:
                    report = replace(report, **spent(calls, self._prices))
                self._observe(report, query.text)
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
    if isinstance(error, RagdropError):
        error.counted = True
    report = QueryReport(
        operation=operation,
        tenant=caller.tenant,
        agent=query.agent,
        filters=filters_of(query),
        scope=scope_of(caller.vaults),
        latency_ms=round(latency_ms, 3),
        failure=failure,
    )
    if found is None:
        return report
    return replace(
        report,
        results=len(found.documents),
        fallback_level=found.fallback_level,
        circuit_breaker_open=found.circuit_breaker_open,
        degraded=found.degraded,
        cached=found.served_by == "cache",
        abstain_reason="no_relevant_context" if found.abstained else None,
        timings_ms=found.timings_ms,
    )


class FallbackSearch:
    """The chain of levels (docs/api.md, "What the flags mean").

    Level 1, and level 2 without vectors, are the search's own.  Where an OpenSearch failed, the bucket index is level 2
    too, as ingest writes to both.  Where that fails as well, or the registry did, so that no hit can be verified, it is
    level 3; 4 where every path was behind an open breaker, and nothing was touched.  Every way in which the index
    cannot be used falls back, damage and refused credentials too; a wrong dimension is an error of the configuration
    and stays one.

    Args:
        search: The search of the index.
        metrics: Counts the searches that met a lost index.
        bucket: The search of the bucket index.
    """

    def __init__(self, search: Searching, *, metrics: Metrics, bucket: BucketSearch | None = None) -> None:
        self._search = search
        self._metrics = metrics
        self._bucket = bucket

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*; empty, with the level and the cause, where nothing could be searched.

        Raises:
            DependencyError: The same with `allow_fallback` off, or where trying again cannot help.
            CallerError: The query is wrong.
        """
        try:
            return self._search(query, caller, deadline)
        except (DatabaseError, DeadlineError, CircuitOpenError) as exc:
            if isinstance(exc, IndexLostError):
                self._metrics.put({"IndexLosses": 1.0})
            if not query.allow_fallback or not (exc.retryable or exc.service == INDEX):
                raise
            cause: DependencyError = exc
        if self._bucket is None or cause.service == REGISTRY or not self._bucket.holds(caller):
            return nothing_searched(cause)
        try:
            found = self._bucket(query, caller, deadline)
        except (DatabaseError, DeadlineError, CircuitOpenError) as exc:
            return nothing_searched(cause, exc)
        return replace(
            found,
            fallback_level=DEGRADED,
            degraded=True,
            circuit_breaker_open=found.circuit_breaker_open or isinstance(cause, CircuitOpenError),
            warnings=[f"answered from the bucket index: {cause.message}", *found.warnings],
        )


def nothing_searched(cause: DependencyError, *others: DependencyError) -> Retrieval:
    """Level 3, or 4 where *cause* and what else was in the way are open breakers, all of them.

    >>> nothing_searched(DatabaseError("no", service="index")).fallback_level
    3
    >>> nothing_searched(CircuitOpenError("open", service="index")).fallback_level
    4
    """
    is_open = [isinstance(each, CircuitOpenError) for each in (cause, *others)]
    return Retrieval(
        documents=[],
        total_matches=0,
        total_indexed=None,
        timings_ms=Timer().stages,
        warnings=[f"nothing could be searched: {each.message}" for each in (cause, *others)],
        degraded=True,
        fallback_level=NOTHING_TOUCHED if all(is_open) else NOTHING_SEARCHED,
        circuit_breaker_open=any(is_open),
        served_by="none",
        cause=cause,
    )


class BucketSearch:
    """The same search over the bucket index, where an OpenSearch is the main index; marked as the fallback.

    Args:
        search: Searches it: its hits are verified like any other.
        index: The bucket index.
        directory: Knows which index answers for a tenant.
    """

    def __init__(self, *, search: Search, index: SearchableIndex, directory: TenantDirectory) -> None:
        self._search = search
        self._index = index
        self._directory = directory

    def holds(self, caller: Caller) -> bool:
        """Whether the tenant's index is another one, so that this one is worth asking."""
        tenant = self._directory.tenant(caller.tenant)
        return tenant is not None and tenant.active.engine != "bucket"

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query* in the bucket index; raises what Search raises."""
        found = self._search(query, caller, deadline, self._index)
        return replace(found, served_by="fallback", fallback_level=DEGRADED, degraded=True)


logger = logging.getLogger(__name__)
