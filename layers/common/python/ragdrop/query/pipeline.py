"""The search pipeline: what wraps a search, top to bottom.

observed    metrics, counts and one log line of every query
fallback    the bucket index where an OpenSearch failed, then an empty answer that says why
cached      the answer of the same question, while its documents are unchanged
unless_open refuses while the breaker of the registry or of the index is open
search      candidates, fusion, ranking, links
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import spent
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import RagdropError
from ragdrop.ports.telemetry import Metrics, Operation, QueryReport, failure_of, filters_of, scope_of
from ragdrop.query.cache import MAX_CHARACTERS, CachedSearch, Searching
from ragdrop.query.fallback import BucketSearch, FallbackSearch, UnlessOpen
from ragdrop.query.query_vectors import QueryVectors
from ragdrop.query.usage import UsageCounter
from ragdrop.query.view import LiveViews
from ragdrop.resilience.breakers import Breakers
from ragdrop.tenants.directory import TenantDirectory

Observe = Callable[[QueryReport, str], None]
"""Takes what a query came to, and its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchServices:
    """What the wrappers of a search use; `bucket` is the search of the bucket index."""

    observe: Observe
    prices: Mapping[str, tuple[float, float]]
    bucket: BucketSearch
    metrics: Metrics
    breakers: Breakers
    live_views: LiveViews
    directory: TenantDirectory
    usage: UsageCounter
    query_vectors: QueryVectors
    cache_size: int
    cache_ttl_s: float
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPipeline:
    """A wrapped search, outermost first. Routes call `observed`; ask calls `fallback` and reports once itself."""

    observed: ObservedSearch
    fallback: FallbackSearch
    cached: CachedSearch
    unless_open: UnlessOpen
    search: Searching


def search_pipeline(search: Searching, services: SearchServices) -> SearchPipeline:
    """Wrap *search*, from the innermost wrapper to the outermost."""
    unless_open = UnlessOpen(search, services.breakers)
    cached = CachedSearch(
        search=unless_open,
        live_views=services.live_views,
        directory=services.directory,
        usage=services.usage,
        query_vectors=services.query_vectors,
        remembered=_remembered(services.cache_size, services.cache_ttl_s),
        clock=services.clock,
    )
    fallback = FallbackSearch(cached, metrics=services.metrics, bucket=services.bucket)
    observed = ObservedSearch(fallback, services.observe, prices=services.prices)
    return SearchPipeline(observed=observed, fallback=fallback, cached=cached, unless_open=unless_open, search=search)


def _remembered(size: int, ttl_s: float) -> BoundedCache[str, Retrieval] | None:
    """Room for answers; None where the settings turn the cache off."""
    return BoundedCache(size=size, ttl_s=ttl_s, max_weight=MAX_CHARACTERS) if size > 0 and ttl_s > 0 else None


class ObservedSearch:
    """A Search that reports.

    Args:
        search: What is observed.
        observe: Is told of every query, once.
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
        try:
            found = self._search(query, caller, deadline)
        except BaseException as exc:
            error = exc
            raise
        finally:
            taken_ms = (self._stopwatch() - start_s) * 1_000
            report = report_of("search", query, caller, taken_ms, found=found, error=error)
            if found is not None and found.calls:
                report = replace(report, **spent(found.calls, self._prices))
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
    who = {
        "operation": operation,
        "tenant": caller.tenant,
        "agent": query.agent,
        "filters": filters_of(query),
        "scope": scope_of(caller.vaults),
    }
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
