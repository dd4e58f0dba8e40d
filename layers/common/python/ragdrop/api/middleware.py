"""ASGI middleware: CORS, HEAD and OPTIONS, and counts that are written before the reply ends."""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import wait

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragdrop.domain.deadlines import REQUEST_ID
from ragdrop.observability import logger
from ragdrop.resilience.timing import collected_writes

Headers = list[tuple[bytes, bytes]]
AnswerRequest = Callable[[Request], Awaitable[Response | None]]

ANY = "*"
ALLOWED_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
EXPOSED = b"x-request-id, etag, retry-after, allow, x-ragdrop-ignored, idempotent-replay"
MAX_AGE_S = b"600"  # how long a browser caches a preflight; Chromium takes at most 7,200


def is_event(scope: Scope) -> bool:
    """Whether a request is an event of Lambda, for which its loop may wait: it has no other."""
    return "aws.context" in scope and not scope.get("ragdrop.streams")


class CrossOrigin:
    """Answers preflights and marks responses for pages of *origins*; credentials of the browser are never allowed.

    Headers that a page asks for are all allowed: it must have a key, which no browser adds.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        self._app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"]) if scope["type"] == "http" else {}
        origin = headers.get(b"origin")
        marks = self._marks(origin)
        if origin is None or not marks:
            await self._app(scope, receive, send)
            return
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            requested = headers.get(b"access-control-request-headers", b"")
            await _answer(send, [*marks, *_permissions(requested)])
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


def _permissions(requested: bytes) -> Headers:
    given = [(b"access-control-allow-methods", ALLOWED_METHODS), (b"access-control-max-age", MAX_AGE_S)]
    return [*given, (b"access-control-allow-headers", requested)] if requested else given


async def _answer(send: Send, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


ROUTE_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def allowed_methods(routes: Iterable[BaseRoute], scope: Scope) -> list[str]:
    """The methods of the path in *scope*, for `Allow`: HEAD where there is GET, OPTIONS always."""
    known = list(routes)
    found = [
        method
        for method in ROUTE_METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in known)
    ]
    if "GET" in found:
        found.insert(1, "HEAD")
    return [*found, "OPTIONS"]


_REFUSED = re.compile(rb"gzip\s*;\s*q=0(?:\.0*)?\s*(?:,|$)", re.I)  # starlette looks for the word alone
NAMES_A_FOLDER = ("/documents/", "/app/")  # below these a slash at the end says something


class HeadAsGet:
    """Serves HEAD as GET and sends everything but the body, and `//v1/models/` as `/v1/models`: clients add slashes.

    Who refuses gzip by its weight gets none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = re.sub("/+", "/", scope["path"])
        if not path.startswith(NAMES_A_FOLDER):
            scope = {**scope, "path": path.removesuffix("/") or "/"}
        if any(name == b"accept-encoding" and _REFUSED.search(value) for name, value in scope["headers"]):
            scope = {**scope, "headers": [each for each in scope["headers"] if each[0] != b"accept-encoding"]}
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET", "ragdrop.head": True}, receive, without_body)


class RequestIds:
    """Gives every request an id and echoes it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = (
            given if given and len(given) <= 128 and given.isprintable() and given.isascii() else str(uuid.uuid4())
        )
        scope.setdefault("state", {})["request_id"] = request_id
        REQUEST_ID.set(request_id)
        logger.thread_safe_append_keys(request_id=request_id)  # for every line of this request, whoever writes it

        async def with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        await self._app(scope, receive, with_id)


class HotRoutes:
    """Answers good requests to *routes*, by method and path, without FastAPI, which takes longer than a small search.

    Where one gives None, the request is FastAPI's: so errors of the body, the document and the models are one.
    """

    def __init__(self, app: ASGIApp, routes: Mapping[tuple[str, str], AnswerRequest]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if answer is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        response = await answer(request)
        if response is not None:
            await response(scope, receive, send)
            return
        read = iter([{"type": "http.request", "body": await request.body(), "more_body": False}])

        async def again() -> Message:
            return next(read, None) or await receive()

        await self._app(scope, again, send)


class WaitForWrites:
    """Holds the end of a response back until the writes that its request began are over, well or badly."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with collected_writes() as begun:

            async def waited(message: Message) -> None:
                if begun and message["type"] == "http.response.body" and not message.get("more_body"):
                    if is_event(scope):
                        wait(begun)
                    else:
                        await asyncio.wait(map(asyncio.wrap_future, begun))
                    for exc in filter(None, (each.exception() for each in begun)):
                        logger.error("a write beside a reply failed", extra={"error": type(exc).__name__})
                await send(message)

            await self._app(scope, receive, waited)
