"""Agents on a running stack: the official MCP client through the gateway, and the desktop's command against it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.agent_world import text_of
from tests.functions.test_mcp_schemas import GOLDEN, everything
from tests.integration.commands import Tenant, within
from tests.stacks import LocalStack

TEXT = "# Pump\n\nThe code of the pump is QX-5521. It stands in the cellar.\n"
QUESTION = "What is the code of the pump?"
WAYS = ("http", "stdio")


@pytest.fixture(scope="module")
def tenant(stack: LocalStack) -> Tenant:
    tenant = Tenant.created(stack, "agents")
    tenant.put("team/pump.md", TEXT)
    within(60, lambda: any(each["status"] == "indexed" for each in tenant.listed("team")))
    return tenant


@asynccontextmanager
async def connected(tenant: Tenant, way: str) -> AsyncIterator[Client]:
    """The official client by either way."""
    url = tenant.stack.api_url
    if way == "http":
        headers = {"authorization": f"Bearer {tenant.key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            yield client
    else:
        environment = {"PATH": os.environ.get("PATH", ""), "RAGDROP_API_URL": url, "RAGDROP_API_KEY": tenant.key}
        command = StdioServerParameters(command=sys.executable, args=["-m", "ragdrop_cli", "mcp"], env=environment)
        async with Client(command) as client:
            yield client


def use(tenant: Tenant, way: str, work: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with connected(tenant, way) as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_gets_what_the_golden_files_hold(tenant: Tenant, way: str) -> None:
    told = use(tenant, way, everything)

    assert set(told) == {path.stem for path in GOLDEN.glob("mcp_*.json")}


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_asks_searches_and_reads(tenant: Tenant, way: str) -> None:
    async def work(client: Client) -> tuple[Any, Any, str]:
        answer = await client.call_tool("rag_query", {"query": QUESTION})
        found = await client.call_tool("rag_context_search", {"query": QUESTION, "limit": 1})
        [resource] = [each for each in (await client.list_resources()).resources if each.uri.endswith("pump.md")]
        text = text_of(await client.read_resource(resource.uri))
        return answer.structured_content, found.structured_content, text

    answer, found, text = use(tenant, way, work)

    assert "QX-5521" in answer["answer"]
    assert answer["citations"][0]["status"] == "verified"
    assert found["results"][0]["source"] == f"{tenant.name}/team/pump.md"
    assert text == TEXT


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_writes_and_finds_what_it_wrote(tenant: Tenant, way: str) -> None:
    words = {"http": "The crane of hall one is green.", "stdio": "The ladder of hall two is blue."}[way]

    async def work(client: Client) -> tuple[Any, Any]:
        metadata = {"tags": ["hall, plant"], "attributes": {"way": way}}
        written = await client.call_tool("rag_context_index", {"content": words, "metadata": metadata})
        asked = {"query": words, "vaults": ["agents"], "attributes": {"way": way}}
        return written.structured_content, (await client.call_tool("rag_context_search", asked)).structured_content

    written, found = use(tenant, way, work)

    assert written["success"], written
    assert [passage["source"] for passage in found["results"]] == [written["document_id"]]
    assert found["results"][0]["metadata"]["tags"] == ["hall, plant"]


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_reads_the_services_health_and_the_projects_figures(tenant: Tenant, way: str) -> None:
    async def work(client: Client) -> tuple[Any, Any]:
        health, stats = [await client.call_tool(f"rag_context_{what}") for what in ("health", "stats")]
        return health.structured_content, stats.structured_content

    health, stats = use(tenant, way, work)

    assert {"index", "registry", "chat"} <= set(health["dependencies"])
    assert stats["total_documents"] >= 1


@pytest.mark.parametrize("way", WAYS)
def test_what_is_refused_has_the_apis_code(tenant: Tenant, way: str) -> None:
    async def work(client: Client) -> tuple[Any, str]:
        refused = await client.call_tool("rag_query", {"query": "x", "vaults": ["nowhere"]})
        try:
            await client.read_resource("ragdrop://team/nothing.md")
        except MCPError as exc:
            return refused, str(exc.error.data["error"]["code"])
        raise AssertionError("a document that is not there was read")

    refused, code = use(tenant, way, work)

    assert refused.structured_content["error"]["code"] == "INVALID_PARAMS"
    assert code == "DOCUMENT_NOT_FOUND"
