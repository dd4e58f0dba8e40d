"""The fallback chain: the index, the snapshot, then an empty result that names the cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragdrop.domain.deadlines import SNAPSHOT, Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import NOTHING_SEARCHED, Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.errors import CircuitOpenError, DatabaseError, DeadlineError, DependencyError, IndexLostError
from ragdrop.ports.metrics import Metrics
from ragdrop.ports.snapshots import SnapshotReader
from ragdrop.query.cache import Searching
from ragdrop.resilience.breakers import Breakers
from ragdrop.resilience.guarded import INDEX, REGISTRY
from ragdrop.resilience.stages import Timer

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

    Level 1, and level 2 by words alone, are the search's own.  Where the index failed, the snapshot is level 2 too.
    Where that fails as well, or the registry did, so that no hit can be verified, it is level 3; 4 where every path was
    behind an open breaker, and nothing was touched.  Every way in which the index cannot be used falls back, a damaged
    file and refused credentials too; a wrong dimension is an error of the configuration and stays one.

    Args:
        search: The search of the index.
        metrics: Counts the searches that met a lost index.
        snapshot: The search of the tenant's snapshot, if there is one.
    """

    def __init__(self, search: Searching, *, metrics: Metrics, snapshot: Searching | None = None) -> None:
        self._search = search
        self._metrics = metrics
        self._snapshot = snapshot

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
        if self._snapshot is None or cause.service == REGISTRY:
            return nothing_searched(cause)
        try:
            found = self._snapshot(query, caller, deadline)
        except (DatabaseError, DeadlineError, CircuitOpenError) as exc:
            return nothing_searched(cause, exc)
        return replace(
            found,
            fallback_level=DEGRADED,
            degraded=True,
            circuit_breaker_open=found.circuit_breaker_open or isinstance(cause, CircuitOpenError),
            warnings=[f"answered from the snapshot: {cause.message}", *found.warnings],
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


FROM_SNAPSHOT = 2


class SnapshotSearch:
    """The same search over the tenant's snapshot, said to be one.

    Args:
        search: A Search whose index is the snapshot: its hits are verified like any other.
        snapshots: Has the snapshot ready before anything else is asked.
        clock: Seconds since 1970.
    """

    def __init__(self, *, search: Searching, snapshots: SnapshotReader, clock: Callable[[], float]) -> None:
        self._search = search
        self._snapshots = snapshots
        self._clock = clock

    def __call__(self, query: Query, caller: Caller, deadline: Deadline) -> Retrieval:
        """Find what answers *query* in the tenant's snapshot.

        Raises:
            DatabaseError: There is no snapshot, it is not here yet, or no hit could be verified.
            DeadlineError: The time was used up.
            CallerError: The query is wrong.
        """
        snapshot = self._snapshots.current(caller.tenant, SNAPSHOT.of(deadline))
        found = self._search(query, caller, deadline)
        age_s = snapshot.age_s(self._clock())
        notes = [f"the snapshot was made {_told(age_s)} ago"]
        if snapshot.coverage < 1.0:
            notes.append(f"the snapshot holds {snapshot.coverage:.0%} of the chunks")
        return replace(
            found,
            served_by="snapshot",
            fallback_level=FROM_SNAPSHOT,
            degraded=True,
            snapshot_age_s=age_s,
            snapshot_coverage=round(snapshot.coverage, 4),
            warnings=[*notes, *found.warnings],
        )


def _told(age_s: float) -> str:
    """An age in the largest unit of which there are two.

    >>> _told(30.0), _told(5_400.0), _told(200_000.0)
    ('30 seconds', '90 minutes', '55 hours')
    """
    for unit, size in (("hours", 3_600), ("minutes", 60)):
        if age_s >= 2 * size:
            return f"{age_s // size:.0f} {unit}"
    return f"{age_s:.0f} seconds"
