"""The routes that people and agents share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from ragdrop.api.ask import ask_router
from ragdrop.api.documents import documents_router
from ragdrop.api.health import health_router, queue_router
from ragdrop.api.http import Authenticate, authenticated, create_api, maybe_authenticated
from ragdrop.api.openai import chat_router, embeddings_router
from ragdrop.api.openapi import documented
from ragdrop.api.past.canaries import canaries_router
from ragdrop.api.past.feedback import feedback_router
from ragdrop.api.past.history import history_router
from ragdrop.api.past.rollback import rollback_router
from ragdrop.api.past.stages import stages_router
from ragdrop.api.receipts import answers_router
from ragdrop.api.search import search_router
from ragdrop.api.stats import stats_router, vaults_router
from ragdrop.api.verify import verify_router
from ragdrop.api.web.page import page_router
from ragdrop.api.web.session import session_router
from ragdrop.domain.tenants import ROLES, Caller

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def core_routes(
    app: App,
    *,
    reader: Authenticate,
    writer: Authenticate,
    admin: Authenticate,
    anyone: Callable[..., Awaitable[Caller | None]],
) -> list[APIRouter]:
    """Search, ask, documents and their past, stats and health: over parts of *app*, made when they are first asked for.

    Args:
        app: The application.
        reader, writer, admin: Give the caller of a request, who has at least this role.
        anyone: Gives the caller, or None for a request without a key.
    """
    return [
        search_router(lambda: app.query.search, reader),
        ask_router(lambda: app.generate.ask, lambda: app.generate.condense_conversation, reader),
        history_router(lambda: app.history.record, lambda: app.documents.document_service, reader),
        documents_router(
            lambda: app.documents.document_service,
            lambda: app.documents.retry_documents,
            lambda: app.documents.purge_documents,
            lambda: app.documents.write_once,
            reader,
            writer,
        ),
        stats_router(lambda: app.operate.read_stats, lambda: app.operate.read_costs, reader),
        vaults_router(lambda: app.operate.read_vaults, reader),
        health_router(lambda: app.operate.check_health, lambda: app.operate.canaries, app.tenants.directory, anyone),
        queue_router(lambda: app.ports.queue, reader, admin),
    ]


def query_api(app: App) -> FastAPI:
    """Every route of the API: /ask and /v1 are declared for its document, the gateway sends them to generate."""
    reader, writer, admin = (authenticated(app.tenants.directory, role) for role in ROLES)
    routers = [
        *core_routes(app, reader=reader, writer=writer, admin=admin, anyone=maybe_authenticated(app.tenants.directory)),
        answers_router(lambda: app.generate.store_receipts, reader),
        feedback_router(lambda: app.generate.store_receipts, reader),
        chat_router(
            lambda: app.generate.converse, lambda: app.generate.condense_conversation, app.tenants.directory, reader
        ),
        embeddings_router(lambda: app.ports.guarded_embedder, app.tenants.directory, reader),
        stages_router(lambda: app.history.stages, reader, writer),
        canaries_router(lambda: app.operate.canaries, reader, writer),
        rollback_router(lambda: app.history.roll_back, writer),
        verify_router(lambda: app.generate.verify, reader),
        session_router(
            app.tenants.directory, lambda: app.tenants.sign_in_codes, reader, app.ports.settings.chat_models
        ),
        page_router(
            lambda: app.ports.documents.upload_form("-", media_type="-", metadata={}, max_bytes=1, expires_s=1).url
        ),
    ]
    return documented(
        create_api(
            routers, allow_origins=app.ports.settings.cors_allow_origins, observe=lambda: app.query.observe_queries
        )
    )
