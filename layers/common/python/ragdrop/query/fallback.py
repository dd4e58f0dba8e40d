"""The fallback chain: the index, the bucket index beside it, then an empty result that names the cause."""

from __future__ import annotations

from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import NOTHING_SEARCHED, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import CircuitOpenError, DatabaseError, DeadlineError, DependencyError, IndexLostError
from ragdrop.ports import SearchableIndex
from ragdrop.ports.telemetry import Metrics
from ragdrop.query.cache import Searching
from ragdrop.query.search import Search
from ragdrop.resilience.breakers import Breakers
from ragdrop.resilience.guarded import INDEX, REGISTRY
from ragdrop.resilience.stages import Timer
from ragdrop.tenants.directory import TenantDirectory

DEGRADED = 2
NOTHING_TOUCHED = 4


class UnlessOpen:
    """A search that does not begin behind an open breaker: then the question need not be embedded for it either."""

    def __init__(self, search: Searching, breakers: Breakers) -> None:
        self._search = search
        self._breakers = breakers

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query*.

        Raises:
            CircuitOpenError: The breaker of the registry or of the index is open; nothing was touched.
            The errors of the search.
        """
        for dependency in (REGISTRY, INDEX):  # without the registry no hit can be verified, whoever found it
            self._breakers.check(dependency)
        return self._search(query, caller, deadline)


class FallbackSearch:
    """The chain of levels (docs/api.md, "What the flags mean").

    Level 1, and level 2 by words alone, are the search's own.  Where an OpenSearch failed, the bucket index is level 2
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
    """The same search over the bucket index, where it holds what an OpenSearch holds; told to be the fallback.

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
