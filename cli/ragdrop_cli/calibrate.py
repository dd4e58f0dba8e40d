"""`ragdrop calibrate`: learn from a tenant's own titles and headings what scores of its embedding model are worth."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Tenant
from ragdrop_cli.deployment import Deployment, packages
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note
from ragdrop_cli.progress import progress
from ragdrop_cli.reindex import TenantNames, each_in_turn, named
from ragdrop_cli.reindexing import Step, Told
from ragdrop_cli.session import session_of

if TYPE_CHECKING:
    from ragdrop.domain.calibration import Calibration
    from ragdrop.operate.calibrate import Calibrated

LONGEST_S = 3_600.0
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the fit; keep what is in force.")]


def calibrate(
    context: typer.Context, tenant: TenantNames = None, *, dry_run: DryRun = False, as_json: AsObject = False
) -> None:
    """Fit what 0.7 means to the tenant's own documents (operator); the sweep does it as a tenant grows.

    Up to 150 documents are read; their titles and headings are asked as questions, beside questions that no tenant
    answers.  The same documents give the same fit.  A tenant with too few titles keeps what is in force, and the exit
    code is 1.

    With --json one object a tenant is printed, one a line.
    """
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    if not tenants:
        note("there is no tenant to do that for")
    each_in_turn(deployment, tenants, _fit(dry_run=dry_run), as_json=as_json)


def _fit(*, dry_run: bool) -> Step:
    """The step that calibrates a tenant."""

    def step(deployment: Deployment, tenant: Tenant) -> Told:
        with packages():
            fit = deployment.calibrate
        with progress(f"calibrating {tenant.name}", tenant.documents, unit="documents") as show:
            done = fit(tenant.name, Deadline.after(LONGEST_S), dry_run=dry_run, progress=show)
        return _told(done)

    return step


def _told(done: Calibrated) -> Told:
    after = done.after
    lexical = f"from {after.lexical.operating_point:.2f}" if after.lexical else "no fit, the threshold is skipped"
    won = f"own chunks score over random ones in {100 * (after.separation or 0):.1f} % of cases"
    lines = [
        f"before: {_curve(done.before)}",
        f"{'now' if done.written else 'the fit would be'}: {_curve(after)}",
        f"fitted on {after.pairs} titles and headings; {won}",
        f"words alone (BM25), where there are no vectors: {lexical}",
    ]
    fields = {"before": asdict(done.before), "after": asdict(after), "written": done.written}
    return Told(lines, fields)


def _curve(calibration: Calibration) -> str:
    point, floor = calibration.vector.operating_point, calibration.noise_floor
    source = f"{calibration.basis}, {calibration.space.model}"
    return f"a cosine of {point:.3f} is worth 0.70, one under {floor:.3f} is noise ({source})"
