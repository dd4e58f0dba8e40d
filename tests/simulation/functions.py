"""The functions that answer HTTP, as ASGI applications that are built once a process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragdrop.api.apis import ask_first_api, search_first_api
from ragdrop.api.mcp.mcp_route import mcp_api
from ragdrop.app import App, Ports, compose
from ragdrop.config import Settings
from tests.simulation.process import CLOCK
from tests.simulation.scheduler import Scheduler
from tests.world import ENVIRONMENT

SETTINGS = {**ENVIRONMENT, "LINKS_ACROSS_VAULTS": "true"}


class Late:
    """An object that is looked up at each use: the APIs are built once, for whichever environment runs."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find

    def __getattr__(self, name: str) -> Any:
        if name in {"tenants", "directory"}:
            return Late(lambda: getattr(self._find(), name))
        return getattr(self._find(), name)


class Functions:
    """The ASGI applications of the functions that answer HTTP, built once a process."""

    def __init__(self) -> None:
        self.scheduler: Scheduler | None = None
        self._loops: list[asyncio.AbstractEventLoop] = []
        app: Any = Late(self._app)
        self._first: App | None = compose(Ports(Settings.from_environment(SETTINGS)))
        self.apis: dict[str, Any] = {"query": search_first_api(app), "generate": ask_first_api(app)}
        self.apis["mcp"] = mcp_api(app)
        self.apis["query"].rest  # noqa: B018 - built now, while no environment runs
        self._first = None

    def _app(self) -> App:
        if self._first is not None:
            return self._first
        assert self.scheduler is not None
        assert self.scheduler.current is not None
        app: App = self.scheduler.current.environment.app
        return app

    def request(self, function: str, method: str, path: str, secret: str, body: Any, ends_s: float) -> tuple[int, str]:
        """Status and body of one request, in the environment of the current actor."""
        route, _, query = path.partition("?")
        sent = b"" if body is None else json.dumps(body).encode()
        scope = {
            "type": "http",
            "method": method,
            "path": route,
            "raw_path": route.encode(),
            "root_path": "",
            "scheme": "https",
            "http_version": "1.1",
            "query_string": query.encode(),
            "server": ("api.example", 443),
            "client": ("127.0.0.1", 1),
            "headers": [(b"x-api-key", secret.encode()), (b"content-type", b"application/json")],
            "aws.context": Left(ends_s),
        }
        status, chunks = 0, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                chunks.append(message.get("body", b""))

        loop = self._loops.pop() if self._loops else asyncio.new_event_loop()
        loop.run_until_complete(self.apis[function](scope, receive, send))
        self._loops.append(loop)  # that of a crash is left alone
        return status, b"".join(chunks).decode()


@dataclass(frozen=True, slots=True)
class Left:
    """What `deadline_of` reads of a Lambda context."""

    ends_s: float

    def get_remaining_time_in_millis(self) -> float:
        """Milliseconds until the function is cut off."""
        return (self.ends_s - CLOCK.now_s) * 1_000
