"""The steps of `ragdrop reindex`, each for one tenant, and what it tells of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragdrop.domain.tenants import ActiveIndex, Tenant
from ragdrop_cli.deployment import Deployment, packages
from ragdrop_cli.output import note
from ragdrop_cli.progress import progress


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a step: lines for people, fields for `--json`."""

    lines: list[str]
    fields: dict[str, Any] = field(default_factory=dict)


Step = Callable[[Deployment, Tenant], Told]


def build(wanted: ActiveIndex, *, anew: bool = False) -> Step:
    """The step that brings a tenant to an index of the same make as *wanted*; its name is chosen for each tenant.

    *anew* builds also where the tenant's index is as wanted.
    """

    def step(deployment: Deployment, tenant: Tenant) -> Told:
        now = tenant.active
        if not anew and tenant.building is None and now.make == wanted.make:
            # asked here too: one that was just switched is not in the way of a command that goes on with the others
            return Told([f"{now.name} is as wanted already"], {"changed": False, "index": now.name})
        command = f"ragdrop reindex --tenant {tenant.name}"
        with packages():
            move = deployment.reindex
        try:
            with progress(f"reindexing {tenant.name}", tenant.documents, unit="documents") as show:
                report = move.run(tenant.name, wanted, show, anew=anew)
        except KeyboardInterrupt:
            note(f"stopped; the same command goes on where it was, {command} --abort gives the new index up")
            raise
        if report is None:
            return Told([f"{now.name} is as wanted already"], {"changed": False, "index": now.name})
        lines = [
            f"{report.to_index} answers now, {report.from_index} is kept",
            f"{report.documents} documents in {report.chunks} chunks, {report.copied} copied",
            f"to go back: {command} --rollback",
            f"to drop the old index: {command} --drop-old",
        ]
        counts = {"documents": report.documents, "chunks": report.chunks, "copied": report.copied}
        return Told(lines, {"changed": True, "index": report.to_index, "previous": report.from_index, **counts})

    return step


def roll_back(deployment: Deployment, tenant: Tenant) -> Told:
    """Let the index before the last switch answer again."""
    after = deployment.reindex.rollback(tenant.name)
    left = after.previous.name if after.previous else tenant.active.name
    lines = [
        f"{after.active.name} answers again, {left} is kept",
        f"to drop the other index: ragdrop reindex --tenant {tenant.name} --drop-old",
    ]
    return Told(lines, {"index": after.active.name, "previous": left})


def drop_old_index(deployment: Deployment, tenant: Tenant) -> Told:
    """Remove the index before the last switch."""
    removed = deployment.reindex.drop_previous(tenant.name)
    old = tenant.previous.name if tenant.previous else None
    return Told([f"{old} is removed, {removed} chunks"], {"dropped": old, "chunks_removed": removed})


def give_up(deployment: Deployment, tenant: Tenant) -> Told:
    """Remove the index that is being built."""
    removed = deployment.reindex.abort(tenant.name)
    new = tenant.building.name if tenant.building else None
    lines = [f"{new} is given up, {removed} chunks removed; {tenant.active.name} goes on answering"]
    return Told(lines, {"dropped": new, "chunks_removed": removed})
