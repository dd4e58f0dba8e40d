"""The laptop's model server: embeddings, the extractive answerer, the reader and OCR, each where it is asked for."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from starlette.routing import Route

from localstack.models.embedding import FastembedModel, MultilingualModel
from localstack.models.ocr import RapidRecognizer, ocr_routes
from localstack.models.serving import answerer_routes, application, embedding_routes, reader_routes, serve
from localstack.models.weights import MODEL_NAME, MULTILINGUAL_NAME, prepare_model_folder, write_tokenizer
from ragdrop.models.answerer import read_by, similarity_by
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.model_protocol import EmbeddingModel
from ragdrop.models.onnx_embedder import OnnxEmbedder
from ragdrop.models.onnx_reader import OnnxReader

logger = logging.getLogger(__name__)


def embedding_model(name: str, home: Path) -> EmbeddingModel:
    """The embedding model of this *name*, with its files below *home*; one that is not ours is downloaded."""
    if name == MULTILINGUAL_NAME:
        return MultilingualModel()
    if name == MODEL_NAME:
        return OnnxEmbedder(prepare_model_folder(home), name=name)
    return FastembedModel(name, home)


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m localstack.models.server", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="serve on this port")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--home", type=Path, default=Path(".local/models"), help="folder for model files")
    parser.add_argument("--embedding", metavar="MODEL", help="serve this embedding model; it is downloaded if unknown")
    parser.add_argument("--answerer", action="store_true", help="serve the answerer, which compares by the embedding")
    parser.add_argument("--reader", type=Path, metavar="FOLDER", help="serve the reader of reader.onnx in this folder")
    parser.add_argument("--ocr", action="store_true", help="serve the recogniser of text in pictures")
    options = parser.parse_args(arguments)
    served: dict[str, list[Route]] = {}
    embedding: EmbeddingModel | None = None
    if name := options.embedding:
        embedding = embedding_model(name, options.home)
        served |= embedding_routes(embedding)
    read, reading = None, dict[str, list[Route]]()
    if options.reader is not None and (options.reader / "reader.onnx").exists():
        tokenizer = options.home / MODEL_NAME / "tokenizer.json"
        write_tokenizer(tokenizer)
        model = OnnxReader(options.reader, tokenizer=tokenizer)
        reader = CachedReader(model)  # the answerer reads what ragdrop has just read
        read, reading = read_by(reader), reader_routes(reader, model.card.version)
    elif not options.ocr:
        logger.warning("no reader is loaded: /v1/read and /v1/rerank answer model_not_found")
    if options.answerer:
        served |= answerer_routes(similarity_by(embedding) if embedding is not None else None, read)
    served |= reading
    if options.ocr:
        served |= ocr_routes(RapidRecognizer())
    serve(application(served), options.host, options.port)


if __name__ == "__main__":
    main()
