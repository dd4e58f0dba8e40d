"""Read stats: a tenant's documents, and what its queries came to over a time range: a sum of hours, no scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.hour_counts import hour_of
from ragdrop.domain.statistics import Statistics, TimeRange, first_hour_s, statistics
from ragdrop.domain.tenants import Caller
from ragdrop.ports.telemetry import HourStore
from ragdrop.usecases.tenants import Directory


@dataclass(frozen=True, slots=True)
class TenantStats:
    """The tenant's counters of what is live, and the figures of its queries."""

    documents: int | None
    chunks: int | None
    queries: Statistics


class ReadStats:
    """Figures of the caller's tenant."""

    def __init__(self, *, directory: Directory, store: HourStore, clock: Callable[[], float]) -> None:
        self._directory = directory
        self._store = store
        self._clock = clock

    def __call__(self, caller: Caller, time_range: TimeRange) -> TenantStats:
        """The figures of *time_range* up to now, in whole hours, with every query that has been answered.

        Raises:
            DatabaseError: The registry or the telemetry table did not answer.
        """
        now_s = self._clock()
        tenant = self._directory.tenant(caller.tenant)
        hours = self._store.counts(caller.tenant, hour_of(first_hour_s(now_s, time_range)), hour_of(now_s))
        return TenantStats(
            documents=None if tenant is None else tenant.documents,
            chunks=None if tenant is None else tenant.chunks,
            queries=statistics(hours),
        )
