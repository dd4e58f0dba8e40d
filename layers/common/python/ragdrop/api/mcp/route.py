"""`POST /mcp`: the Model Context Protocol over streamable HTTP, stateless, answered as JSON."""

from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragdrop.api.http import CALLER_IN_SCOPE, Authenticate, authenticated, create_api, deadline_of
from ragdrop.api.mcp.direct import DirectApi
from ragdrop.api.mcp.server import Context, McpCaller, build
from ragdrop.domain.tenants import Caller

if TYPE_CHECKING:
    from ragdrop.bootstrap import App

MARGIN_S = 2.0  # for the last look at a document's record and the answer


def mcp_router(app: "App", caller: Authenticate) -> APIRouter:
    """The route; tools call what the routes call, on behalf of the caller that *caller* found."""

    def agent(context: Context) -> McpCaller:
        request = cast("Request", context.request)  # what the transport was served with
        direct = DirectApi(app, request, request.scope[CALLER_IN_SCOPE])
        return McpCaller(direct, deadline_of(request).remaining_s() - MARGIN_S)

    router = APIRouter(tags=["mcp"])
    server = build(agent)

    @router.post("/mcp", include_in_schema=False)
    def post_mcp(who: Annotated[Caller, Depends(caller)]) -> Response:
        """Serve one message of an agent's client."""
        return _Exchange(server, who)

    return router


class _Exchange(Response):
    """One message of a client and its answer: nothing of it is kept."""

    def __init__(self, server: Any, who: Caller) -> None:
        super().__init__()
        self._server = server
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the message."""
        scope[CALLER_IN_SCOPE] = self._who
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():  # one a request: a Lambda has an event loop only while it serves
            await manager.handle_request(scope, receive, send)


def mcp_api(app: "App") -> FastAPI:
    """The one route of agents; it checks the key."""
    route = mcp_router(app, authenticated(app.tenants.directory, "reader"))
    return create_api([route], allow_origins=app.ports.settings.cors_allow_origins)
