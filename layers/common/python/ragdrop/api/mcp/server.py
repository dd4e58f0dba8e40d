"""The MCP server: tools, documents as resources, and a prompt over a `Backend`, for HTTP and standard input."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

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
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from pydantic import ValidationError

from ragdrop import __version__
from ragdrop.api.mcp.backend import Backend, protocol_error, wrong_params
from ragdrop.api.mcp.tools import SCHEME, TOOLS, Call, in_thread, media_type_of_text, uri_of
from ragdrop.errors import InvalidParamsError, RagdropError

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
    """The server; *caller_of* says on whose behalf a request is served."""

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
        cursor = (params.cursor or None) if params else None
        return await _with_protocol_errors(in_thread(partial(document_resources, caller_of(context).client, cursor)))

    async def list_templates(_context: Context, _params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resource_templates()

    async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _with_protocol_errors(in_thread(partial(document_text, caller_of(context).client, params.uri)))

    async def list_prompts(_context: Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(_context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        try:
            return prompt(params.name, params.arguments or {})
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


async def _with_protocol_errors(work: Awaitable[T]) -> T:
    """The result of *work*; an error of ragdrop's leaves as one of the protocol's."""
    try:
        return await work
    except RagdropError as exc:
        raise protocol_error(exc) from exc


def serve(client: Backend, wait_s: float) -> None:
    """Serve until standard input ends; the tools work through *client*.

    An indexing waits up to *wait_s* seconds, reports how far it is, and ends when the client cancels it.
    """
    server = build(lambda _context: McpCaller(client, wait_s))

    async def run() -> None:
        stdin = TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "replace")  # clients on Windows begin with such a mark
        async with stdio_server(stdin=anyio.wrap_file(stdin)) as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())

    anyio.run(run)


TEMPLATE = f"{SCHEME}://{{vault}}/{{path}}"  # who fills it in by RFC 6570 writes %2F for a slash: both are read
PAGE_SIZE = 100
MAX_CHARACTERS = 400_000  # escaped as JSON at most 12 bytes each: under the 6 MB of a Lambda response


def vault_and_path(uri: str) -> tuple[str, str]:
    """Vault and path of a document's URI.

    Raises:
        InvalidParamsError: It is no such URI.

    >>> vault_and_path("ragdrop://team/notes/a%20b.md")
    ('team', 'notes/a b.md')
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        parts = urlsplit("")
    vault, path = parts.netloc, unquote(parts.path.removeprefix("/"))
    if parts.scheme != SCHEME or not vault or not path or parts.query or parts.fragment:
        message = f"uri: {uri[:200]!r} names no document; they are called {SCHEME}://VAULT/PATH"
        raise InvalidParamsError(message, field="uri", value=uri[:200], allowed=TEMPLATE)
    return vault, path


def document_resources(client: Backend, cursor: str | None) -> ListResourcesResult:
    """One page of the documents that answer, by vault and path. Raises RagdropError: the API refused or failed."""
    page = next(client.documents(page_size=PAGE_SIZE, cursor=cursor))
    live = [document for document in page["documents"] if document["live_revision"] is not None]
    return ListResourcesResult(resources=[_resource(each) for each in live], next_cursor=page["cursor"])


def resource_templates() -> ListResourceTemplatesResult:
    """How documents are called."""
    template = ResourceTemplate(
        name="document",
        title="A document",
        uri_template=TEMPLATE,
        description="The parsed text of a document, by its vault and its path there.",
    )
    return ListResourceTemplatesResult(resource_templates=[template])


def document_text(client: Backend, uri: str) -> ReadResourceResult:
    """The parsed text of a document, of a very long one the first 400,000 characters.

    Raises RagdropError: there is no such document, or the API refused or failed.
    """
    vault, path = vault_and_path(uri)
    text = client.get_document(vault, path, span=(0, MAX_CHARACTERS))["text"]
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=media_type_of_text(path), text=text)])


def _resource(document: Mapping[str, Any]) -> Resource:
    said = [document["doc_type"], document["promotion_level"] if document["promotion_level"] != "standard" else None]
    return Resource(
        uri=uri_of(document["vault"], document["path"]),
        name=f"{document['vault']}/{document['path']}",
        title=document["title"],
        description=", ".join(part for part in said if part) or None,
        mime_type=media_type_of_text(document["path"]),
    )


NAME = "cited_answer"
PROMPT = Prompt(
    name=NAME,
    title="Answer from the documents, with citations",
    description="Look the question up in the documents and answer it with a source for each statement.",
    arguments=[
        PromptArgument(name="question", description="What is to be answered.", required=True),
        PromptArgument(name="vaults", description="Only these vaults, with commas between them.", required=False),
    ],
)


def prompt(name: str, arguments: dict[str, str]) -> GetPromptResult:
    """The prompt with its question. Raises InvalidParamsError: there is no such prompt, or it was given no question."""
    if name != NAME:
        raise InvalidParamsError(f"name: there is no prompt {name[:80]!r}", field="name", allowed=[NAME])
    question = arguments.get("question", "").strip()
    if not question:
        raise InvalidParamsError("question: is missing", field="question", value=None, allowed=None)
    vaults = [vault.strip() for vault in arguments.get("vaults", "").split(",") if vault.strip()]
    where = f" with vaults {vaults}" if vaults else ""
    text = f"""Answer this question from the documents that ragdrop keeps:

{question}

Call rag_query{where} first. If its answer abstains or leaves something open, call rag_context_search{where} with other
words, and read whole documents as resources where a passage is not enough.

Rules: say only what the documents say. Put [n] after each statement and list under the answer which document each
number stands for, by vault and path. Where documents disagree, say so and name both. Where they do not answer the
question, say that they do not."""
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=PROMPT.description, messages=[message])
