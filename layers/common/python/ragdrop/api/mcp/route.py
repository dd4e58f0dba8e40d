"""`POST /mcp`: the Model Context Protocol over streamable HTTP, stateless, answered as JSON."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ragdrop.api.http import CALLER_IN_SCOPE, authenticated, create_api, deadline_of, handed_over
from ragdrop.api.mcp.server import Context, build
from ragdrop.api.mcp.server import McpCaller as AgentCaller
from ragdrop.api.whole_api import core_routes
from ragdrop.client import RagdropClient
from ragdrop.client.in_process import HOST, InProcessTransport
from ragdrop.domain.tenants import Caller

if TYPE_CHECKING:
    from ragdrop.bootstrap import App

MARGIN_S = 2.0  # for the last look at a document's record and the answer


def mcp_router(api: ASGIApp, caller: Callable[..., Caller]) -> APIRouter:
    """The route; tools work through *api*, in process, on behalf of the caller that *caller* found."""

    def agent(context: Context) -> AgentCaller:
        request = cast("Request", context.request)  # what the transport was served with
        extra = {name: request.scope[name] for name in (CALLER_IN_SCOPE, "aws.context") if name in request.scope}
        client = RagdropClient(HOST, "in-process", transport=InProcessTransport(api, request.scope, extra))
        return AgentCaller(client, deadline_of(request).remaining_s() - MARGIN_S)

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
    """The one route of agents; it checks the key, the routes behind it take the caller that it found."""
    reader, writer = (handed_over(role) for role in ("reader", "writer"))
    behind = create_api(core_routes(app, reader=reader, writer=writer, anyone=reader))
    route = mcp_router(behind, authenticated(app.tenants.directory, "reader"))
    return create_api([route], allow_origins=app.ports.settings.cors_allow_origins)
