"""Sweep all tenants: one after the other, each time another one first, and one that fails does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.sweep_report import Report
from ragdrop.errors import DependencyError
from ragdrop.ports import Registry
from ragdrop.usecases.sweep import Sweep

logger = logging.getLogger(__name__)

TURN_S = 3_600  # the schedule's period: each run begins with the next tenant, so that a large one starves nobody


@dataclass(frozen=True, slots=True)
class Round:
    """The reports of a run, and the codes of the failures of the tenants that have none."""

    reports: list[Report]
    failures: dict[str, str]

    @property
    def sound(self) -> bool:
        """Whether nothing failed and nothing was refused."""
        return not self.failures and not any(report.refused for report in self.reports)


class SweepTenants:
    """Sweeps every active tenant, for the schedule."""

    def __init__(self, *, registry: Registry, sweep: Sweep, clock: Callable[[], float]) -> None:
        self._registry = registry
        self._sweep = sweep
        self._clock = clock

    def __call__(self, deadline: Deadline) -> Round:
        """Sweep as many tenants as the time allows; each report is logged by its counts."""
        names = [tenant.name for tenant in self._registry.tenants() if tenant.enabled]
        first = int(self._clock() // TURN_S) % len(names) if names else 0
        done = Round([], {})
        for name in names[first:] + names[:first]:
            try:
                report = self._sweep(name, deadline)
            except DependencyError as exc:
                done.failures[name] = exc.code
                logger.warning("a sweep failed", extra={"tenant": name, "code": exc.code, "service": exc.service})
                continue
            done.reports.append(report)
            logger.info("a tenant was swept", extra=_counts(report))
            if not report.finished:
                break
        return done


def _counts(report: Report) -> dict[str, object]:
    return {
        "tenant": report.tenant,
        "vaults": report.vaults,
        "objects": report.objects,
        "found": report.found,
        "orphans": report.orphans,
        "refused": len(report.refused),
        "finished": report.finished,
    }
