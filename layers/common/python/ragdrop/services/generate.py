"""Generate: questions answered over HTTP; it retrieves in process, no Lambda calls another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

from ragdrop.http import authenticated, create_api
from ragdrop.routes.ask import ask_router
from ragdrop.routes.chat import chat_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def generate_api(app: App) -> FastAPI:
    """The routes that ask a chat model, over the parts of *app*."""
    reader = authenticated(app.directory, "reader")
    routers = [
        ask_router(lambda: app.ask, reader),
        chat_router(lambda: app.converse, lambda: app.condense_conversation, app.directory, reader),
    ]
    return create_api(routers, allow_origins=app.settings.cors_allow_origins)
