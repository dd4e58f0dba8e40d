"""MCP: the tools of agents over streamable HTTP; each works through the API's own routes, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from ragdrop.http import authenticated, create_api, handed_over
from ragdrop.routes.mcp import mcp_router
from ragdrop.services.core_routes import core_routes

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def mcp_api(app: App) -> FastAPI:
    """The one route of agents; it checks the key, the routes behind it take the caller that it found."""
    reader, writer = (handed_over(role) for role in ("reader", "writer"))
    behind = create_api(core_routes(app, reader=reader, writer=writer, anyone=reader))
    route = mcp_router(behind, authenticated(app.directory, "reader"))
    return create_api([route], allow_origins=app.settings.cors_allow_origins)
