"""The laptop's chat service: `POST /v1/chat/completions`, answered with a passage quoted from the sources."""

from __future__ import annotations

import argparse
import time
import uuid

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from localstack.models.chat_protocol import ProtocolCompletion, cut, events, read_chat, tokens, whole
from localstack.models.extraction import Similarity, pick_quotes
from localstack.models.serving import application, read_json, serve
from localstack.models.similarity import EmbeddingSimilarity
from localstack.models.sources import read_task
from localstack.models.weights import MODEL_NAME

MODEL = "ragdrop-extractive"
INSUFFICIENT = "INSUFFICIENT_INFORMATION"  # the prompt's sentinel: ragdrop turns it into an abstention


def answer(message: str, similarity: Similarity | None = None) -> str:
    """The reply to ragdrop's prompt *message*: quoted sentences with their markers, or the sentinel.

    A message of any other form gets the sentinel too, since there are no sources to quote.

    >>> answer("Hello")
    'INSUFFICIENT_INFORMATION'
    """
    task = read_task(message)
    quotes = pick_quotes(task, similarity) if task else []
    if not quotes:
        return INSUFFICIENT
    return "".join(f"{quote.text} [{quote.prefix}{quote.number}]{quote.after}" for quote in quotes).rstrip()


def answerer_app(similarity: Similarity | None = None) -> Starlette:
    """The server's app; without *similarity* words alone decide what answers."""

    async def completions(request: Request) -> Response:
        asked = read_chat(await read_json(request), model=MODEL)
        text, reason = cut(await run_in_threadpool(answer, asked.message, similarity), asked.max_tokens)
        completion = ProtocolCompletion(
            id=f"chatcmpl-{uuid.uuid4().hex}",
            model=MODEL,
            created=int(time.time()),
            text=text,
            finish_reason=reason,
            prompt_tokens=tokens(asked.prompt_chars),
        )
        if asked.stream:
            return StreamingResponse(
                events(completion, include_usage=asked.include_usage), media_type="text/event-stream"
            )
        return JSONResponse(whole(completion))

    return application(MODEL, [Route("/v1/chat/completions", completions, methods=["POST"])])


def main(arguments: list[str] | None = None) -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m localstack.models.answerer", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="serve on this port")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--embedding-url", help="an embedding service, with its /v1, to compare meanings by")
    parser.add_argument("--embedding-model", default=MODEL_NAME, help="its model; default: %(default)s")
    options = parser.parse_args(arguments)
    similarity = EmbeddingSimilarity(options.embedding_url, options.embedding_model) if options.embedding_url else None
    serve(answerer_app(similarity), options.host, options.port)


if __name__ == "__main__":
    main()
