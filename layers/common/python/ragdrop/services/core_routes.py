"""The routes that people and agents share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter

from ragdrop.domain.tenants import Caller
from ragdrop.routes.ask import ask_router
from ragdrop.routes.documents import documents_router
from ragdrop.routes.health import health_router
from ragdrop.routes.search import search_router
from ragdrop.routes.stats import stats_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def core_routes(
    app: App,
    *,
    reader: Callable[..., Caller],
    writer: Callable[..., Caller],
    anyone: Callable[..., Caller | None],
) -> list[APIRouter]:
    """Search, ask, documents, stats and health over the parts of *app*, which are made when they are first asked for.

    Args:
        app: The application.
        reader, writer: Give the caller of a request, who has at least this role.
        anyone: Gives the caller, or None for a request without a key.
    """
    return [
        search_router(lambda: app.search, reader),
        ask_router(lambda: app.ask, reader),
        documents_router(
            lambda: app.keep_documents,
            lambda: app.retry_documents,
            lambda: app.purge_documents,
            lambda: app.write_once,
            reader,
            writer,
        ),
        stats_router(lambda: app.read_stats, reader),
        health_router(lambda: app.check_health, app.directory, anyone),
    ]
