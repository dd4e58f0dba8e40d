"""`ragdrop rollback`: documents back to what they were at a time, or after a change."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop_cli.failures import FAILED, USAGE
from ragdrop_cli.options import AsObject
from ragdrop_cli.output import note, say, say_table
from ragdrop_cli.progress import progress
from ragdrop_cli.session import session_of

SHOWN = 20
WORDS = {"restore": "put back", "delete": "deleted", "done": "so already", "lost": "not kept any more"}

Place = Annotated[
    str, typer.Argument(metavar="VAULT[/PREFIX]", help="A vault, or paths of it that begin so.", show_default=False)
]
To = Annotated[
    str, typer.Option("--to", help="A time of RFC 3339 within 30 days, or the id of the last change that stays.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before deleting.")]
AllowMassDelete = Annotated[
    bool, typer.Option("--allow-mass-delete", help="Accept that over 20 % and over 20 documents are deleted.")
]


def rollback(
    context: typer.Context,
    place: Place,
    *,
    to: To,
    dry_run: DryRun = False,
    yes: Yes = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsObject = False,
) -> None:
    """Put the versions of then back as new versions, and delete what was not there; ends with 1 where one is lost.

    Nothing is rewritten or embedded again, and the rollback can itself be rolled back.  Cut off, the same command goes
    on where it was.  Settings files stay as they are.
    """
    vault, _, prefix = place.partition("/")
    asked: dict[str, Any] = {"to": to, "prefix": prefix}
    with session_of(context).client() as client:
        plan = _steps(client, vault, {**asked, "dry_run": True})
        gone = [step["path"] for step in plan if step["action"] == "delete"]
        if not dry_run:
            _may_delete(gone, vault, yes=yes or allow_mass_delete)
            plan = _steps(client, vault, {**asked, "allow_mass_delete": allow_mass_delete})
    counts = {action: sum(1 for step in plan if step["action"] == action) for action in WORDS}
    if as_json:
        say(json.dumps({"vault": vault, "to": to, "dry_run": dry_run, "counts": counts, "steps": plan}))
    else:
        _show(plan, counts, vault, dry_run=dry_run)
    if counts["lost"]:
        raise typer.Exit(FAILED)


def _steps(client: RagdropClient, vault: str, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """All steps, part by part."""
    steps: list[dict[str, Any]] = []
    cursor: str | None = None
    with progress("looking" if asked.get("dry_run") else "rolling back", 1) as show:
        while True:
            part = client.roll_back(vault, cursor=cursor, **asked)
            steps += part["steps"]
            show(len(steps), max(part["total"], 1))
            cursor = part["cursor"]
            if cursor is None:
                return steps


def _may_delete(gone: list[str], vault: str, *, yes: bool) -> None:
    """Return if *gone* may be deleted.

    Raises:
        typer.Exit: With 1 where the answer was no; with 2 where nobody can be asked.
    """
    if not gone or yes:
        return
    if not sys.stdin.isatty():
        note(f"{len(gone)} documents of vault {vault} would be deleted; nothing was done: --yes says that they may")
        raise typer.Exit(USAGE)
    for path in gone[:SHOWN]:
        note(f"  {path}")
    if not typer.confirm(f"delete these {len(gone)} documents of vault {vault}?", err=True):
        raise typer.Exit(FAILED)


def _show(steps: list[dict[str, Any]], counts: dict[str, int], vault: str, *, dry_run: bool) -> None:
    rows = [[step["action"], step["path"], step["version_id"] or ""] for step in steps if step["action"] != "done"]
    say_table(["action", "document", "version of then"], rows)
    told = ", ".join(f"{count} {WORDS[action]}" for action, count in counts.items() if count)
    say(f"vault {vault}: {told or 'nothing changed since'}{' (dry run: nothing was done)' if dry_run else ''}")
