"""Sweep all tenants: one after the other, each time another one first, and one that fails does not stop the others.

Before its sweep a tenant's index gets back what it lost, and golden questions that are due are asked.  A tenant that
grew, or changed its model, since its scores were calibrated is calibrated again after its sweep.  At last segments
that no reader uses any more are removed.  Between two sweeps indexes alone are checked, every ten minutes.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from ragdrop.calibration.calibrate import Calibrate
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import DependencyError
from ragdrop.ingest.reconcile import MergeSegments
from ragdrop.operate.golden_questions import GoldenRuns
from ragdrop.operate.rebuild_index import RebuildIndex, Rebuilt
from ragdrop.operate.sweep import Sweep, SweepReport
from ragdrop.ports.indexes import NAMES_ALONE, SOME_BYTES, BytesToRead
from ragdrop.ports.registry import Registry

logger = logging.getLogger(__name__)

CALIBRATION_S = 120.0  # with less time left the next run calibrates
SWEEP_S, CHECK_S = 3_600, 600  # periods of the schedules: each run begins with the next tenant, so that none starves


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
    golden_runs: GoldenRuns
    clock: Callable[[], float]

    def __call__(self, deadline: Deadline) -> Round:
        """Sweep as many tenants as the time allows; each report is logged by its counts."""
        done = Round([], {})
        for name in self._names(SWEEP_S):
            try:
                report = self.one(name, deadline)
            except DependencyError as exc:
                done.failures[name] = exc.code
                logger.warning("a sweep failed", extra={"tenant": name, "code": exc.code, "service": exc.service})
                continue
            done.reports.append(report)
            if report.failed:
                done.failures[name] = report.failed
            logger.info("a tenant was swept", extra=_counts(report))
            if not report.finished:
                break
        return done

    def one(
        self,
        name: str,
        deadline: Deadline,
        *,
        reading: BytesToRead = SOME_BYTES,
        dry_run: bool = False,
        allow_mass_delete: bool = False,
    ) -> SweepReport:
        """Sweep one tenant, by the arguments of `Sweep`: its index first, as a damaged one cannot be compared.

        Raises:
            InvalidParamsError: There is no such tenant.
            DependencyError: A service failed; the next sweep continues.
        """
        tenant = self.registry.tenant(name)
        rebuilt = Rebuilt() if tenant is None else self._rebuilt(tenant, deadline, reading, dry_run=dry_run)
        if tenant is not None and not dry_run:
            self.golden_runs.run_due(tenant, deadline)
        report = self.sweep(
            name, deadline, dry_run=dry_run, allow_mass_delete=allow_mass_delete, index=rebuilt.whole or not dry_run
        )
        report.index_fault, report.rebuilt, report.index_whole = rebuilt.fault, rebuilt.documents, rebuilt.whole
        if report.finished and not dry_run:
            self.calibrate.if_due(name, deadline, least_s=CALIBRATION_S)
            report.failed = self._tidy(name, deadline)
        return report

    def check_indexes(self, deadline: Deadline) -> dict[str, str]:
        """Rebuild what indexes lost, found by names and ETags, and read their share; codes of failures by tenant."""
        failures = {}
        for name in self._names(CHECK_S):
            tenant = self.registry.tenant(name)
            if tenant is None or deadline.remaining_s() <= 0:
                continue
            try:
                self._rebuilt(tenant, deadline, NAMES_ALONE, dry_run=False)
            except DependencyError as exc:
                failures[name] = exc.code
                extra = {"tenant": name, "code": exc.code, "service": exc.service}
                logger.warning("an index could not be checked", extra=extra)
        return failures

    def _names(self, period_s: int) -> list[str]:
        """Active tenants, in each period another one first."""
        names = [tenant.name for tenant in self.registry.tenants() if tenant.enabled]
        first = int(self.clock() // period_s) % len(names) if names else 0
        return names[first:] + names[:first]

    def _rebuilt(self, tenant: Tenant, deadline: Deadline, reading: BytesToRead, *, dry_run: bool) -> Rebuilt:
        """Rebuild the tenant's index, and the bucket index next to an OpenSearch."""
        rebuilt = self.rebuild_index(tenant, deadline, reading, dry_run=dry_run)
        if tenant.active.engine == "bucket":
            return rebuilt
        other = self.rebuild_fallback(tenant, deadline, reading, dry_run=dry_run)
        return replace(
            rebuilt,
            fault="; ".join(filter(None, (rebuilt.fault, other.fault))),
            documents=rebuilt.documents + other.documents,
            whole=rebuilt.whole and other.whole,
        )

    def _tidy(self, name: str, deadline: Deadline) -> str | None:
        """Remove segments that no reader uses any more; the code of a failure: the next run tries again."""
        try:
            tenant = self.registry.tenant(name)
            removed = self.merge_segments.tidy(tenant, deadline) if tenant is not None else 0
        except DependencyError as exc:
            extra = {"tenant": name, "code": exc.code, "service": exc.service}
            logger.warning("failed to delete retired segments", extra=extra)
            return exc.code
        if removed:
            logger.info("segments were removed", extra={"tenant": name, "segments": removed})
        return None


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
        "rebuilt": report.rebuilt,
    }
