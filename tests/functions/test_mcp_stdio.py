"""`ragdrop mcp` as a desktop client starts it: a process over its standard streams, the API on the loopback."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp_types import CallToolResult

from ragdrop.api.apis import query_api
from tests.agent_world import eager_world, key_of, text_of
from tests.served import served
from tests.world import World

COMMAND = [sys.executable, "-m", "ragdrop_cli", "mcp", "--wait-s", "20"]
T = TypeVar("T")


@pytest.fixture(scope="module")
def world() -> World:
    world = eager_world()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.")
    return world


@pytest.fixture(scope="module")
def environment(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the command finds in its environment: where the API is, and a writer's key."""
    with served(query_api(world.app)) as url:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        folder = str(tmp_path_factory.mktemp("desktop"))
        yield {**kept, "RAGDROP_API_URL": url, "RAGDROP_API_KEY": key_of(world), "PWD": folder}


def with_desktop(environment: dict[str, str], use: Callable[[Client], Awaitable[T]]) -> T:
    """What *use* makes of a client that started the command."""
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment)

    async def run() -> T:
        async with Client(parameters) as client:
            return await use(client)

    return asyncio.run(run())


def test_every_tool_resource_and_prompt_is_there(environment: dict[str, str]) -> None:
    async def use(client: Client) -> tuple[list[str], str, str, bool, str]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        resource = (await client.list_resources()).resources[0].uri
        text = text_of(await client.read_resource(resource))
        found = await client.call_tool("rag_context_search", {"query": "code of the pump"})
        [prompt] = (await client.list_prompts()).prompts
        return tools, resource, text, found.is_error, prompt.name

    tools, resource, text, failed, prompt = with_desktop(environment, use)

    assert len(tools) == 6
    assert resource == "ragdrop://team/pump.md"
    assert text.startswith("# Pump")
    assert not failed
    assert prompt == "cited_answer"


def test_an_indexing_reports_how_far_it_is(environment: dict[str, str]) -> None:
    told: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def use(client: Client) -> CallToolResult:
        arguments = {"content": "The crane is green.", "source": "crane.md"}
        return await client.call_tool("rag_context_index", arguments, progress_callback=heard)

    result = with_desktop(environment, use)

    assert result.structured_content["success"]
    assert told[0] == (0, "writing agents/crane.md")
    assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})
    assert len(told) >= 2


def test_an_indexing_that_is_cancelled_ends_at_once_and_the_next_call_is_served(
    world: World, environment: dict[str, str]
) -> None:
    async def use(client: Client) -> tuple[float, CallToolResult]:
        start_s = time.monotonic()
        with anyio.move_on_after(1.0):
            await client.call_tool("rag_context_index", {"content": "late", "source": "late.md"})
        took_s = time.monotonic() - start_s
        return took_s, await client.call_tool("rag_context_search", {"query": "code of the pump"})

    world.documents.world = None  # its event never arrives: it would wait 20 s
    try:
        took_s, after = with_desktop(environment, use)
    finally:
        world.documents.world = world

    assert took_s < 3
    assert not after.is_error


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_standard_output_carries_nothing_but_the_protocol(environment: dict[str, str], start: str) -> None:
    def message(number: int, method: str, params: dict[str, Any]) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = message(1, "initialize", hello) + message(2, "tools/call", {"name": "rag_query", "arguments": {}})

    with subprocess.Popen(
        COMMAND, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(start + asked)
        process.stdin.flush()
        lines = [process.stdout.readline(), process.stdout.readline()]
        rest, _ = process.communicate(timeout=30)

    answers = [json.loads(line) for line in (*lines, *rest.splitlines())]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["isError"] is True
    assert process.returncode == 0


def test_without_an_address_it_says_what_is_missing_and_speaks_no_protocol(
    environment: dict[str, str], tmp_path: Path
) -> None:
    bare = {name: value for name, value in environment.items() if not name.startswith("RAGDROP_")}

    done = subprocess.run(
        COMMAND, env=bare, cwd=tmp_path, input="", capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 2
    assert done.stdout == ""
    assert "RAGDROP_API_URL" in done.stderr
