"""Query: search and documents over HTTP, and the OpenAPI document of the whole API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from ragdrop.http import authenticated, create_api, maybe_authenticated
from ragdrop.routes.answers import answers_router
from ragdrop.routes.api_document import documented
from ragdrop.routes.ask import ask_router
from ragdrop.routes.chat import chat_router
from ragdrop.routes.documents import documents_router
from ragdrop.routes.health import health_router
from ragdrop.routes.search import search_router
from ragdrop.routes.stats import stats_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def query_api(app: App) -> FastAPI:
    """Every route of the API, each over the parts of *app*, which are made when they are first asked for."""
    reader, writer = (authenticated(app.directory, role) for role in ("reader", "writer"))
    routers = [
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
    ]
    return documented(create_api(routers, allow_origins=app.settings.cors_allow_origins))
