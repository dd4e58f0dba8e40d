"""`ragdrop sweep`: compare bucket, registry and index, and let ingest look again at what differs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import RagdropError
from ragdrop.operate.sweeping import SweepReport
from ragdrop_cli.deployment import Deployment, packages
from ragdrop_cli.failures import FAILED, code_of, describe, exit_code
from ragdrop_cli.folder_files import shown
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.reindex import TenantNames, named
from ragdrop_cli.session import session_of

LONGEST_S = 24 * 3_600.0
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what differs; send, remove and correct nothing.")]
AllowMassDelete = Annotated[
    bool,
    typer.Option("--allow-mass-delete", help="Accept that over 20 % and over 20 documents of a vault are gone."),
]
MEANINGS = {
    "new": "in the bucket, not in the registry",
    "changed": "another version in the bucket",
    "gone": "in the registry, not in the bucket",
    "stuck": "begun and left",
}


def sweep(
    context: typer.Context,
    tenant: TenantNames = None,
    *,
    dry_run: DryRun = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsObject = False,
) -> None:
    """Find documents whose events were lost, and orphaned chunks (operator); the schedule does the same every hour.

    What differs is only looked at again: ingest asks the bucket for the truth.  Where so much of a vault is gone that
    the listing is likelier wrong, nothing of that is done, and the exit code is 1.

    With --json one object a tenant is printed, one a line.
    """
    deployment = session_of(context).deployment()
    worst = 0
    for each in named(deployment, tenant):
        try:
            report = _sweep(deployment, each, dry_run=dry_run, allow_mass_delete=allow_mass_delete)
        except RagdropError as error:
            worst = max(worst, exit_code(error))
            for line in describe(error):
                note(f"{each.name}: {line}")
            if as_json:
                say_object({"tenant": each.name, "error": {"code": code_of(error), "message": error.message}})
            continue
        worst = max(worst, FAILED if report.refused else 0)
        if as_json:
            say_object(asdict(report))
        else:
            _say(report)
        _warn(report)
    if worst:
        raise typer.Exit(worst)


def _sweep(deployment: Deployment, tenant: Tenant, *, dry_run: bool, allow_mass_delete: bool) -> SweepReport:
    with packages():
        step = deployment.sweep
    return step(tenant.name, Deadline.after(LONGEST_S), dry_run=dry_run, allow_mass_delete=allow_mass_delete)


def _say(report: SweepReport) -> None:
    verb = "would be looked at" if report.dry_run else "are looked at"
    say(f"{report.tenant}: {report.objects} documents in {report.vaults} vaults; {report.asked} {verb} again")
    for kind, count in report.found.items():
        if count:
            say(f"{count} {kind} ({MEANINGS[kind]}): {_some(report.names[kind], count)}", indent=2)
    if report.recent:
        say(f"{report.recent} changed too lately, left for the next sweep", indent=2)
    if report.unusable:
        names = [shown(name) for name in report.unusable_names]
        say(f"{report.unusable} keys name no document: {_some(names, report.unusable)}", indent=2)
    if report.orphans:
        done = "would be removed" if report.dry_run else f"removed, {report.orphan_chunks} chunks"
        say(f"{report.orphans} orphaned revisions {done}", indent=2)
    if report.expired:
        done = "would be removed" if report.dry_run else "removed"
        say(f"{report.expired} revisions gone for 30 days {done}, {report.expired_objects} objects", indent=2)
    if any(report.corrected.values()):
        off = ", ".join(f"{name} {amount:+}" for name, amount in report.corrected.items())
        say(f"counters {'are off by' if report.dry_run else 'corrected by'}: {off}", indent=2)


def _some(names: list[str], count: int) -> str:
    shown = ", ".join(names[:5])
    return shown + (f" and {count - 5} more" if count > 5 else "")


def _warn(report: SweepReport) -> None:
    for each in report.refused:
        note(
            f"{report.tenant}: REFUSED: {each.gone} of {each.known} documents of vault {each.vault} are gone within "
            "24 hours; nothing was done about them"
        )
        note("next: look whether the bucket is whole; if it is, run it again with --allow-mass-delete")
    if not report.finished:
        note(f"{report.tenant}: the time was over; the same command goes on where this one was")
