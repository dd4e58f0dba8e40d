"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

JSON_WANTED = "ragdrop_cli.json_wanted"  # in the context's `meta`, which a command shares with the root


def _remember(context: typer.Context, wanted: bool) -> bool:  # noqa: FBT001 -- Typer calls it with the option's value
    context.meta[JSON_WANTED] = wanted
    return wanted


AsJson = Annotated[
    bool, typer.Option("--json", callback=_remember, help="Print the API's body unchanged, an error's too.")
]
AsObject = Annotated[
    bool, typer.Option("--json", callback=_remember, help="Print one JSON object on one line, for an error too.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", help="What the documents said then: a time of RFC 3339 within 30 days.", show_default="now"
    ),
]
InStage = Annotated[
    str | None, typer.Option("--stage", help="Answer as if this stage were promoted.", show_default="live")
]
ManyVaults = Annotated[
    list[str] | None, typer.Option("--vault", help="Only this vault; may be given several times.", show_default="all")
]
