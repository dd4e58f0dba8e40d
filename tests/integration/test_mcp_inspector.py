"""The manifest for registries of MCP servers, and the MCP Inspector's command line over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragdrop import __version__
from ragdrop.api.mcp.mcp_route import mcp_api
from tests.agent_world import eager_world, key_of
from tests.served import served
from tests.stacks import REPOSITORY

MANIFEST = REPOSITORY / "server.json"
SKILLSAW = Path(os.environ.get("RAGDROP_SKILLSAW", REPOSITORY / ".local/env/skillsaw/bin/skillsaw"))
INSPECTOR = Path(os.environ.get("RAGDROP_INSPECTOR", REPOSITORY / ".local/inspector/node_modules/.bin"))


def inspected(url: str, key: str, *asked: str) -> Any:
    """What the inspector prints; it exits with 6 where the schema of a tool is not portable."""
    assert (INSPECTOR / "mcp-inspector").exists(), "make .local/inspector/.ready installs it with npm"
    command = [str(INSPECTOR / "mcp-inspector"), "--cli", url, "--transport", "http", "--header", f"x-api-key: {key}"]
    environment = {"PATH": f"{INSPECTOR}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "*"}
    done = subprocess.run([*command, *asked], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_manifest_is_of_this_version_and_asks_for_the_key() -> None:
    manifest = json.loads(MANIFEST.read_text("utf-8"))
    [remote] = manifest["remotes"]
    named = {part.partition("}")[0] for part in remote["url"].split("{")[1:]}

    assert manifest["version"] == __version__
    assert len(manifest["description"]) <= 100, "the registry's limit"
    assert named == set(remote["variables"])
    assert [(each["name"], each["isSecret"]) for each in remote["headers"]] == [("x-api-key", True)]


@pytest.mark.long
def test_the_manifest_follows_the_registrys_schema_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    def lint(text: str) -> int:
        (tmp_path / "server.json").write_text(text, "utf-8")
        done = subprocess.run([SKILLSAW, "lint", tmp_path], capture_output=True, text=True, timeout=60, check=False)
        assert "mcp-registry" in done.stdout, done.stdout + done.stderr
        return done.returncode

    given = MANIFEST.read_text("utf-8")

    assert lint(given) == 0
    assert lint(given.replace("streamable-http", "stream")) == 1


@pytest.fixture(scope="module")
def reached() -> Iterator[tuple[str, str]]:
    world = eager_world()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    with served(mcp_api(world.app)) as url:
        yield f"{url}/mcp", key_of(world)


@pytest.mark.long
def test_it_lists_the_tools_and_finds_every_schema_portable(reached: tuple[str, str]) -> None:
    tools = inspected(*reached, "--method", "tools/list", "--strict")["tools"]

    assert len(tools) == 6
    assert all(tool["title"] and tool["annotations"]["readOnlyHint"] is not None for tool in tools)


@pytest.mark.long
def test_it_calls_a_tool_and_reads_the_resource_that_the_result_links_to(reached: tuple[str, str]) -> None:
    asked = ("--method", "tools/call", "--tool-name", "rag_context_search", "--tool-arg", "query=code of the pump")

    content = inspected(*reached, *asked)["content"]
    [link] = [part["uri"] for part in content if part["type"] == "resource_link"]
    read = inspected(*reached, "--method", "resources/read", "--uri", link)

    assert "QX-5521" in read["contents"][0]["text"]


@pytest.mark.long
def test_it_lists_resources_templates_and_the_prompt(reached: tuple[str, str]) -> None:
    assert inspected(*reached, "--method", "resources/list")["resources"][0]["uri"] == "ragdrop://team/pump.md"
    assert len(inspected(*reached, "--method", "resources/templates/list")["resourceTemplates"]) == 1
    assert inspected(*reached, "--method", "prompts/list")["prompts"][0]["name"] == "cited_answer"
