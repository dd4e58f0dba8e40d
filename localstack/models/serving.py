"""The shared part of the local model servers: health, model list, JSON bodies, OpenAI's error bodies, quiet logs."""

from __future__ import annotations

import json
import time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class ProtocolError(Exception):
    """A request that the OpenAI protocol refuses; carries the HTTP status and the body to answer with."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    @property
    def body(self) -> dict[str, Any]:
        """The answer's JSON."""
        return {
            "error": {"message": str(self), "type": "invalid_request_error", "param": self.param, "code": self.code}
        }


def model_not_found(asked: object, served: str) -> ProtocolError:
    """The 404 for a model that this server does not have; *served* is the one it has."""
    return ProtocolError(
        404,
        f"The model {asked!r} does not exist here; this server has {served!r}.",
        code="model_not_found",
        param="model",
    )


MAX_BODY_BYTES = 32_000_000  # 2,048 texts of 4,000 characters, and room


async def read_json(request: Request) -> object:
    """The JSON of *request*. Raises ProtocolError with 400 for bad JSON, 413 for a body over MAX_BODY_BYTES."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > MAX_BODY_BYTES:
            raise ProtocolError(413, f"The body is over {MAX_BODY_BYTES} bytes.")
    try:
        body: object = json.loads(received)
    except ValueError as exc:
        raise ProtocolError(400, "The body is not valid JSON.") from exc
    return body


def application(model: str, routes: list[Route]) -> Starlette:
    """An app with *routes*, `/health` and `/v1/models`; it exists only once its model is loaded, so health is ok."""
    started = int(time.time())

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_: Request) -> Response:
        entry = {"id": model, "object": "model", "created": started, "owned_by": "ragdrop"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def refused(_: Request, exc: Exception) -> Response:
        if not isinstance(exc, ProtocolError):
            raise exc
        return JSONResponse(exc.body, status_code=exc.status)

    return Starlette(
        routes=[Route("/health", health), Route("/v1/models", models), *routes],
        exception_handlers={ProtocolError: refused},
    )


def serve(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; logs warnings only, and never a request."""
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
