"""`ragdrop connect`, on stacks in memory."""

from __future__ import annotations

import json
import stat

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


def test_without_a_tenant_the_next_step_is_told(deployed: CommandLine) -> None:
    printed = deployed.run("connect", "ragdrop-dev", "--json")

    assert json.loads(printed.stdout)["has_key"] is False
    assert deployed.run("search", "pump").exit_code == 2


def test_a_key_is_kept_when_the_same_stack_is_looked_up_again(deployed: CommandLine) -> None:
    deployed.run("connect", "ragdrop-dev", "--tenant", "acme")

    assert json.loads(deployed.run("connect", "ragdrop-dev", "--json").stdout)["has_key"] is True


def test_a_file_that_leads_elsewhere_is_overwritten_only_where_that_is_said(deployed: CommandLine) -> None:
    deployed.write_stack(api_url="https://other.example", api_key="rd_other")

    assert deployed.run("connect", "ragdrop-dev").exit_code == 2
    assert deployed.run("connect", "ragdrop-dev", "--replace", "--json").exit_code == 0
