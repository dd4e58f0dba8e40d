"""The local models over HTTP: their routes, health, model list, JSON bodies, OpenAI's error bodies, quiet logs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import chain

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ragdrop.models.answerer import MODEL as ANSWERER
from ragdrop.models.answerer import complete, completion_body, completion_events
from ragdrop.models.cached_reader import MODEL as READER
from ragdrop.models.extraction import Read, Similarity
from ragdrop.models.model_protocol import (
    Call,
    Calls,
    EmbeddingModel,
    ProtocolError,
    embedding_calls,
    model_list,
    not_served,
    reader_calls,
)
from ragdrop.ports.model_services import Reader

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


def routes_of(calls: Calls) -> list[Route]:
    """A route of `/v1` for each of *calls*; it runs in a thread, so health answers meanwhile."""

    def route(path: str, call: Call) -> Route:
        async def answered(request: Request) -> Response:
            return JSONResponse(await run_in_threadpool(call, await read_json(request)))

        return Route(f"/v1{path}", answered, methods=["POST"])

    return [route(path, call) for path, call in calls.items()]


def embedding_routes(model: EmbeddingModel) -> dict[str, list[Route]]:
    """The routes of a loaded *model*, by its name."""
    return {model.name: routes_of(embedding_calls(model))}


def reader_routes(reader: Reader, version: str) -> dict[str, list[Route]]:
    """The routes of a loaded *reader*, by its name."""
    return {READER: routes_of(reader_calls(reader, version))}


def answerer_routes(similarity: Similarity | None = None, read: Read | None = None) -> dict[str, list[Route]]:
    """The answerer's route by its name; without *similarity* it compares words, without *read* nothing is read."""

    async def completions(request: Request) -> Response:
        asked, completion = await run_in_threadpool(complete, await read_json(request), similarity, read)
        if asked.stream:
            return StreamingResponse(
                completion_events(completion, include_usage=asked.include_usage), media_type="text/event-stream"
            )
        return JSONResponse(completion_body(completion))

    return {ANSWERER: [Route("/v1/chat/completions", completions, methods=["POST"])]}


def application(served: Mapping[str, Sequence[Route]]) -> Starlette:
    """An app with the routes of its models by their names, `/health` and `/v1/models`.

    It exists only once its models are loaded, so health is ok.  The address of another model has no model: 404.
    """
    started = int(time.time())

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def models(_: Request) -> Response:
        return JSONResponse(model_list(list(served), started))

    async def refused(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, ProtocolError):
            exc = not_served(request.url.path, list(served))
        return JSONResponse(exc.body, status_code=exc.status)

    return Starlette(
        routes=[Route("/health", health), Route("/v1/models", models), *chain.from_iterable(served.values())],
        exception_handlers={ProtocolError: refused, 404: refused},
    )


def serve(app: Starlette, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; logs warnings only, and never a request."""
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
