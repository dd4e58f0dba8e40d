"""`ragdrop ls`, `show`, `table`, `rm` and `retry`: documents one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.client.replies import Reply
from ragdrop.errors import DocumentNotFoundError, RagdropError
from ragdrop_cli.folder_files import name_problem
from ragdrop_cli.options import AsJson, AsObject, split_name
from ragdrop_cli.output import FAILED, STATUS_STYLES, code_of, note, one_line, say, say_body, say_object, say_table
from ragdrop_cli.push import report
from ragdrop_cli.pushing import PushOutcome, failed, several
from ragdrop_cli.session import Session, packages, session_of

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
Unused = Annotated[bool, typer.Option("--unused", help="Only documents that no answer used for --days.")]
Days = Annotated[int, typer.Option("--days", min=1, max=3_650, help="What --unused looks back over.")]

BrokenLinks = Annotated[
    bool, typer.Option("--broken-links", help="Only documents with links that lead to no document, and which.")
]


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
        chosen = "failed" if failed else status
        unused_days = days if unused else None
        pages = client.documents(
            vault, prefix, chosen, outdated=outdated, unused_days=unused_days, broken_links=broken_links
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
                say_body(page.raw)
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
        say_body(reply.raw)
        return
    said = {field: value for field, value in reply.items() if value not in (None, "", [], {})}
    width = max(map(len, said), default=0)
    for field, value in said.items():
        say(f"{field:<{width}}  {value}", style=STATUS_STYLES.get(str(value), "") if field == "status" else "")


ReadName = Annotated[
    str | None, typer.Argument(metavar="[VAULT/PATH]", help="A document, as `ragdrop ls` shows it.", show_default=False)
]
As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        help="What a reader with `group:NAME` would see; can be repeated, `group:` is without any.",
        show_default=False,
    ),
]


def access(
    context: typer.Context, name: ReadName = None, as_: As = None, vault: OneVault = None, *, as_json: AsJson = False
) -> None:
    """Show who may read a document and by which rule, or what callers of some groups would see.  Role admin."""
    if (name is None) == (as_ is None):
        raise typer.BadParameter("give a document, or --as group:NAME")
    if wrong := [each for each in as_ or () if not each.startswith("group:")]:
        raise typer.BadParameter(f"--as {wrong[0]}: write group:NAME")
    with session_of(context).client() as client:
        if name is not None:
            _say_readers(client.get_document(*split_name(name)), as_json=as_json)
            return
        groups = [each.removeprefix("group:") for each in as_ or () if each != "group:"]
        rows: list[list[object]] = []
        for page in client.documents(vault, as_groups=groups):
            rows += [_row(record) for record in page.get("documents") or []]
            if as_json:
                say_body(page.raw)
    if not as_json:
        say_table(["status", "document", "title", "chunks", "problem"], rows)


def _say_readers(record: Reply, *, as_json: bool) -> None:
    if as_json:
        say_body(record.raw)
        return
    needs = record.get("access")
    if needs is None:
        note("who may read a document is shown to the role admin")
        raise typer.Exit(FAILED)
    for need in needs:
        groups = [group for group in need["groups"] if group != "*"]
        who = "everybody who may see the vault" if "*" in need["groups"] else ", ".join(groups) or "admins alone"
        say(f"{who}  ({need['by']})")
    if not needs:
        say("everybody who may see the vault  (no rule)")
    elif len(needs) > 1:
        note("a reader needs a group of each line")


Asked = Annotated[str | None, typer.Option("--query", help="What the tables are asked.", show_default="none")]


def table(context: typer.Context, name: Name, query: Asked = None, *, as_json: AsJson = False) -> None:
    """Show the tables of a document and their columns; with --query what they answer, and by which cells."""
    with session_of(context).client() as client:
        reply = client.tables(*split_name(name), query)
    if as_json:
        say_body(reply.raw)
    elif query is None:
        for each in reply["tables"]:
            say(f"{each['name']}  {each['range']}  {each['rows']} rows, {each['totals']} of totals", style="bold")
            rows = [[column["name"], column["kind"], column["unit"], column["unread"]] for column in each["columns"]]
            say_table(["column", "kind", "unit", "unread"], rows)
    elif (found := reply.get("answer")) is not None:
        say(found["value"], style="bold")
        say(f"{found['expression']}; {found['range']}; {found['rows_used']} of {found['rows_total']} rows")
        say(f"cells {one_line(', '.join(found['cells']))}", style="dim")
    else:
        say(f"No answer: {reply['reason']}")


LONGEST_PROBE = 1_000  # characters that a search takes
Purge = Annotated[
    bool, typer.Option("--purge", help="Remove all versions and all that was made of them: nothing can be restored.")
]
PLACES = {
    "versions": "object versions",
    "derived": "derived objects (text, vectors)",
    "chunks": "chunks",
    "registry_items": "registry items",
    "receipts": "receipts of answers",
}


def rm(context: typer.Context, name: Name, *, purge: Purge = False, as_json: AsJson = False) -> None:
    """Delete one document, look whether a search still finds it, and print the receipt.

    With --json the API's receipt is printed, and nothing is searched.
    """
    vault, path = split_name(name)
    with session_of(context).client() as client:
        title = None
        with suppress(DocumentNotFoundError):  # old versions may be there all the same, for a purge
            title = None if as_json else client.get_document(vault, path).get("title")
        receipt = client.delete_document(vault, path, purge=purge)
        if as_json:
            say_body(receipt.raw)
            return
        _say_receipt(receipt, name)
        _probe(client, vault, path, str(title or path.rpartition("/")[2])[:LONGEST_PROBE])


def _say_receipt(receipt: Mapping[str, Any], name: str) -> None:
    purged: Mapping[str, Any] = receipt.get("purged") or {}
    say(f"{'purged' if purged else 'deleted'} {receipt.get('key', name)}")
    for place, words in PLACES.items() if purged else ():
        say(f"{purged[place]} {words} removed", indent=2)
    if receipt.get("restorable_until"):
        say(f"it can be restored until {receipt['restorable_until']} (delete marker {receipt.get('version_id')})")
    removed = receipt.get("chunks_removed")
    if removed is None:
        say("its chunks are being removed; it is not found any more")
    elif not purged:
        say(f"{removed} chunks removed")


def _probe(client: RagdropClient, vault: str, path: str, title: str) -> None:
    """Search for the title. Raises typer.Exit with 1 where the document was found: it must not be."""
    try:
        found = client.search(title, vaults=[vault], limit=20)
    except RagdropError as error:  # the document is deleted all the same
        note(f"a search for {one_line(title, limit=80)!r} could not be made: {code_of(error)}")
        return
    results = found.get("results") or []
    if any((result.get("vault"), result.get("path")) == (vault, path) for result in results):
        note(f"a search for {one_line(title, limit=80)!r} still finds it: tell your operator")
        raise typer.Exit(FAILED)
    say(f"a search for {one_line(title, limit=80)!r} does not find it")


Names = Annotated[
    list[str] | None, typer.Argument(metavar="[VAULT/PATH]...", help="Documents to try again.", show_default=False)
]
AllFailed = Annotated[bool, typer.Option("--failed", help="Every document whose status is failed.")]
DeadLetter = Annotated[
    bool, typer.Option("--dead-letter", help="Every message of the dead-letter queue (operator, AWS credentials).")
]
MAX_MOVES = 100_000  # messages at a time: what dies again at once would otherwise be moved for ever


def retry(
    context: typer.Context,
    name: Names = None,
    vault: OneVault = None,
    *,
    all_failed: AllFailed = False,
    dead_letter: DeadLetter = False,
    as_json: AsObject = False,
) -> None:
    """Try documents again: by name, all that failed, or all that the dead-letter queue holds.

    With --json one object a document is printed, one a line; for the dead-letter queue one in all.
    """
    if bool(name) + all_failed + dead_letter != 1:
        raise typer.BadParameter("give documents, or --failed, or --dead-letter")
    session = session_of(context)
    if dead_letter:
        moved = _redrive(session)
        say_object({"moved": moved}) if as_json else say(f"{moved} messages moved back to the queue")
        return
    with session.client() as client:
        pairs = [split_name(each) for each in name] if name else _failed(client, vault)
        outcomes = several(lambda pair: _retry(client, *pair), pairs)
    what = f"{'document' if len(outcomes) == 1 else 'documents'} tried again"
    report(outcomes, what, as_json=as_json)


def _failed(client: RagdropClient, vault: str | None) -> Sequence[tuple[str, str]]:
    pages = list(client.documents(vault, None, "failed", page_size=1_000))
    found = [(str(each["vault"]), str(each["path"])) for page in pages for each in page.get("documents") or []]
    return [(vault, path) for vault, path in found if name_problem(path) is None]  # no try makes another name of it


def _retry(client: RagdropClient, vault: str, path: str) -> PushOutcome:
    try:
        return PushOutcome(f"{vault}/{path}", client.retry_document(vault, path))
    except RagdropError as error:
        return failed(f"{vault}/{path}", error)


def _redrive(session: Session) -> int:
    deployment = session.deployment()
    with packages():
        queue = deployment.queue
    moved = 0
    while moved < MAX_MOVES and (some := queue.redrive()):
        moved += some
    return moved
