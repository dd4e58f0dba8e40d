"""`ragdrop restore`: registry and index again, from what the document bucket holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import typer

from ragdrop_cli.deployment import Restorer, packages
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note
from ragdrop_cli.progress import progress
from ragdrop_cli.reindex import TenantNames, in_turn
from ragdrop_cli.reindexing import Told
from ragdrop_cli.session import session_of

if TYPE_CHECKING:
    from ragdrop.operate.restore import RestoreReport


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


def _restored(step: Restorer, name: str, wait: Callable[[float], None]) -> Told:
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
