"""`ragdrop completion`: what a shell needs to complete commands and options, printed and never written to a dotfile."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_inspect_parameters, get_completion_script  # type: ignore[attr-defined]

from ragdrop_cli.options import AsObject
from ragdrop_cli.output import say_object

COMPLETE_VAR = "_RAGDROP_COMPLETE"  # the shell asks the command itself, by this variable


class Shell(StrEnum):
    """The shells that can be helped."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


ShellName = Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh, fish or powershell.", show_default=False)]


def answer_shells() -> None:
    """Let the command answer a shell that asks for completions; without it Typer knows no shell by name."""
    get_completion_inspect_parameters()


def completion(shell: ShellName, *, as_json: AsObject = False) -> None:
    """Print the script that makes a shell complete ragdrop's commands and options.

    Nothing is installed and no shell is guessed: put the line of the example into ~/.bashrc, or the like for yours.
    """
    script = get_completion_script(prog_name="ragdrop", complete_var=COMPLETE_VAR, shell=shell.value)
    if as_json:
        say_object({"shell": shell.value, "script": script})
    else:
        typer.echo(script)
