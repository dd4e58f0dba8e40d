"""Where the command line finds the API, and what it says when it does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ragdrop.errors import ConfigurationError
from ragdrop_cli.session import api_of, find_stack, read_stack
from tests.unit.cli.world import API_KEY, API_URL, CommandLine


def test_the_two_environment_variables_win_over_the_stack_file(ragdrop: CommandLine) -> None:
    ragdrop.write_stack(api_url="http://stack.example", api_key="rd_stack")

    assert api_of(ragdrop.environ, ragdrop.folder) == (API_URL, API_KEY)


def test_the_stack_file_of_a_parent_folder_is_used_without_them(ragdrop: CommandLine) -> None:
    ragdrop.write_stack(api_url="http://stack.example", api_key="rd_stack")
    inner = ragdrop.folder / "docs" / "deep"
    inner.mkdir(parents=True)

    assert api_of({}, inner) == ("http://stack.example", "rd_stack")


def test_what_the_outputs_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    environ = {**os.environ, "RAGDROP_STACK": "水.json", "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "ragdrop_cli", "ls", "--json"]

    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, timeout=60, check=False)

    assert "水.json" in json.loads(done.stdout)["error"]["message"], done.stderr


def test_ragdrop_stack_names_another_file(ragdrop: CommandLine, tmp_path: Path) -> None:
    ragdrop.write_stack(api_url="http://stack.example", api_key="rd_stack")
    other = ragdrop.write("elsewhere/stack.json", '{"api_url": "http://other.example", "api_key": "rd_other"}')

    assert find_stack({"RAGDROP_STACK": str(other)}, tmp_path) == other
    assert api_of({"RAGDROP_STACK": str(other)}, tmp_path) == ("http://other.example", "rd_other")


def test_a_key_is_never_sent_to_a_url_from_another_place(ragdrop: CommandLine) -> None:
    ragdrop.write_stack(api_url="http://stack.example", api_key="rd_stack")

    with pytest.raises(ConfigurationError, match="RAGDROP_API_KEY is not"):
        api_of({"RAGDROP_API_URL": "http://elsewhere.example"}, ragdrop.folder)


def test_without_either_the_error_names_both_and_make_up(ragdrop: CommandLine) -> None:
    ragdrop.environ.clear()

    result = ragdrop.run("ls")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert "RAGDROP_API_URL" in result.stderr
    assert "make up" in result.stderr


@pytest.mark.parametrize("text", ["no json", "[]", '{"environment": 3}'])
def test_a_broken_stack_file_is_named(ragdrop: CommandLine, text: str) -> None:
    path = ragdrop.write(".local/stack.json", text)

    with pytest.raises(ConfigurationError, match=r"stack\.json"):
        read_stack(path)


def test_a_stack_shows_neither_its_key_nor_its_environment(ragdrop: CommandLine) -> None:
    stack = read_stack(ragdrop.write_stack(api_url="u", api_key="rd_secret", environment={"CHAT_API_KEY": "sk"}))

    assert "rd_secret" not in repr(stack)
    assert "sk" not in repr(stack)


def test_an_api_that_cannot_be_reached_ends_with_3_and_names_its_url(ragdrop: CommandLine) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    ragdrop.api.routes["GET", "/documents"] = refuse

    result = ragdrop.run("ls")

    assert result.exit_code == 3
    assert result.stderr.startswith("error API_UNREACHABLE: http://api.example/prod")
    assert "make up" in result.stderr
