"""`ragdrop snapshot`: write what answers for tenants while the index is down."""

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
    from ragdrop.operate.write_snapshot import WrittenSnapshot

LONGEST_S = 3_600.0
Full = Annotated[bool, typer.Option("--full", help="Write it again instead of changing the last one.")]


def snapshot(
    context: typer.Context, tenant: TenantNames = None, *, full: Full = False, as_json: AsObject = False
) -> None:
    """Write the snapshot that answers while the index is down (operator); the hourly sweep does the same.

    It is built from the state bucket, never from the index, and begins with the last one, so that only what changed is
    read.  A tenant that did not change keeps its own, unless --full is given.

    With --json one object a tenant is printed, one a line.
    """
    deployment = session_of(context).deployment()
    tenants = named(deployment, tenant)
    if not tenants:
        note("there is no tenant to do that for")
    each_in_turn(deployment, tenants, _write(full=full), as_json=as_json)


def _write(*, full: bool) -> Step:
    """The step that writes a tenant's snapshot."""

    def step(deployment: Deployment, tenant: Tenant) -> Told:
        with packages():
            writer = deployment.write_snapshot
        if not full and not writer.is_due(tenant):
            return Told(["nothing changed since the last snapshot"], {"changed": False})
        with progress(f"snapshot of {tenant.name}", tenant.documents, unit="documents") as show:
            done = writer(tenant.name, Deadline.after(LONGEST_S), anew=full, progress=show)
        return _told(done)

    return step


def _told(done: WrittenSnapshot) -> Told:
    made = done.snapshot
    size = f"{made.size_bytes / 1e6:.1f} MB, {made.packed_bytes / 1e6:.1f} MB compressed"
    change = f"{done.added} added" if done.anew else f"{done.added} added, {done.removed} removed"
    lines = [f"{made.chunks} chunks of {made.documents} documents, {change}; {size}"]
    if made.coverage < 1.0:
        lines.append(f"{made.coverage:.0%} of the tenant's chunks: critical, important and the latest documents first")
    fields = {"changed": True, "added": done.added, "removed": done.removed, "anew": done.anew}
    return Told(lines, {**fields, "coverage": round(made.coverage, 4), **asdict(made)})
