"""`ragdrop sweep` and `ragdrop restore`: rebuild what an index or the registry lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Tenant
from ragdrop.errors import RagdropError
from ragdrop.operate.sweeping import SweepReport
from ragdrop.ports.indexes import ALL_BYTES, SOME_BYTES, Reading
from ragdrop_cli.failures import FAILED, code_of, describe, exit_code
from ragdrop_cli.folder_files import shown
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, progress, say, say_object
from ragdrop_cli.reindex import TenantNames, Told, in_turn, named
from ragdrop_cli.session import Deployment, packages, session_of

if TYPE_CHECKING:
    from ragdrop.operate.restore import Restore, RestoreReport


LONGEST_S = 24 * 3_600.0
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what differs; change and send nothing.")]
Verify = Annotated[bool, typer.Option("--verify", help="Read every byte of the index, not only what is due.")]
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
    verify: Verify = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsObject = False,
) -> None:
    """Rebuild what the index lost, and find documents whose events were lost (operator); the schedule does so hourly.

    The index is compared with its manifest by names, sizes and ETags; of one up to 64 MB every byte is read, of a
    larger one the share that is due, with --verify all of it.  What is missing or damaged is rebuilt from stored texts
    and vectors, without embedding.  Documents that differ are only rechecked: ingest asks the bucket for the truth.

    The exit code is 0 where all is well or was rebuilt.  It is 1 where the index is not whole: after a dry run that
    found damage, where the time was over, or where a stored text is gone too.  It is 1 as well where so much of a vault
    is gone that the listing is likelier wrong (nothing of that is done), and where a service failed.

    With --json one object a tenant is printed, one a line; `index_fault`, `rebuilt` and `index_whole` are the index's.
    """
    deployment = session_of(context).deployment()
    worst = 0
    for each in named(deployment, tenant):
        try:
            reading = Reading(ALL_BYTES, progress=_shown(each.name)) if verify else SOME_BYTES
            report = _sweep(deployment, each, reading, dry_run=dry_run, allow_mass_delete=allow_mass_delete)
        except RagdropError as error:
            worst = max(worst, exit_code(error))
            for line in describe(error):
                note(f"{each.name}: {line}")
            if as_json:
                say_object({"tenant": each.name, "error": {"code": code_of(error), "message": error.message}})
            continue
        worst = max(worst, FAILED if report.refused or report.failed or not report.index_whole else 0)
        if as_json:
            say_object(asdict(report))
        else:
            _say(report)
        _warn(report)
    if worst:
        raise typer.Exit(worst)


def _sweep(
    deployment: Deployment, tenant: Tenant, reading: Reading, *, dry_run: bool, allow_mass_delete: bool
) -> SweepReport:
    with packages():
        step = deployment.sweep_tenants
    return step.one(
        tenant.name,
        Deadline.after(LONGEST_S),
        reading=reading,
        dry_run=dry_run,
        allow_mass_delete=allow_mass_delete,
    )


def _shown(name: str) -> Callable[[int, int], None]:
    return lambda done, of: note(f"{name}: {done / 1e6:.1f} of {of / 1e6:.1f} MB of the index are read")


def _say(report: SweepReport) -> None:
    verb = "would be looked at" if report.dry_run else "are looked at"
    say(f"{report.tenant}: {report.objects} documents in {report.vaults} vaults; {report.asked} {verb} again")
    if report.index_fault:
        say(f"index: {report.index_fault}", indent=2)
        say("would be rebuilt from stored texts" if report.dry_run else f"{report.rebuilt} documents rebuilt", indent=2)
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
    if not report.index_whole and not report.dry_run:
        note(f"{report.tenant}: the index is not whole: stored texts are gone too; write those documents again")
    if report.failed:
        note(f"{report.tenant}: retired segments could not be deleted ({report.failed}); the next sweep tries again")
    if not report.finished:
        note(f"{report.tenant}: the time was over; the same command goes on where this one was")


def restore(context: typer.Context, tenant: TenantNames = None, *, as_json: AsObject = False) -> None:
    """Restore what the registry and the state bucket lost, from the document bucket alone (operator).

    Tenants that only the bucket knows are created again, their settings files take effect, and ingest indexes what is
    missing; vectors that are kept are used again.  What was deleted stays deleted, and what waited in a stage waits.
    Cut off, the same command goes on; with nothing lost it changes nothing.  API keys are in no bucket: make new ones.

    With --json one object a tenant is printed, one a line.
    """
    session = session_of(context)
    with packages():
        step = session.deployment().restore
    names = tenant or step.names()
    if not names:
        note("the bucket has no documents")
    in_turn({name: partial(_restored, step, name, session.sleep) for name in names}, as_json=as_json)


def _restored(step: Restore, name: str, wait: Callable[[float], None]) -> Told:
    try:
        with progress(f"restoring {name}", 0, unit="documents") as show:
            report = step(name, show, wait=wait)
    except KeyboardInterrupt:
        note("stopped; the same command goes on where it was")
        raise
    return Told(_lines(report), {each: value for each, value in asdict(report).items() if each != "tenant"})


def _lines(report: RestoreReport) -> list[str]:
    failed = ", ".join(f"{count} {code}" for code, count in sorted(report.failed.items()))
    lines = ["the tenant is created again"] if report.created else []
    lines += [
        f"{report.indexed} documents indexed, {report.staged} waiting in stages, {report.deleted} deleted",
        f"{sum(report.failed.values())} failed{': ' if failed else ''}{failed}",
        f"{report.embedded} chunks embedded, {report.reused} with kept vectors",
    ]
    if not report.keys:
        lines.append(f"it has no API keys: ragdrop key create {report.tenant} --role admin")
    return lines
