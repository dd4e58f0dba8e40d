"""The shared part of the local models: health, model list, JSON bodies, OpenAI's error bodies, quiet logs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import chain
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
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def request_to(model: str, body: object, *, is_named: bool = False) -> dict[str, Any]:
    """The JSON object *body*, a request to *model*, which it may leave out unless *is_named*.

    Raises ProtocolError with 400 for what is no object, 404 for another model.
    """
    if not isinstance(body, dict):
        raise ProtocolError(400, "The body must be a JSON object.")
    asked = body.get("model", None if is_named else model)
    if asked != model:
        message = f"The model {asked!r} does not exist here; this address has {model!r}."
        raise ProtocolError(404, message, code="model_not_found", param="model")
    return body


MAX_BODY_BYTES = 32_000_000  # 2,048 texts of 4,000 characters, and room


async def read_json(request: Request) -> object:
    """The JSON of *request*. Raises ProtocolError with 400 for bad JSON, 413 for a body over MAX_BODY_BYTES."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > MAX_BODY_BYTES:
            raise ProtocolError(413, f"The body is over {MAX_BODY_BYTES} bytes.")
    try:
        return json.loads(received)
    except ValueError as exc:
        raise ProtocolError(400, "The body is not valid JSON.") from exc


def application(served: Mapping[str, Sequence[Route]]) -> Starlette:
    """An app with the routes of its models by their names, `/health` and `/v1/models`.

    It exists only once its models are loaded, so health is ok.  The address of another model has no model: 404.
    """
    started = int(time.time())

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_: Request) -> Response:
        data = [{"id": name, "object": "model", "created": started, "owned_by": "ragdrop"} for name in served]
        return JSONResponse({"object": "list", "data": data})

    async def refused(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, ProtocolError):
            message = f"No model for {request.url.path} is loaded here; this server has {', '.join(served)}."
            exc = ProtocolError(404, message, code="model_not_found")
        return JSONResponse(exc.body, status_code=exc.status)

    return Starlette(
        routes=[Route("/health", health), Route("/v1/models", models), *chain.from_iterable(served.values())],
        exception_handlers={ProtocolError: refused, 404: refused},
    )


def serve(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; logs warnings only, and never a request."""
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
