"""The client configurations of docs/mcp.md work as they stand there, with a real address and key put in."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from ragdrop.api.apis import query_api
from ragdrop.api.mcp.mcp_route import mcp_api
from tests.agent_world import eager_world, key_of
from tests.functions.test_mcp_schemas import everything
from tests.served import served

PAGE = Path(__file__).parents[2] / "docs/mcp.md"
ADDRESS = "https://API-ID.execute-api.REGION.amazonaws.com/STAGE"


def configurations(address: str, key: str) -> dict[str, dict[str, Any]]:
    """The configurations of the page, by how they reach ragdrop."""
    found = {}
    for block in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        servers = json.loads(block.replace(ADDRESS, address).replace("rd_YOUR_KEY", key)).get("mcpServers")
        if servers:
            found["http" if "url" in servers["ragdrop"] else "stdio"] = servers["ragdrop"]
    return found


def test_a_client_set_up_for_http_gets_everything() -> None:
    world = eager_world()

    async def run(url: str) -> dict[str, Any]:
        entry = configurations(url, key_of(world))["http"]
        async with (
            httpx2.AsyncClient(headers=entry["headers"], trust_env=False) as http,
            Client(streamable_http_client(entry["url"], http_client=http)) as client,
        ):
            return await everything(client)

    with served(mcp_api(world.app)) as url:
        told = asyncio.run(run(url))

    assert len([name for name in told if name.startswith("mcp_rag_")]) == 6


def test_a_client_set_up_for_standard_streams_starts_the_command_and_gets_everything() -> None:
    world = eager_world()

    async def run(url: str) -> dict[str, Any]:
        entry = configurations(url, key_of(world))["stdio"]
        assert entry["command"] == "ragdrop"
        environment = {**entry["env"], "PATH": os.environ.get("PATH", "")}
        arguments = ["-m", "ragdrop_cli", *entry["args"]]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=environment)) as client:
            return await everything(client)

    with served(query_api(world.app)) as url:
        told = asyncio.run(run(url))

    assert len([name for name in told if name.startswith("mcp_rag_")]) == 6


@pytest.mark.parametrize("row", re.findall(r"^\| `(rag_\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
def test_every_tool_of_the_page_has_a_golden_file(row: str) -> None:
    assert (Path(__file__).parent / f"golden/mcp_{row}.json").is_file()
