"""MCP: the tools of agents over streamable HTTP; each works through the API's own routes, in this process."""

from __future__ import annotations

from typing import Any

from mangum import Mangum

from ragdrop.api.mcp.route import mcp_api
from ragdrop.bootstrap import build_app
from ragdrop.observability import configure, logger

app = build_app("mcp")  # once per execution environment
configure(app.ports.settings.log_level)
api = mcp_api(app)
serve = Mangum(api, lifespan="off")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
