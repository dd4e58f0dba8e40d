"""`ragdrop watch`: follow the changes of a vault, or keep a vault equal to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragdrop_cli.history import Since, follow
from ragdrop_cli.options import AsJson
from ragdrop_cli.push import AllowMassDelete, Yes
from ragdrop_cli.session import session_of
from ragdrop_cli.sync import EveryS, Looks, sync

What = Annotated[str, typer.Argument(metavar="VAULT|DIR", help="A vault to follow; with --vault a folder to send.")]
Into = Annotated[
    str | None, typer.Option("--vault", help="Keep this vault equal to the folder DIR.", show_default="follow VAULT")
]


def watch(
    context: typer.Context,
    what: What,
    *,
    vault: Into = None,
    since: Since = None,
    every_s: EveryS = 2.0,
    looks: Looks = 0,
    yes: Yes = False,
    allow_mass_delete: AllowMassDelete = False,
    as_json: AsJson = False,
) -> None:
    """Follow a vault, or keep a vault equal to a folder, until Ctrl-C.

    `ragdrop watch VAULT` prints each change of the vault as it happens, from now on or from --since.

    `ragdrop watch DIR --vault VAULT` sends what changes in the folder and deletes what goes.  It keeps no file of its
    own: at its start it compares the folder with the vault, so it may be ended and started at any time.  It compares
    again in its first minutes, as what an ended process sent last may appear late.  What the vault has and the folder
    has not is deleted at the start too, after it has asked or with --yes.  A file is sent once two
    looks in a row find it the same.  Where over 20 % and over 20 documents vanish at once, nothing is deleted until
    they are back, or without end with --allow-mass-delete.

    With --json each change is printed as one object a line.
    """
    if vault is None:
        follow(session_of(context), what, since=since, as_json=as_json)
        return
    folder = Path(what)
    if not folder.is_dir():
        raise typer.BadParameter(f"{what} is no folder; without --vault it names a vault to follow")
    if since is not None:
        raise typer.BadParameter("--since goes with a vault to follow, not with a folder")
    sync(
        session_of(context),
        folder,
        vault,
        every_s=every_s,
        looks=looks,
        yes=yes,
        allow_mass_delete=allow_mass_delete,
        as_json=as_json,
    )
