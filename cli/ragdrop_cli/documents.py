"""`ragdrop ls` and `ragdrop show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragdrop_cli.options import AsJson
from ragdrop_cli.output import say, say_reply, say_table, status_style
from ragdrop_cli.session import session_of

Name = Annotated[
    str, typer.Argument(metavar="VAULT/PATH", help="A document, as `ragdrop ls` shows it.", show_default=False)
]
OneVault = Annotated[str | None, typer.Option("--vault", help="Only this vault.", show_default="all")]
Prefix = Annotated[str | None, typer.Option("--prefix", help="Only paths that begin so.", show_default="all")]
Status = Annotated[
    str | None, typer.Option("--status", help="pending, staged, indexed, failed or deleted.", show_default="all")
]
Failed = Annotated[bool, typer.Option("--failed", help="The same as --status failed.")]
Outdated = Annotated[
    bool,
    typer.Option(
        "--outdated", help="Only documents chunked by older settings; `ragdrop reindex --outdated` brings them along."
    ),
]
Unused = Annotated[bool, typer.Option("--unused", help="Only documents that no answer held for --days.")]
Days = Annotated[int, typer.Option("--days", min=1, max=3_650, help="What --unused looks back over.")]

BrokenLinks = Annotated[
    bool, typer.Option("--broken-links", help="Only documents with links that lead to no document, and which.")
]


def split_name(name: str) -> tuple[str, str]:
    """Vault and path of `VAULT/PATH`.

    Raises:
        typer.BadParameter: There is no path.

    >>> split_name("team/notes/a.md")
    ('team', 'notes/a.md')
    """
    vault, _, path = name.partition("/")
    if not vault or not path:
        raise typer.BadParameter(f"{name!r} is not VAULT/PATH, for example team/notes/pump.md")
    return vault, path


def ls(
    context: typer.Context,
    vault: OneVault = None,
    prefix: Prefix = None,
    status: Status = None,
    *,
    failed: Failed = False,
    outdated: Outdated = False,
    unused: Unused = False,
    days: Days = 30,
    broken_links: BrokenLinks = False,
    as_json: AsJson = False,
) -> None:
    """List documents with their status; with --json one body a page, one page a line."""
    if failed and status not in {None, "failed"}:
        raise typer.BadParameter(f"--failed and --status {status} contradict each other")
    rows: list[list[object]] = []
    with session_of(context).client() as client:
        wanted = "failed" if failed else status
        unused_days = days if unused else None
        pages = client.documents(
            vault, prefix, wanted, outdated=outdated, unused_days=unused_days, broken_links=broken_links
        )
        for page in pages:
            found = page.get("documents") or []
            if broken_links:
                for record in found:
                    name = str(record.get("vault")), str(record.get("path"))
                    record["broken_links"] = client.get_document(*name).get("broken_links") or []
                    rows += [["/".join(name), link] for link in record["broken_links"]]
            else:
                rows += [_row(record) for record in found]
            if as_json:
                say_reply(page)
    if not as_json and broken_links:
        say_table(["document", "broken link"], rows)
    elif not as_json:
        say_table(["status", "document", "title", "chunks", "problem"], rows)


def _row(record: Mapping[str, Any]) -> list[object]:
    error = record.get("error") or {}
    problem = f"{error.get('code')}: {error.get('message')}" if error else ""
    name = f"{record.get('vault')}/{record.get('path')}".removeprefix("/")  # a tenant's own settings have no vault
    chunks = record.get("chunk_count")
    return [record.get("status"), name, record.get("title") or "", "" if chunks is None else chunks, problem]


def show(context: typer.Context, name: Name, *, as_json: AsJson = False) -> None:
    """Show the record of one document."""
    vault, path = split_name(name)
    with session_of(context).client() as client:
        reply = client.get_document(vault, path)
    if as_json:
        say_reply(reply)
        return
    said = {field: value for field, value in reply.items() if value not in (None, "", [], {})}
    width = max(map(len, said), default=0)
    for field, value in said.items():
        say(f"{field:<{width}}  {value}", style=status_style(value) if field == "status" else "")
