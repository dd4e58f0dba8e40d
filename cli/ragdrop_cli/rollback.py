"""`ragdrop rollback`: documents back to what they were at a time, or after a change."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop_cli.failures import FAILED
from ragdrop_cli.mirroring import confirm_deletion
from ragdrop_cli.options import AsObject, as_rfc3339
from ragdrop_cli.output import say, say_table
from ragdrop_cli.progress import progress
from ragdrop_cli.push import TimeoutS, wait_for
from ragdrop_cli.pushing import PushOutcome
from ragdrop_cli.session import session_of

WORDS = {"restore": "put back", "delete": "deleted", "done": "so already", "lost": "not kept any more"}

Place = Annotated[
    str, typer.Argument(metavar="VAULT[/PREFIX]", help="A vault, or paths of it that begin so.", show_default=False)
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        help="Yesterday, 2h ago, a date or a time of RFC 3339 within 30 days; or the id of the last change that stays.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the versions put back answer.")]
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
    wait: Wait = False,
    timeout_s: TimeoutS = 120.0,
    as_json: AsObject = False,
) -> None:
    """Put the versions of then back as new versions, and delete what was not there; ends with 1 where one is lost.

    Nothing is rewritten or embedded again, and the rollback can itself be rolled back.  Cut off, the same command
    continues where it was.  Settings files stay as they are.
    """
    vault, _, prefix = place.partition("/")
    session = session_of(context)
    asked: dict[str, Any] = {"to": as_rfc3339(session, to), "prefix": prefix}
    outcomes: list[PushOutcome] = []
    with session.client() as client:
        plan = _steps(client, vault, {**asked, "dry_run": True})
        gone = [step["path"] for step in plan if step["action"] == "delete"]
        if not dry_run:
            confirm_deletion(gone, vault, yes=yes or allow_mass_delete)
            plan = _steps(client, vault, {**asked, "allow_mass_delete": allow_mass_delete})
            restored = [step for step in plan if step["action"] == "restore"] if wait else []
            outcomes = [
                PushOutcome.known(vault, each["path"], {"version_id": each["new_version_id"]}) for each in restored
            ]
            if outcomes:
                outcomes = wait_for(session, client, vault, outcomes, timeout_s=timeout_s, whole=False)
    counts = {action: sum(1 for step in plan if step["action"] == action) for action in WORDS}
    if as_json:
        say(json.dumps({"vault": vault, "to": to, "dry_run": dry_run, "counts": counts, "steps": plan}))
    else:
        _show(plan, counts, vault, dry_run=dry_run)
    failed = [[outcome.path, *outcome.problem] for outcome in outcomes if outcome.problem]
    if failed:
        say_table(["document", "code", "problem"], failed, error=True)
    if counts["lost"] or failed:
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


def _show(steps: list[dict[str, Any]], counts: dict[str, int], vault: str, *, dry_run: bool) -> None:
    rows = [[step["action"], step["path"], step["version_id"] or ""] for step in steps if step["action"] != "done"]
    say_table(["action", "document", "version of then"], rows)
    told = ", ".join(f"{count} {WORDS[action]}" for action, count in counts.items() if count)
    say(f"vault {vault}: {told or 'nothing changed since'}{' (dry run: nothing was done)' if dry_run else ''}")
