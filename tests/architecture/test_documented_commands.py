"""Every command in README and docs is one that exists, with options that it has; the live tests then run them."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from typer.main import get_command

from ragdrop_cli.main import build
from tests.e2e.documented import ROOT, SHELLS, Block, blocks, words_after

SHELL_BLOCKS = blocks(*SHELLS)
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
REASON = re.compile(r"\w.{9,}")


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_a_block_of_commands_is_one_that_bash_can_read(block: Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=10, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_every_ragdrop_command_exists_and_has_the_options_it_is_given(block: Block) -> None:
    for command in block.commands:
        for words in words_after(command, "ragdrop"):
            assert problem_of(words) == ""


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_every_make_target_exists(block: Block) -> None:
    for command in block.commands:
        for words in words_after(command, "make"):
            targets = [word for word in words if re.fullmatch(r"[a-z-]+", word)]

            assert [target for target in targets if f"\n{target}:" not in MAKEFILE] == []


def test_what_is_not_run_says_why() -> None:
    assert [str(block) for block in SHELL_BLOCKS if block.reason and not REASON.match(block.reason)] == []


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_every_json_example_is_json(block: Block) -> None:
    json.loads(block.text)


def test_an_option_that_does_not_exist_is_found() -> None:
    assert problem_of(["ask", "x", "--no-such-option"]) == "ragdrop ask has no --no-such-option"
    assert problem_of(["no-such-command"]) == "there is no ragdrop no-such-command"


def problem_of(words: list[str]) -> str:
    """What is wrong with a command line of ragdrop; empty where nothing is."""
    command: Any = get_command(build())
    called = "ragdrop"
    rest = list(words)
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        called += f" {rest[0]}"
        command = command.commands.get(rest.pop(0))
        if command is None:
            return f"there is no {called}"
    known = {"--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))}
    unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]
    return f"{called} has no {unknown[0]}" if unknown else ""
