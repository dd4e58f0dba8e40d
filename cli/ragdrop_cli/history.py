"""`ragdrop history`: what changed, when, and by whom; and following a vault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.client.replies import Reply
from ragdrop_cli.documents import split_name
from ragdrop_cli.options import AsJson, as_rfc3339
from ragdrop_cli.output import note, say, say_reply, say_table, status_style
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

    Versions go back 30 days, as far as replaced and deleted ones are kept.
    """
    session = session_of(context)
    with session.client() as client:
        if "/" not in place:
            _show_changes(client, place, as_rfc3339(session, since, day="start"), limit, as_json=as_json)
            return
        reply = client.history(*split_name(place), changes=changes, limit=min(limit, PAGE))
    if as_json:
        say_reply(reply)
        return
    rows = [
        [
            each["status"],
            each["modified_at"],
            each["written_by"] or "",
            "" if each["size_bytes"] is None else each["size_bytes"],
            each["version_id"] or "",
            each["change_id"] or "",
        ]
        for each in reply["versions"]
    ]
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
            for page in _pages(client, vault, since, cursor):
                cursor = page["cursor"]
                _say_page(page, as_json=as_json)
            since = None
            session.sleep(POLL_S)


def _pages(client: RagdropClient, vault: str, since: str | None, cursor: str | None) -> Iterator[Reply]:
    """Changes page by page, until none is left."""
    while True:
        page = client.changes(vault, since=since if not cursor else None, cursor=cursor or None, limit=PAGE)
        yield page
        cursor = page["cursor"]
        if not page["more"]:
            return


def _show_changes(client: RagdropClient, vault: str, since: str | None, limit: int, *, as_json: bool) -> None:
    page = client.changes(vault, since=since, limit=limit, newest_first=True)
    if as_json:
        say_reply(page)
        return
    _say_page(page, as_json=False)
    if page["more"]:
        note(f"there are older changes: --limit {limit * 2}")


def _say_page(page: Reply, *, as_json: bool) -> None:
    if as_json:
        if page["changes"]:
            say_reply(page)
        return
    for each in page["changes"]:
        by = f" by {each['written_by']}" if each["written_by"] else ""
        say(f"{each['at']}  {each['kind']:<9}  {each['vault']}/{each['path']}{by}  {each['id']}")


def _show_passages(version: Mapping[str, Any]) -> None:
    say(f"{version['modified_at']}  {version['status']}", style=status_style(version["status"]))
    for sign, name, style in (("-", "removed", "red"), ("+", "added", "green")):
        for passage in version.get(name) or ():
            say(f"{sign} {passage}", style=style, indent=2)
    if version.get("cut"):
        note("there are more or longer passages than are shown")
