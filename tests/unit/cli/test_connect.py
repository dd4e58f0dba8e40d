"""How other programs reach ragdrop: the stack file, the signed-in page and the completion of a shell."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ragdrop.ports.message_queue import DeployedStack
from tests.unit.cli.world import API_URL, CommandLine


@pytest.fixture
def deployed(ragdrop: CommandLine) -> CommandLine:
    ragdrop.environ.clear()
    ragdrop.stacks["ragdrop-dev"] = DeployedStack("ragdrop-dev", API_URL, "documents", {"INDEX_URL": "https://index"})
    return ragdrop


def test_all_commands_in_the_folder_then_use_the_stack(deployed: CommandLine) -> None:
    assert deployed.run("connect", "ragdrop-dev", "--tenant", "acme").exit_code == 0
    assert deployed.run("search", "pump").exit_code == 0
    assert deployed.api.requests[0].headers["x-api-key"].startswith("rd_")


def test_the_file_is_its_owners_alone_and_the_key_is_not_printed(deployed: CommandLine) -> None:
    printed = deployed.run("connect", "ragdrop-dev", "--tenant", "acme")
    file = deployed.folder / ".local/stack.json"

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text("utf-8"))["environment"] == {"INDEX_URL": "https://index"}
    assert json.loads(file.read_text("utf-8"))["api_key"] not in printed.output


def test_without_a_tenant_the_next_step_is_reported(deployed: CommandLine) -> None:
    printed = deployed.run("connect", "ragdrop-dev", "--json")

    assert json.loads(printed.stdout)["has_key"] is False
    assert deployed.run("search", "pump").exit_code == 2


def test_a_key_stays_when_the_same_stack_is_looked_up_again(deployed: CommandLine) -> None:
    deployed.run("connect", "ragdrop-dev", "--tenant", "acme")

    assert json.loads(deployed.run("connect", "ragdrop-dev", "--json").stdout)["has_key"] is True


def test_a_file_that_leads_elsewhere_is_overwritten_only_where_that_is_said(deployed: CommandLine) -> None:
    deployed.write_stack(api_url="https://other.example", api_key="rd_other")

    assert deployed.run("connect", "ragdrop-dev").exit_code == 2
    assert deployed.run("connect", "ragdrop-dev", "--replace", "--json").exit_code == 0


LINK = {"request_id": "r", "code": "c0de", "expires_at": "2026-01-01T00:01:00+00:00"}


@pytest.fixture
def linked(ragdrop: CommandLine) -> CommandLine:
    ragdrop.api.routes["POST", "/app/links"] = lambda _request: httpx.Response(201, json=LINK)
    return ragdrop


def test_the_browser_gets_a_link_with_a_code_and_no_key(linked: CommandLine) -> None:
    found = linked.run("open")

    [url] = linked.opened
    assert found.exit_code == 0
    assert url.endswith("/app#/sign-in/c0de")
    assert linked.key not in url + found.stdout


def test_print_starts_no_browser(linked: CommandLine) -> None:
    found = linked.run("open", "--print")

    assert linked.opened == []
    assert found.stdout.strip().endswith("/app#/sign-in/c0de")


def test_a_program_gets_the_link_as_json(linked: CommandLine) -> None:
    body = json.loads(linked.run("open", "--json").stdout)

    assert body["url"].endswith("/app#/sign-in/c0de")
    assert body["expires_at"] == LINK["expires_at"]


def test_without_a_browser_the_link_is_printed(linked: CommandLine) -> None:
    linked.browser_starts = False

    found = linked.run("open")

    assert "/app#/sign-in/c0de" in found.stdout
    assert "no browser" in found.stderr


RAGDROP = Path(sys.executable).parent / "ragdrop"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_is_printed_for_the_shell_that_is_named(ragdrop: CommandLine, shell: str) -> None:
    script = ragdrop.run("completion", shell)

    assert script.exit_code == 0
    assert f"complete_{shell}" in script.stdout
    assert json.loads(ragdrop.run("completion", shell, "--json").stdout)["script"] == script.stdout.rstrip("\n")


def test_a_shell_that_is_not_known_is_a_usage_error(ragdrop: CommandLine) -> None:
    assert ragdrop.run("completion", "tcsh").exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="asks bash itself")
def test_bash_completes_commands_and_options() -> None:
    typed = """
      PATH="$1:$PATH"; eval "$(ragdrop completion bash)"
      complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ragdrop_completion ragdrop; echo "${COMPREPLY[*]}"; }
      complete_it ragdrop se; complete_it ragdrop search --deb
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", typed, "bash", str(RAGDROP.parent)],
        env={"PATH": os.environ["PATH"], "HOME": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.splitlines() == ["search", "--debug"], done.stderr
