"""Sweep all tenants: one after the other, each time another one first, and one that fails does not stop the others.

Before its sweep a tenant's index gets back what it lost, and golden questions that are due are asked.  A tenant that
grew, or changed its model, since its scores were calibrated is calibrated again after its sweep.  At last segments
that no reader uses any more are removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError
from ragdrop.ingest.merge_segments import MergeSegments
from ragdrop.operate.calibrate import Calibrate
from ragdrop.operate.canaries import Canaries
from ragdrop.operate.rebuild_index import RebuildIndex
from ragdrop.operate.sweep import Sweep
from ragdrop.operate.sweeping import SweepReport
from ragdrop.ports import Registry

logger = logging.getLogger(__name__)

CALIBRATION_S = 120.0  # with less time left the next run calibrates
TURN_S = 3_600  # the schedule's period: each run begins with the next tenant, so that a large one starves nobody


@dataclass(frozen=True, slots=True)
class Round:
    """The reports of a run, and the codes of the failures of the tenants that have none."""

    reports: list[SweepReport]
    failures: dict[str, str]

    @property
    def sound(self) -> bool:
        """Whether nothing failed and nothing was refused."""
        return not self.failures and not any(report.refused for report in self.reports)


@dataclass(frozen=True, kw_only=True)
class SweepTenants:
    """Sweeps every active tenant, for the schedule."""

    registry: Registry
    sweep: Sweep
    calibrate: Calibrate
    rebuild_index: RebuildIndex
    rebuild_fallback: RebuildIndex
    merge_segments: MergeSegments
    canaries: Canaries
    clock: Callable[[], float]

    def __call__(self, deadline: Deadline) -> Round:
        """Sweep as many tenants as the time allows; each report is logged by its counts."""
        names = [tenant.name for tenant in self.registry.tenants() if tenant.enabled]
        first = int(self.clock() // TURN_S) % len(names) if names else 0
        done = Round([], {})
        for name in names[first:] + names[:first]:
            try:
                self._prepare(name, deadline)
                report = self.sweep(name, deadline)
            except DependencyError as exc:
                done.failures[name] = exc.code
                logger.warning("a sweep failed", extra={"tenant": name, "code": exc.code, "service": exc.service})
                continue
            done.reports.append(report)
            logger.info("a tenant was swept", extra=_counts(report))
            if not report.finished:
                break
            self.calibrate.if_due(name, deadline, least_s=CALIBRATION_S)
            self._tidy(name, deadline, done)
        return done

    def _prepare(self, name: str, deadline: Deadline) -> None:
        """Rebuild what the tenant's index lost, as a damaged index cannot be swept; then ask what is due."""
        tenant = self.registry.tenant(name)
        if tenant is None:
            return
        written = self.rebuild_index(tenant, deadline)
        if tenant.active.engine != "bucket":
            written += self.rebuild_fallback(tenant, deadline)
        if written:
            logger.warning("an index was rebuilt", extra={"tenant": name, "documents": written})
        self.canaries.run_due(tenant, deadline)

    def _tidy(self, name: str, deadline: Deadline, done: Round) -> None:
        """Remove segments that no reader uses any more; a failure is the tenant's, and the next run tries again."""
        try:
            tenant = self.registry.tenant(name)
            removed = self.merge_segments.tidy(tenant, deadline) if tenant is not None else 0
        except DependencyError as exc:
            done.failures[name] = exc.code
            logger.warning("segments stay", extra={"tenant": name, "code": exc.code, "service": exc.service})
            return
        if removed:
            logger.info("segments were removed", extra={"tenant": name, "segments": removed})


def _counts(report: SweepReport) -> dict[str, object]:
    return {
        "tenant": report.tenant,
        "vaults": report.vaults,
        "objects": report.objects,
        "found": report.found,
        "orphans": report.orphans,
        "expired": report.expired,
        "refused": len(report.refused),
        "finished": report.finished,
    }
