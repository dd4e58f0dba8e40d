"""Query: search and documents over HTTP, and the OpenAPI document of the whole API."""

from __future__ import annotations

from typing import Any

from mangum import Mangum

from ragdrop.bootstrap import bootstrap
from ragdrop.http import authenticated, create_api, maybe_authenticated
from ragdrop.observability import configure, logger
from ragdrop.routes.answers import answers_router
from ragdrop.routes.api_document import documented
from ragdrop.routes.ask import ask_router
from ragdrop.routes.chat import chat_router
from ragdrop.routes.documents import documents_router
from ragdrop.routes.health import health_router
from ragdrop.routes.search import search_router
from ragdrop.routes.stats import stats_router

app = bootstrap(function="query")  # once per execution environment
configure(app.settings.log_level)
reader, writer = (authenticated(app.directory, role) for role in ("reader", "writer"))
api = documented(
    create_api(
        [
            search_router(lambda: app.search, reader),
            documents_router(
                lambda: app.keep_documents,
                lambda: app.retry_documents,
                lambda: app.purge_documents,
                lambda: app.write_once,
                reader,
                writer,
            ),
            answers_router(lambda: app.keep_receipts, reader),
            stats_router(lambda: app.read_stats, reader),
            health_router(lambda: app.check_health, app.directory, maybe_authenticated(app.directory)),
            # declared for the OpenAPI document; the gateway sends /ask and /v1 to generate
            ask_router(lambda: app.ask, reader),
            chat_router(lambda: app.converse, lambda: app.condense_conversation, app.directory, reader),
        ],
        allow_origins=app.settings.cors_allow_origins,
    )
)
serve = Mangum(api, lifespan="off")


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Serve one request of the REST API."""
    return serve(event, context)
