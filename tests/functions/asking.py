"""`POST /ask` of a World over HTTP: the real routes and use cases, a chat model of the test's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mangum import Mangum

from ragdrop.api.edge import MARGIN_S, authenticated, create_api
from ragdrop.api.routes.ask_routes import ask_router
from ragdrop.domain.tenants import Role
from ragdrop.ports.model_services import ChatModel
from tests.world import World

Event = tuple[str, dict[str, Any]]
GOLDEN = Path(__file__).parents[2] / "events" / "ask.json"


@dataclass(frozen=True)
class Response:
    """What API Gateway would send."""

    status_code: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.text)


@dataclass(frozen=True)
class Context:
    """What ragdrop reads of a Lambda context; the margin for sending the answer comes on top."""

    left_s: float

    def get_remaining_time_in_millis(self) -> int:
        """The time that is left, in ms."""
        return round((self.left_s + MARGIN_S) * 1_000)


class Asking:
    """A World that is asked over HTTP; `left_s` of a call is what the Lambda context would leave."""

    def __init__(self, chat: ChatModel | None = None, *, world: World | None = None, role: Role = "reader") -> None:
        self.world = world or World()
        if chat is not None:
            self.world.app.ports.chat = chat
        app = self.world.app
        reader = authenticated(app.tenants.directory, "reader")
        routes = ask_router(lambda: app.generate.ask, lambda: app.generate.condense_conversation, reader)
        api = create_api([routes])
        self.key, _ = app.operate.operator.create_key(self.world.tenant, role)
        self._serve = Mangum(api, lifespan="off")
        self._golden = json.loads(GOLDEN.read_text("utf-8"))

    def post(
        self, query: str, more: Mapping[str, Any] | None = None, *, left_s: float = 9.0, **fields: Any
    ) -> Response:
        """The whole response."""
        event = {**self._golden, "body": json.dumps({"query": query, **(more or {}), **fields})}
        event["headers"] = {**event["headers"], "x-api-key": self.key}
        event["multiValueHeaders"] = {name: [value] for name, value in event["headers"].items()}
        told = self._serve(event, Context(left_s))  # type: ignore[arg-type]
        headers = {name.lower(): value for name, value in told["headers"].items()}
        return Response(told["statusCode"], headers, told["body"])

    def ask(self, query: str, **fields: Any) -> dict[str, Any]:
        """The body of an answer, which must be one."""
        response = self.post(query, **fields)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    def refused(self, query: str, **fields: Any) -> dict[str, Any]:
        """The error of a request that is the caller's fault."""
        response = self.post(query, **fields)
        assert response.status_code == 400, response.text
        error: dict[str, Any] = response.json()["error"]
        return error

    def stream(self, query: str, **fields: Any) -> list[Event]:
        """The events of a streamed answer."""
        response = self.post(query, stream=True, **fields)
        assert response.headers["content-type"].startswith("text/event-stream"), response.text
        return [_event(block) for block in response.text.split("\n\n") if block]


def _event(block: str) -> Event:
    name, data = block.split("\n", 1)
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))
