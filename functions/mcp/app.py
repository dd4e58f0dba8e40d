"""MCP: the tools of agents over streamable HTTP; each works through the API's own routes, in this process."""

from __future__ import annotations

from typing import Any

from mangum import Mangum

from ragdrop.bootstrap import bootstrap
from ragdrop.http import authenticated, create_api, handed_over
from ragdrop.observability import configure, logger
from ragdrop.routes.ask import ask_router
from ragdrop.routes.documents import documents_router
from ragdrop.routes.health import health_router
from ragdrop.routes.mcp import mcp_router
from ragdrop.routes.search import search_router
from ragdrop.routes.stats import stats_router

app = bootstrap(function="mcp")  # once per execution environment
configure(app.settings.log_level)
reader, writer = (handed_over(role) for role in ("reader", "writer"))
inner = create_api(
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
api = create_api(
    [mcp_router(inner, authenticated(app.directory, "reader"))], allow_origins=app.settings.cors_allow_origins
)
serve = Mangum(api, lifespan="off")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
