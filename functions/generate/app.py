"""Generate: questions answered over HTTP; it retrieves in process, no Lambda calls another."""

from __future__ import annotations

from typing import Any

from mangum import Mangum

from ragdrop.bootstrap import bootstrap
from ragdrop.http import authenticated, create_api
from ragdrop.observability import configure, logger
from ragdrop.routes.ask import ask_router
from ragdrop.routes.chat import chat_router
from ragdrop.web_adapter import BehindWebAdapter

app = bootstrap(function="generate")  # once per execution environment
configure(app.settings.log_level)
reader = authenticated(app.directory, "reader")
api = create_api(
    [
        ask_router(lambda: app.ask, reader),
        chat_router(lambda: app.converse, lambda: app.condense_conversation, app.directory, reader),
    ],
    allow_origins=app.settings.cors_allow_origins,
)
adapted = BehindWebAdapter(api)  # what run.sh serves where responses stream
serve = Mangum(api, lifespan="off")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
