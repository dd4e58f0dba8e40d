"""`ragdrop rm`: delete a document, or all that is kept of it, and show that it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ragdrop.client import RagdropClient
from ragdrop.errors import DocumentNotFoundError, RagdropError
from ragdrop_cli.documents import Name, split_name
from ragdrop_cli.failures import FAILED, code_of
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import note, one_line, say, say_reply
from ragdrop_cli.session import session_of

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
        title = "" if as_json else _title(client, vault, path)
        receipt = client.delete_document(vault, path, purge=purge)
        if as_json:
            say_reply(receipt)
            return
        _say_receipt(receipt, name)
        _probe(client, vault, path, title)


def _title(client: RagdropClient, vault: str, path: str) -> str:
    """What to search for: the document's title, or its name."""
    try:
        title = client.get_document(vault, path).get("title")
    except DocumentNotFoundError:  # old versions may be there all the same, for a purge
        title = None
    return str(title or path.rpartition("/")[2])[:LONGEST_PROBE]


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
    """Search for the title.

    Raises:
        typer.Exit: With 1 where the document was found: it must not be.
    """
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
