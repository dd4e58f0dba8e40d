"""The golden questions of a tenant's vaults, asked after every change of the deployment and on the schedule.

A vault without golden questions costs nothing.  What cannot be measured is no drop: the run says what was in the way.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ragdrop import __version__
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.golden import GoldenQuestion, GoldenRun, golden_questions, outcomes_of
from ragdrop.domain.tenants import Caller, Tenant
from ragdrop.errors import ProjectNotActivatedError, RagdropError
from ragdrop.past.record import check_visible
from ragdrop.past.stages import AskGolden, in_parallel, shown_golden
from ragdrop.ports.registry import Registry
from ragdrop.ports.search_services import Metrics
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.permissions import Permissions

logger = logging.getLogger(__name__)

DUE_S = 6 * 3_600.0  # a vault is asked again after so long, where nothing changed
MAX_QUESTIONS = 200  # of a tenant in one run of the schedule; the next one takes the vaults that waited longest
TENANT_S = 60.0  # seconds that one run of the schedule gives a tenant


@dataclass(kw_only=True)
class GoldenRuns:
    """Asks golden questions, compares each run with the one before it, and stores it.

    Every method raises DatabaseError where the registry does not answer.
    """

    registry: Registry
    directory: TenantDirectory
    ask: AskGolden
    permissions: Permissions
    metrics: Metrics
    release: str
    clock: Callable[[], float]

    def last(self, caller: Caller) -> list[GoldenRun]:
        """The last run of each vault that has golden questions and that *caller* may see; empty before its first."""
        tenant = self.directory.tenant(caller.tenant)
        vaults = [vault for vault in _guarded(tenant) if caller.may_see(vault)]
        runs = self.registry.golden_runs(caller.tenant) if vaults else {}
        return [self._shown(runs.get(vault) or GoldenRun(vault), caller, tenant) for vault in vaults]

    def _shown(self, run: GoldenRun, caller: Caller, tenant: Tenant | None) -> GoldenRun:
        return replace(run, outcomes=shown_golden(run.outcomes, caller, tenant, run.vault, self.permissions))

    def run(self, caller: Caller, vault: str, deadline: Deadline) -> GoldenRun:
        """Ask the golden questions of a vault now; a vault without any has a run without outcomes.

        Raises:
            InvalidParamsError: The vault is out of the key's scope.
            DatabaseError: The registry did not answer.
        """
        check_visible(caller, vault)
        tenant = self.directory.tenant(caller.tenant, fresh=True)
        if tenant is None:
            raise ProjectNotActivatedError("the project of this API key is not active")
        if vault not in _guarded(tenant):
            return GoldenRun(vault)
        before = self.registry.golden_runs(tenant.name).get(vault)
        run = self._run(tenant, vault, before, deadline)
        self.metrics.put({"GoldenDrops": len(run.dropped)})
        return self._shown(run, caller, tenant)

    def run_due(self, tenant: Tenant, deadline: Deadline) -> None:
        """Ask what is due: vaults that changed, or whose release changed, or that were not measured for six hours."""
        vaults = _guarded(tenant)
        if not vaults:
            return
        runs = self.registry.golden_runs(tenant.name)
        deadline = deadline.within(TENANT_S)
        left = MAX_QUESTIONS
        for vault in sorted(vaults, key=lambda each: _measured_at_s(runs.get(each))):
            left -= len(golden_questions(tenant.settings_of(vault)))
            if left < 0 or deadline.remaining_s() <= 0:
                break
            if self._is_due(tenant, vault, runs.get(vault)):
                runs[vault] = self._run(tenant, vault, runs.get(vault), deadline)
        self.metrics.put({"GoldenDrops": sum(len(runs[vault].dropped) for vault in vaults if vault in runs)})

    def _is_due(self, tenant: Tenant, vault: str, last: GoldenRun | None) -> bool:
        if last is None or last.measured_at_s is None or last.not_measured is not None:
            return True
        changed = last.measured_with != self._measured_with(tenant, vault)
        return changed or self.clock() - last.measured_at_s >= DUE_S

    def _run(self, tenant: Tenant, vault: str, before: GoldenRun | None, deadline: Deadline) -> GoldenRun:
        questions = golden_questions(tenant.settings_of(vault))
        caller = Caller(tenant.name, "admin", (vault,))  # a run measures the vault, whoever may read it
        in_the_way: list[str] = []

        def asked(golden: GoldenQuestion) -> bool | None:
            try:
                return self.ask(golden, caller, vault, deadline)
            except RagdropError as exc:
                in_the_way.append(exc.code)
                return None

        outcomes = outcomes_of(questions, in_parallel(asked, questions), before)
        if in_the_way:
            last = before or GoldenRun(vault)
            run = GoldenRun(vault, outcomes, last.measured_at_s, last.measured_with, in_the_way[0])
        else:
            run = GoldenRun(vault, outcomes, self.clock(), self._measured_with(tenant, vault))
        self.registry.put_golden_run(tenant.name, run)
        extra = {"tenant": tenant.name, "vault": vault, "questions": len(questions), "answered": run.answered}
        if run.dropped:
            logger.warning("golden questions are not answered any more", extra=extra | {"dropped": len(run.dropped)})
        else:
            logger.info("golden questions were asked", extra=extra | {"code": run.not_measured})
        return run

    def _measured_with(self, tenant: Tenant, vault: str) -> Mapping[str, str]:
        active = tenant.active
        return {
            "release": f"{__version__} {self.release}".strip(),
            "index": active.name,
            "model": f"{active.space.model} {active.space.dimension}",
            "settings": str(tenant.settings[vault].revision),
        }


def _guarded(tenant: Tenant | None) -> list[str]:
    """The vaults that have golden questions, by name."""
    settings = tenant.settings if tenant is not None else {}
    return sorted(vault for vault, each in settings.items() if vault and each.values.get("golden_questions"))


def _measured_at_s(run: GoldenRun | None) -> float:
    return (run.measured_at_s if run is not None else None) or 0.0
