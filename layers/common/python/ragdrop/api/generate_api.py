"""The generate function's API: answer questions over HTTP, with the search in process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from ragdrop.api.ask import ask_router
from ragdrop.api.http import authenticated, create_api
from ragdrop.api.openai import chat_router, embeddings_router
from ragdrop.api.verify import verify_router

if TYPE_CHECKING:
    from ragdrop.bootstrap import App


def generate_api(app: App) -> FastAPI:
    """The routes that ask a chat model, over the parts of *app*."""
    reader = authenticated(app.tenants.directory, "reader")
    routers = [
        ask_router(lambda: app.generate.ask, lambda: app.generate.condense_conversation, reader),
        chat_router(
            lambda: app.generate.converse, lambda: app.generate.condense_conversation, app.tenants.directory, reader
        ),
        embeddings_router(lambda: app.ports.guarded_embedder, app.tenants.directory, reader),
        verify_router(lambda: app.generate.verify, reader),
    ]
    return create_api(
        routers, allow_origins=app.ports.settings.cors_allow_origins, observe=lambda: app.query.observe_queries
    )


CONTEXT_HEADER = b"x-amzn-lambda-context"


@dataclass(frozen=True, slots=True)
class AdapterContext:
    """What `deadline_of` reads of a Lambda context; `deadline_ms` counts from 1970."""

    deadline_ms: float
    clock: Callable[[], float] = time.time

    def get_remaining_time_in_millis(self) -> float:
        """Milliseconds until Lambda ends the function."""
        return self.deadline_ms - self.clock() * 1_000


class BehindWebAdapter:
    """Reads the adapter's header into the scope.

    Only what the adapter starts is wrapped in it: elsewhere the header would be the caller's own word.  Of several such
    headers the earliest deadline counts, as a caller may add one.
    """

    def __init__(self, app: ASGIApp, *, clock: Callable[[], float] = time.time) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            found = [_deadline_ms(value) for name, value in scope["headers"] if name == CONTEXT_HEADER]
            known = [deadline_ms for deadline_ms in found if deadline_ms is not None]
            if known:
                context = AdapterContext(min(known), self._clock)
                event = {"requestContext": _gateways_words(scope["headers"]), "path": scope.get("path", "")}
                scope = {**scope, "aws.context": context, "aws.event": event, "ragdrop.streams": True}
        await self._app(scope, receive, send)


def _gateways_words(headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """What the gateway says of a request, as the adapter hands it on: links name its stage."""
    try:
        found = json.loads(dict(headers).get(b"x-amzn-request-context", b"{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _deadline_ms(value: bytes) -> float | None:
    try:
        return float(json.loads(value)["deadline"])
    except (ValueError, KeyError, TypeError):
        return None
