"""The reader's routes on a laptop: `POST /v1/read`, and `POST /v1/rerank` by its relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localstack.models.extraction import Read
from localstack.models.serving import ProtocolError, read_json, request_to
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.languages import is_english
from ragdrop.errors import DeadlineError
from ragdrop.models.reader import MAX_PAIRS, MODEL
from ragdrop.ports.model_services import Reader, Reading

MAX_CHARACTERS = 40_000  # of one text
READ_TIMEOUT_S = 10.0  # ragdrop waits no longer


def read_by(reader: Reader, timeout_s: float = READ_TIMEOUT_S) -> Read:
    """Readings by *reader*; None where they take longer than *timeout_s*, or it is no English question."""

    def read(question: str, passages: Sequence[str]) -> list[Reading] | None:
        try:
            asked = [(question, passage) for passage in passages]
            return reader.read(asked, Deadline.after(timeout_s)) if is_english(question) else None
        except DeadlineError:
            return None

    return read


def checked_pairs(pairs: object, param: str) -> list[tuple[str, str]]:
    """The *pairs* of query and passage that the field *param* stands for.

    Raises ProtocolError with 400: too many of them or none, one that is no pair, a text that is too long.
    """
    if not isinstance(pairs, list) or not 1 <= len(pairs) <= MAX_PAIRS:
        raise ProtocolError(400, f"{param} must be a list of 1 to {MAX_PAIRS}.", param=param)
    for position, pair in enumerate(pairs):
        texts = pair if isinstance(pair, list) and len(pair) == 2 else [None]
        if not all(isinstance(text, str) and len(text) <= MAX_CHARACTERS for text in texts):
            message = f"{param}[{position}] needs a query and a passage of at most {MAX_CHARACTERS} characters each."
            raise ProtocolError(400, message, param=param)
    return [(query, passage) for query, passage in pairs]


def reader_routes(reader: Reader, version: str) -> dict[str, list[Route]]:
    """The routes of a loaded *reader*, by its name; it runs in threads, so health answers meanwhile."""

    async def readings(pairs: list[tuple[str, str]]) -> list[Reading]:
        try:
            return await run_in_threadpool(reader.read, pairs, Deadline.after(READ_TIMEOUT_S))
        except DeadlineError as exc:
            raise ProtocolError(503, f"The pairs were not read within {READ_TIMEOUT_S:.0f} s.") from exc

    async def read(request: Request) -> Response:
        body = request_to(MODEL, await read_json(request))
        found = await readings(checked_pairs(body.get("pairs"), "pairs"))
        data = [{"index": index, **asdict(reading)} for index, reading in enumerate(found)]
        return JSONResponse({"model": MODEL, "version": version, "data": data})

    async def rerank(request: Request) -> Response:
        body = request_to(MODEL, await read_json(request))
        documents: Any = body.get("documents")
        pairs = [[body.get("query"), text] for text in documents] if isinstance(documents, list) else None
        top = body.get("top_n", MAX_PAIRS)
        if not isinstance(top, int) or top < 1:
            raise ProtocolError(400, "top_n must be a whole number from 1.", param="top_n")
        found = await readings(checked_pairs(pairs, "documents"))
        results = [{"index": index, "relevance_score": reading.relevance} for index, reading in enumerate(found)]
        results.sort(key=lambda result: -result["relevance_score"])
        return JSONResponse({"model": MODEL, "results": results[:top]})

    return {MODEL: [Route("/v1/read", read, methods=["POST"]), Route("/v1/rerank", rerank, methods=["POST"])]}
