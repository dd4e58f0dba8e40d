"""`ragdrop tenant delete`: the end of a tenant, with a receipt."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragdrop.domain.deadlines import Deadline
from ragdrop_cli.deployment import packages
from ragdrop_cli.failures import USAGE
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_object
from ragdrop_cli.session import session_of
from ragdrop_cli.tenants import TenantName

LONGEST_S = 24 * 3_600.0
Yes = Annotated[bool, typer.Option("--yes", help="Do it: nothing can be restored.")]
PLACES = {
    "versions": "object versions (documents, settings files, delete markers)",
    "derived": "derived objects (texts, vectors, segments, notes)",
    "chunks": "chunks",
    "documents": "documents in the registry",
    "registry_items": "registry items (theirs, the tenant's, its keys)",
    "receipts": "receipts of answers",
    "telemetry": "items of telemetry (counts, cached vectors of questions)",
}


def delete(context: typer.Context, name: TenantName, *, yes: Yes = False, as_json: AsObject = False) -> None:
    """Remove a tenant and all that is kept of it: documents with all versions, what was made of them, keys, receipts.

    It is disabled first, and what ingest has begun may end: that takes a minute, unless it was disabled before.  Cut
    off, the same command goes on.
    """
    session = session_of(context)
    if not yes:
        note(f"tenant {name} would be removed with all its documents and their versions; nothing could be restored")
        note(f"next: ragdrop tenant delete {name} --yes")
        raise typer.Exit(USAGE)
    with packages():
        step = session.deployment().delete_tenant

    def wait(seconds: float) -> None:
        note(f"tenant {name} is disabled; waiting {seconds:.0f} s for what is on its way")
        session.sleep(seconds)

    receipt = asdict(step(name, Deadline.after(LONGEST_S), wait=wait))
    if as_json:
        say_object(receipt)
        return
    say(f"tenant {name} is deleted")
    for place, words in PLACES.items():
        say(f"{receipt[place]} {words} removed", indent=2)
    note("lists of followed links expire within an hour; logs within 30 days: they hold no text of documents")
