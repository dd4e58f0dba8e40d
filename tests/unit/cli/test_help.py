"""What the command line says of itself: every command that there is, found by walking its tree."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.main import get_command

from ragdrop import __version__
from ragdrop_cli.main import build
from tests.unit.cli.world import CommandLine

WITHOUT_JSON = {"mcp": "its standard output is a protocol"}


def commands(command: Any, name: str = "") -> dict[str, Any]:
    """Every command below *command*, groups too, by the words that it is called by."""
    found = {name: command}
    for word, below in getattr(command, "commands", {}).items():
        found |= commands(below, f"{name} {word}".strip())
    return found


COMMANDS = commands(get_command(build()))
LEAVES = sorted(name for name, command in COMMANDS.items() if not hasattr(command, "commands"))


def examples_of(name: str) -> list[str]:
    return re.findall(r"Example: (.*)", COMMANDS[name].epilog or "")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_that_ends_with_an_example_of_itself(ragdrop: CommandLine, name: str) -> None:
    result = ragdrop.run(*name.split(), "--help")

    assert result.exit_code == 0
    assert result.stdout.rstrip().splitlines()[-1].strip().startswith("Example: ")
    assert f"ragdrop {name}".rstrip() in examples_of(name)[-1]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_says_in_one_sentence_what_it_does(name: str) -> None:
    assert re.match(r"[A-Z].*\.", COMMANDS[name].help or "")


@pytest.mark.parametrize("name", sorted(set(LEAVES) - set(WITHOUT_JSON)))
def test_every_command_can_print_json(name: str) -> None:
    assert "--json" in [option for parameter in COMMANDS[name].params for option in parameter.opts]


@pytest.mark.parametrize("name", LEAVES)
def test_every_option_and_argument_is_explained(name: str) -> None:
    helps = {parameter.name: getattr(parameter, "help", None) for parameter in COMMANDS[name].params}

    assert [parameter for parameter, words in helps.items() if not words] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_has_no_colours_in_a_pipe(ragdrop: CommandLine, name: str) -> None:
    assert "\x1b" not in ragdrop.run(*name.split(), "--help").stdout


def test_the_exit_codes_are_documented(ragdrop: CommandLine) -> None:
    assert "Exit codes: 0 all went well; 1" in ragdrop.run("--help").stdout


def test_version_prints_the_version(ragdrop: CommandLine) -> None:
    assert ragdrop.run("--version").stdout == f"ragdrop {__version__}\n"


def test_an_unknown_command_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert ragdrop.run("nothing").exit_code == 2


def test_ctrl_c_ends_with_130(ragdrop: CommandLine) -> None:
    def interrupt(_request: object) -> None:
        raise KeyboardInterrupt

    ragdrop.api.routes["POST", "/ask"] = interrupt  # type: ignore[assignment]

    assert ragdrop.run("ask", "Which?").exit_code == 130


@pytest.mark.parametrize("command", ["search pump", "ls", "show team/a.md", "replay a1"])
def test_an_error_that_no_api_wrote_is_json_too_where_json_is_requested(ragdrop: CommandLine, command: str) -> None:
    del ragdrop.environ["RAGDROP_API_KEY"]

    result = ragdrop.run(*command.split(), "--json")

    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["code"] == "CONFIGURATION"
    assert "next: " in result.stderr


def test_a_terminal_shows_colours_unless_no_color_is_set(ragdrop: CommandLine) -> None:
    ragdrop.api.documents["team/a.md"] = {
        "vault": "team",
        "path": "a.md",
        "status": "indexed",
        "polls": 0,
        "version_id": "v1",
    }
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")

    assert colour.search(ragdrop.run("ls", terminal=True).stdout)
    assert not colour.search(ragdrop.run("ls", terminal=True, no_color=True).stdout)
    assert "\x1b" not in ragdrop.run("ls").stdout
