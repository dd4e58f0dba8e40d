"""Cross-origin requests: which web pages may call the API from a browser, by the setting CORS_ALLOW_ORIGINS."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers = list[tuple[bytes, bytes]]

ANY = "*"
METHODS = b"GET, HEAD, POST, PUT, DELETE"
EXPOSED = b"x-request-id, etag, retry-after, allow"
MAX_AGE_S = b"600"  # how long a browser remembers a preflight; Chromium takes at most 7,200


class CrossOrigin:
    """Answers preflights and marks responses for pages of *origins*; credentials of the browser are never allowed.

    Headers that a page asks for are all allowed: it must have a key, which no browser adds by itself.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        origin = headers.get(b"origin")
        marks = self._marks(origin)
        if origin is None or not marks:
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            wanted = headers.get(b"access-control-request-headers", b"")
            await _answer(send, [*marks, *_permissions(wanted)])
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                exposed = (b"access-control-expose-headers", EXPOSED)
                message = {**message, "headers": [*message["headers"], *marks, exposed]}
            await send(message)

        await self._app(scope, receive, marked)

    def _marks(self, origin: bytes | None) -> Headers:
        if ANY in self._origins:
            return [(b"access-control-allow-origin", b"*")]
        if origin is not None and origin.decode("latin-1") in self._origins:
            return [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        return []


def _permissions(wanted: bytes) -> Headers:
    given = [(b"access-control-allow-methods", METHODS), (b"access-control-max-age", MAX_AGE_S)]
    return [*given, (b"access-control-allow-headers", wanted)] if wanted else given


async def _answer(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
