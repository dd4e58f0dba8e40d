"""Generate: questions answered over HTTP; it retrieves in process, no Lambda calls another."""

from __future__ import annotations

from typing import Any

from mangum import Mangum

from ragdrop.bootstrap import bootstrap
from ragdrop.http import authenticated, create_api
from ragdrop.observability import configure, logger
from ragdrop.routes.ask import ask_router

app = bootstrap()  # once per execution environment
configure(app.settings.log_level)
api = create_api([ask_router(lambda: app.ask, authenticated(app.directory, "reader"))])
serve = Mangum(api, lifespan="off")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
