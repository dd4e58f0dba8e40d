"""The MCP route over a World, met by the official client, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.types import ASGIApp, Receive, Scope, Send

from ragdrop.api.mcp.mcp_route import mcp_api
from ragdrop.domain.tenants import Role
from ragdrop.ports.object_store import StoredObject
from testing.memory_object_store import MemoryObjectStore
from tests.world import World

URL = "http://api.example/mcp"
T = TypeVar("T")


class EagerBucket(MemoryObjectStore):
    """A document bucket whose events arrive before the writer is answered."""

    world: World | None = None

    def put(
        self,
        key: str,
        body: bytes | BinaryIO,
        *,
        media_type: str,
        metadata: Mapping[str, str] | None = None,
        onto: str | None = None,
    ) -> StoredObject:
        """Put an object and let its event arrive."""
        stored = super().put(key, body, media_type=media_type, metadata=metadata, onto=onto)
        if self.world is not None:
            self.world.changed(key.partition("/")[2])
        return stored


def text_of(result: Any) -> str:
    """The text of the first part of what an MCP call gave: a tool's result, a resource or a prompt's message."""
    if hasattr(result, "messages"):
        return str(result.messages[0].content.text)
    [first, *_] = result.content if hasattr(result, "content") else result.contents
    return str(first.text)


def eager_world(**settings: str) -> World:
    """A World in which what is written over HTTP is indexed at once."""
    documents = EagerBucket("documents")
    world = World(documents=documents, settings=settings)
    documents.world = world
    return world


def key_of(world: World, role: Role = "writer", *vaults: str) -> str:
    """A new key of the world's tenant."""
    return world.app.operate.operator.create_key(world.tenant, role, vaults)[0]


@asynccontextmanager
async def connected(api: ASGIApp, key: str, **how: Any) -> AsyncIterator[Client]:
    """The official client, connected to *api* by streamable HTTP."""
    transport = httpx2.ASGITransport(api)
    async with (
        httpx2.AsyncClient(transport=transport, headers={"authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(URL, http_client=http), **how) as client,
    ):
        yield client


def with_agent(
    world: World, use: Callable[[Client], Awaitable[T]], key: str = "", *, left_s: float = 29.0, **how: Any
) -> T:
    """What *use* makes of a connected client; with a writer's key unless one is given."""
    api = mcp_api(world.app)

    async def in_lambda(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, "aws.context": Context(left_s)}, receive, send)

    async def run() -> T:
        async with connected(in_lambda, key or key_of(world), **how) as client:
            try:
                return await use(client)
            except MCPError as exc:
                refused = exc  # raised in here it would leave in a group
        raise refused

    return asyncio.run(run())


@dataclass(frozen=True)
class Context:
    """What ragdrop reads of a Lambda context."""

    left_s: float

    def get_remaining_time_in_millis(self) -> float:
        """As Lambda says it."""
        return self.left_s * 1_000
