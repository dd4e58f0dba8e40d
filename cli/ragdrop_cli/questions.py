"""`ragdrop search` and `ragdrop ask`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ragdrop_cli.answers import show_answer, show_results
from ragdrop_cli.options import AsJson, ManyVaults
from ragdrop_cli.output import say_reply
from ragdrop_cli.session import session_of, vault_list

Query = Annotated[str, typer.Argument(help="What to look for, in plain words.", show_default=False)]
Limit = Annotated[
    int | None, typer.Option("--limit", help="How many documents, 1 to 20.", show_default="the service chooses")
]


def search(
    context: typer.Context, query: Query, vault: ManyVaults = None, limit: Limit = None, *, as_json: AsJson = False
) -> None:
    """Find documents and show where the matching text stands."""
    fields: dict[str, Any] = {"vaults": vault_list(vault), "limit": limit}
    with session_of(context).client() as client:
        reply = client.search(query, **fields)
    if as_json:
        say_reply(reply)
    else:
        show_results(reply)


def ask(
    context: typer.Context, query: Query, vault: ManyVaults = None, limit: Limit = None, *, as_json: AsJson = False
) -> None:
    """Answer a question from the documents, with a footnote for every source."""
    fields: dict[str, Any] = {"vaults": vault_list(vault), "limit": limit}
    with session_of(context).client() as client:
        reply = client.ask(query, **fields)
    if as_json:
        say_reply(reply)
    else:
        show_answer(reply)
