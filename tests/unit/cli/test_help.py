"""What the command line says of itself."""

from __future__ import annotations

import pytest

from ragdrop import __version__
from tests.unit.cli.world import CommandLine

COMMANDS = ["push", "search", "ask", "ls", "show", "rm", "retry", "sweep", "reindex", "eval", "invoke"]
COMMANDS += ["tenant", "tenant create", "key", "key create"]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_help_has_an_example(ragdrop: CommandLine, command: str) -> None:
    result = ragdrop.run(*command.split(), "--help")

    assert result.exit_code == 0
    assert f"Example: ragdrop {command}".rstrip() in result.stdout


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
