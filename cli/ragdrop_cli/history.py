"""`ragdrop history`, `rollback`, `stages`, `promote` and `discard`: what changed, and changes that wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.client.replies import Reply
from ragdrop_cli.options import AllowMassDelete, AsJson, AsObject, TimeoutS, Yes, as_rfc3339, split_name
from ragdrop_cli.output import FAILED, STATUS_STYLES, note, progress, say, say_body, say_table
from ragdrop_cli.pushing import PushOutcome, confirm_deletion, wait_for
from ragdrop_cli.session import Session, session_of

POLL_S = 2.0
PAGE = 100

Place = Annotated[str, typer.Argument(metavar="VAULT[/PATH]", help="A document, or a vault for all of its changes.")]
Changes = Annotated[bool, typer.Option("--changes", help="Show the passages that each version changed.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="For a vault: yesterday, 2h ago, a date, or a time of RFC 3339.", show_default="all"),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1_000, help="Versions or changes shown.")]


def history(
    context: typer.Context,
    place: Place,
    *,
    changes: Changes = False,
    since: Since = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Show the versions of a document, or the changes of a vault, the newest first, and which key made them.

    Versions go back 30 days, as far as replaced and deleted ones are stored.
    """
    session = session_of(context)
    with session.client() as client:
        if "/" not in place:
            _show_changes(client, place, as_rfc3339(session, since, day="start"), limit, as_json=as_json)
            return
        reply = client.history(*split_name(place), changes=changes, limit=min(limit, PAGE))
    if as_json:
        say_body(reply.raw)
        return
    names = ("status", "modified_at", "written_by", "size_bytes", "version_id", "change_id")
    rows = [["" if each[name] is None else each[name] for name in names] for each in reply["versions"]]
    say_table(["status", "at", "by", "bytes", "version", "change"], rows)
    for each in reply["versions"] if changes else ():
        _show_passages(each)
    if reply["cursor"]:
        note(f"there are older versions: --limit {limit * 2}")


def follow(session: Session, vault: str, *, since: str | None, as_json: bool) -> None:
    """Print each change of a vault as it happens, from now on or from *since*, without end."""
    since = as_rfc3339(session, since, day="start")
    with session.client() as client:
        cursor = None if since is not None else client.changes(vault, limit=1, newest_first=True)["cursor"]
        while True:
            page = client.changes(vault, since=since if not cursor else None, cursor=cursor or None, limit=PAGE)
            cursor = page["cursor"]
            _say_page(page, as_json=as_json)
            if not page["more"]:
                since = None
                session.sleep(POLL_S)


def _show_changes(client: RagdropClient, vault: str, since: str | None, limit: int, *, as_json: bool) -> None:
    page = client.changes(vault, since=since, limit=limit, newest_first=True)
    if as_json:
        say_body(page.raw)
        return
    _say_page(page, as_json=False)
    if page["more"]:
        note(f"there are older changes: --limit {limit * 2}")


def _say_page(page: Reply, *, as_json: bool) -> None:
    if as_json:
        if page["changes"]:
            say_body(page.raw)
        return
    for each in page["changes"]:
        by = f" by {each['written_by']}" if each["written_by"] else ""
        say(f"{each['at']}  {each['kind']:<9}  {each['vault']}/{each['path']}{by}  {each['id']}")


def _show_passages(version: Mapping[str, Any]) -> None:
    say(f"{version['modified_at']}  {version['status']}", style=STATUS_STYLES.get(str(version["status"]), ""))
    for sign, name, style in (("-", "removed", "red"), ("+", "added", "green")):
        for passage in version.get(name) or ():
            say(f"{sign} {passage}", style=style, indent=2)
    if version.get("cut"):
        note("there are more or longer passages than are shown")


WORDS = {"restore": "put back", "delete": "deleted", "done": "so already", "lost": "not stored any more"}

RollbackPlace = Annotated[
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


def rollback(
    context: typer.Context,
    place: RollbackPlace,
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
        _show_rollback(plan, counts, vault, dry_run=dry_run)
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


def _show_rollback(steps: list[dict[str, Any]], counts: dict[str, int], vault: str, *, dry_run: bool) -> None:
    rows = [[step["action"], step["path"], step["version_id"] or ""] for step in steps if step["action"] != "done"]
    say_table(["action", "document", "version of then"], rows)
    shown = ", ".join(f"{count} {WORDS[action]}" for action, count in counts.items() if count)
    say(f"vault {vault}: {shown or 'nothing changed since'}{' (dry run: nothing was done)' if dry_run else ''}")


StagedVault = Annotated[str, typer.Argument(metavar="VAULT", help="The vault.", show_default=False)]
StagedName = Annotated[str, typer.Argument(metavar="STAGE", help="The stage, as `ragdrop stages` shows it.")]


def stages(context: typer.Context, vault: StagedVault, *, as_json: AsJson = False) -> None:
    """List the stages of a vault with what waits in them."""
    with session_of(context).client() as client:
        reply = client.stages(vault)
    if as_json:
        say_body(reply.raw)
        return
    rows = [
        [
            each["name"],
            each["total"],
            each["pending"],
            "yes" if each["promoted"] else "",
            ", ".join(each["waiting"][:5]),
        ]
        for each in reply["stages"]
    ]
    say_table(["stage", "documents", "pending", "promoted", "first"], rows)


def promote(context: typer.Context, vault: StagedVault, name: StagedName, *, as_json: AsJson = False) -> None:
    """Make all that waits in a stage live at one moment; refused where golden questions of the vault do not pass."""
    with session_of(context).client() as client:
        reply = client.promote_stage(vault, name)
    if as_json:
        say_body(reply.raw)
        return
    _say_checks(reply)
    say(f"{reply['total']} documents of stage {name} are live in vault {vault}")


def discard(context: typer.Context, vault: StagedVault, name: StagedName, *, as_json: AsJson = False) -> None:
    """Remove what waits in a stage; what is live stays as it is."""
    with session_of(context).client() as client:
        reply = client.discard_stage(vault, name)
    if as_json:
        say_body(reply.raw)
    else:
        say(f"{reply['total']} documents of stage {name} are discarded in vault {vault}")


def _say_checks(reply: Reply) -> None:
    for each in reply["checks"]:
        change = {(True, False): "worse", (False, True): "better"}.get((each["live"], each["staged"]), "same")
        say(f"{change:<6}  {each['question']}", indent=2)
