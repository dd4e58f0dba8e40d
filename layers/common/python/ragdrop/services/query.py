"""Query: search and documents over HTTP, and the OpenAPI document of the whole API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from ragdrop.http import authenticated, create_api, maybe_authenticated
from ragdrop.routes.answers import answers_router
from ragdrop.routes.api_document import documented
from ragdrop.routes.chat import chat_router
from ragdrop.services.core_routes import core_routes

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def query_api(app: App) -> FastAPI:
    """Every route of the API: /ask and /v1 are declared for its document, the gateway sends them to generate."""
    reader, writer = (authenticated(app.directory, role) for role in ("reader", "writer"))
    routers = [
        *core_routes(app, reader=reader, writer=writer, anyone=maybe_authenticated(app.directory)),
        answers_router(lambda: app.keep_receipts, reader),
        chat_router(lambda: app.converse, lambda: app.condense_conversation, app.directory, reader),
    ]
    return documented(create_api(routers, allow_origins=app.settings.cors_allow_origins))
