"""Snapshot search: level 2 of the fallback chain where the index itself is down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.retrieval import Retrieval
from ragdrop.domain.tenants import Caller
from ragdrop.domain.time_shares import SNAPSHOT
from ragdrop.ports.snapshots import SnapshotReader
from ragdrop.usecases.cached_search import Searching

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
