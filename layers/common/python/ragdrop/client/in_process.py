"""A way for the client's requests to an application of the same process: no socket, the caller's own event loop."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import anyio.from_thread
import httpx
from starlette.types import ASGIApp, Message

HOST = "http://in-process.localhost"  # what a client is made with; the application sees the outer request's own host


class InProcessTransport(httpx.BaseTransport):
    """Carries requests to *app* on behalf of another request, whose scope is *outer*.

    The application sees the outer request's scheme, host and root, so that URLs in its replies are right, and
    *extra* in its scope.  To be used in a worker thread of the event loop that serves the outer request.
    """

    def __init__(self, app: ASGIApp, outer: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
        self._app = app
        self._outer = outer
        self._extra = extra

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Serve one request."""
        status, headers, content = anyio.from_thread.run(self._serve, request)
        return httpx.Response(status, headers=headers, content=content, request=request)

    async def _serve(self, request: httpx.Request) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        sent: MutableMapping[str, Any] = {"status": 500, "headers": [], "body": bytearray()}
        body = request.read()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent["status"], sent["headers"] = message["status"], message.get("headers", [])
            elif message["type"] == "http.response.body":
                sent["body"].extend(message.get("body", b""))

        await self._app(self._scope(request), receive, send)
        return sent["status"], sent["headers"], bytes(sent["body"])

    def _scope(self, request: httpx.Request) -> dict[str, Any]:
        outer = dict(self._outer["headers"])
        kept = [(name, outer[name]) for name in (b"host", b"x-request-id") if name in outer]
        own = [(name.lower(), value) for name, value in request.headers.raw if name.lower() not in dict(kept)]
        raw_path, _, query = request.url.raw_path.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": self._outer.get("scheme", "https"),
            "server": self._outer.get("server"),
            "client": self._outer.get("client"),
            "root_path": self._outer.get("root_path", ""),
            "path": request.url.path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": kept + own,
            **self._extra,
        }
