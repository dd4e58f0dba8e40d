"""HEAD, OPTIONS and the methods that a path takes: what every route has without saying so."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def allowed_methods(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """The methods of the path in *scope*, for `Allow`: HEAD where there is GET, OPTIONS always."""
    known = list(routes)
    found = [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in known)
    ]
    if "GET" in found:
        found.insert(1, "HEAD")
    return [*found, "OPTIONS"]


class HeadAsGet:
    """Serves HEAD as GET and sends everything but the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET", "ragdrop.head": True}, receive, without_body)
