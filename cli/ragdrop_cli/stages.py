"""`ragdrop stages`, `ragdrop promote` and `ragdrop discard`: changes that wait."""

from __future__ import annotations

from typing import Annotated

import typer

from ragdrop.client.replies import Reply
from ragdrop_cli.options import AsJson
from ragdrop_cli.output import say, say_reply, say_table
from ragdrop_cli.session import session_of

SHOWN = 5  # paths of each stage

Vault = Annotated[str, typer.Argument(metavar="VAULT", help="The vault.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="STAGE", help="The stage, as `ragdrop stages` shows it.")]


def stages(context: typer.Context, vault: Vault, *, as_json: AsJson = False) -> None:
    """List the stages of a vault with what waits in them."""
    with session_of(context).client() as client:
        reply = client.stages(vault)
    if as_json:
        say_reply(reply)
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


def promote(context: typer.Context, vault: Vault, name: Name, *, as_json: AsJson = False) -> None:
    """Make all that waits in a stage live at one moment; refused where golden questions of the vault do not pass."""
    with session_of(context).client() as client:
        reply = client.promote_stage(vault, name)
    if as_json:
        say_reply(reply)
        return
    _say_checks(reply)
    say(f"{reply['total']} documents of stage {name} are live in vault {vault}")


def discard(context: typer.Context, vault: Vault, name: Name, *, as_json: AsJson = False) -> None:
    """Remove what waits in a stage; what is live stays as it is."""
    with session_of(context).client() as client:
        reply = client.discard_stage(vault, name)
    if as_json:
        say_reply(reply)
    else:
        say(f"{reply['total']} documents of stage {name} are discarded in vault {vault}")


def _say_checks(reply: Reply) -> None:
    for each in reply["checks"]:
        change = {(True, False): "worse", (False, True): "better"}.get((each["live"], each["staged"]), "same")
        say(f"{change:<6}  {each['question']}", indent=2)
