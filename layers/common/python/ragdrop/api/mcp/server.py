"""The MCP server: tools, resources and prompt over a `Backend`, for HTTP and standard input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import ValidationError

from ragdrop import __version__
from ragdrop.api.mcp import resources as documents
from ragdrop.api.mcp import resources as prompts
from ragdrop.api.mcp.backend import Backend
from ragdrop.api.mcp.failures import protocol_error, wrong_params
from ragdrop.api.mcp.indexing import in_thread
from ragdrop.api.mcp.tools import TOOLS, Call
from ragdrop.errors import RagdropError

INSTRUCTIONS = (
    "ragdrop answers questions from a project's own documents; every citation was checked against its document. Ask "
    "with rag_query, look for passages with rag_context_search, keep what was learned with rag_context_index."
)

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class McpCaller:
    """On whose behalf a request is served: a client with their key, and seconds that it may wait for an indexing.

    `note_error` counts an error of theirs.
    """

    client: Backend
    wait_s: float
    note_error: Callable[[RagdropError], None] = lambda _error: None


def build(caller_of: Callable[[Context], McpCaller]) -> Server[Any]:
    """The server; *caller_of* tells on whose behalf a request is served."""

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.listed() for tool in TOOLS.values()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:80]!r}; there are {', '.join(TOOLS)}")
        who = caller_of(context)

        async def progress(done: float, words: str) -> None:
            await context.session.report_progress(done, None, words)

        return await tool(Call(who.client, who.wait_s, progress, who.note_error), params.arguments or {})

    async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = params.cursor if params else None
        return await _told(in_thread(partial(documents.list_resources, caller_of(context).client, cursor)))

    async def list_templates(_context: Context, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return documents.templates()

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _told(in_thread(partial(documents.read_resource, caller_of(context).client, params.uri)))

    async def list_prompts(_context: Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[prompts.PROMPT])

    async def get_prompt(_context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        try:
            return prompts.prompt(params.name, params.arguments or {})
        except RagdropError as exc:
            raise protocol_error(exc) from exc

    server: Server[Any] = Server(
        "ragdrop",
        version=__version__,
        title="ragdrop",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    server.middleware.append(_name_wrong_params)
    return server


async def _name_wrong_params(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Name the parameter that is missing or wrong; the SDK says no more than that one is."""
    try:
        return await call_next(ctx)
    except ValidationError as exc:
        raise MCPError(INVALID_PARAMS, f"{ctx.method}: {wrong_params(exc)}") from exc


async def _told(work: Awaitable[T]) -> T:
    """The result of *work*; an error of ragdrop's leaves as one of the protocol's."""
    try:
        return await work
    except RagdropError as exc:
        raise protocol_error(exc) from exc


def serve(client: Backend, wait_s: float) -> None:
    """Serve until standard input ends; the tools work through *client*.

    An indexing waits up to *wait_s* seconds, tells how far it is, and ends when the client cancels it.
    """
    server = build(lambda _context: McpCaller(client, wait_s))

    async def run() -> None:
        async with stdio_server() as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())

    anyio.run(run)
