"""Every route of the OpenAPI document over a World: what the query function serves, with fakes below."""

from __future__ import annotations

from collections.abc import Collection

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
from tests.world import World


def query_api(world: World, *, allow_origins: Collection[str] = ()) -> FastAPI:
    """The application; a key is one of the world's own."""
    app = world.app
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
        ask_router(lambda: app.ask, reader),
        chat_router(lambda: app.converse, lambda: app.condense_conversation, app.directory, reader),
    ]
    return documented(create_api(routers, allow_origins=allow_origins))
