"""The MCP server over standard input and output, for clients that run on the same desktop."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from ragdrop.agents.server import Caller, build
from ragdrop.client import RagdropClient


def serve(client: RagdropClient, wait_s: float) -> None:
    """Serve until standard input ends; the tools work through *client*.

    An indexing waits up to *wait_s* seconds, tells how far it is, and ends when the client cancels it.
    """
    server = build(lambda _context: Caller(client, wait_s))

    async def run() -> None:
        async with stdio_server() as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())

    anyio.run(run)
