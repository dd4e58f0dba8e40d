"""MCP: the tools of agents over streamable HTTP; each works through the API's own routes, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from ragdrop.http import authenticated, create_api, handed_over
from ragdrop.routes.ask import ask_router
from ragdrop.routes.documents import documents_router
from ragdrop.routes.health import health_router
from ragdrop.routes.mcp import mcp_router
from ragdrop.routes.search import search_router
from ragdrop.routes.stats import stats_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def mcp_api(app: App) -> FastAPI:
    """The one route of agents; it checks the key, the routes behind it take the caller that it found."""
    reader, writer = (handed_over(role) for role in ("reader", "writer"))
    behind = create_api(
        [
            search_router(lambda: app.search, reader),
            ask_router(lambda: app.ask, reader),
            stats_router(lambda: app.read_stats, reader),
            health_router(lambda: app.check_health, app.directory, reader),
            documents_router(
                lambda: app.keep_documents,
                lambda: app.retry_documents,
                lambda: app.purge_documents,
                lambda: app.write_once,
                reader,
                writer,
            ),
        ]
    )
    route = mcp_router(behind, authenticated(app.directory, "reader"))
    return create_api([route], allow_origins=app.settings.cors_allow_origins)
