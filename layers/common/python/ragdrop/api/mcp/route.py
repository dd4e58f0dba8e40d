"""`POST /mcp`: the Model Context Protocol over streamable HTTP, stateless, answered as JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from mcp import MCPError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from ragdrop.api.http import CALLER_IN_SCOPE, Authenticate, authenticated, create_api, deadline_of
from ragdrop.api.mcp.direct import DirectApi
from ragdrop.api.mcp.messages import check_message, is_json, read_message, sent_id, usable_headers
from ragdrop.api.mcp.server import Context, McpCaller, build
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError, RagdropError

if TYPE_CHECKING:
    from ragdrop.bootstrap import App

MARGIN_S = 2.0  # for the last look at a document's record and the answer


def mcp_router(app: "App", caller: Authenticate) -> APIRouter:
    """The route; tools call what the routes call, on behalf of the caller that *caller* found."""

    def agent(context: Context) -> McpCaller:
        request = cast("Request", context.request)  # what the transport was served with
        direct = DirectApi(app, request, request.scope[CALLER_IN_SCOPE])
        return McpCaller(direct, deadline_of(request).remaining_s() - MARGIN_S, partial(note_error, direct.who))

    def note_error(who: Caller, error: RagdropError) -> None:
        app.query.observe_queries.note_error(who, "mcp", error)

    router = APIRouter(tags=["mcp"])
    server = build(agent)

    @router.post("/mcp", include_in_schema=False)
    def post_mcp(who: Annotated[Caller, Depends(caller)]) -> Response:
        """Serve one message of an agent's client."""
        return _Exchange(server, who, partial(note_error, who))

    return router


class _Exchange(Response):
    """One message of a client and its answer: nothing of it is kept."""

    def __init__(self, server: Any, who: Caller, note_error: Callable[[RagdropError], None]) -> None:
        super().__init__()
        self._note_error = note_error
        self._server = server
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the message, or refuse it under its id."""
        content_type = dict(scope["headers"]).get(b"content-type")
        if not is_json(content_type):
            given = f"is {content_type.decode('latin-1')[:80]!r}" if content_type else "is missing"
            refusal = MCPError(INVALID_REQUEST, f"the Content-Type header {given}: send application/json")
            await self._refused(refusal, None, 415)(scope, receive, send)
            return
        message: dict[str, Any] | None = None
        try:
            body = await Request(scope, receive).body()
            message = read_message(body)
            check_message(message)
            headers = usable_headers(scope["headers"], message)
        except MCPError as exc:
            await self._refused(exc, message, 400)(scope, receive, send)
            return
        if isinstance(message.get("id"), float):
            body = json.dumps({**message, "id": sent_id(message)}).encode()

        async def checked() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {**scope, "headers": headers, CALLER_IN_SCOPE: self._who}
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():  # one a request: a Lambda has an event loop only while it serves
            await manager.handle_request(scope, checked, send)

    def _refused(self, error: MCPError, message: dict[str, Any] | None, status: int) -> JSONResponse:
        """An error of the protocol, under the id of *message* where it has a valid one."""
        self._note_error(InvalidParamsError(error.message))
        shown = error.error.model_dump(exclude_none=True)
        return JSONResponse({"jsonrpc": "2.0", "id": sent_id(message), "error": shown}, status)


def mcp_api(app: "App") -> FastAPI:
    """The one route of agents; it checks the key."""
    route = mcp_router(app, authenticated(app.tenants.directory, "reader"))
    return create_api(
        [route], allow_origins=app.ports.settings.cors_allow_origins, observe=lambda: app.query.observe_queries
    )
