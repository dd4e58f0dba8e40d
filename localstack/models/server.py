"""The laptop's model server: embeddings, the extractive answerer, the reader and OCR, each where it is asked for."""

from __future__ import annotations

import argparse
import logging
import sys
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import mul
from pathlib import Path

from starlette.routing import Route

from localstack.models.answerer import answerer_routes
from localstack.models.embedding import EmbeddingModel, FastembedModel, MultilingualModel, embedding_routes
from localstack.models.extraction import Similarity
from localstack.models.ocr import RapidRecognizer, ocr_routes
from localstack.models.serving import application, serve
from localstack.models.weights import MODEL_NAME, MULTILINGUAL_NAME, write_tokenizer

LAYER = Path(__file__).resolve().parents[2] / "layers/common/python"
SIMILARITY_TIMEOUT_S = 5.0  # an answer does not wait for the embedding of documents
logger = logging.getLogger(__name__)


def similarity_by(model: EmbeddingModel, timeout_s: float = SIMILARITY_TIMEOUT_S) -> Similarity:
    """Cosines by *model*, in [-1, 1]; None where it takes longer than *timeout_s*: then words decide."""
    pool = ThreadPoolExecutor(4, thread_name_prefix="similarity")

    def similarity(question: str, passages: Sequence[str]) -> list[float] | None:
        embedding = pool.submit(model.embed, [question, *passages])
        try:
            asked, *given = (array("f", vector) for vector in embedding.result(timeout_s).vectors)
        except TimeoutError:
            embedding.cancel()
            logger.warning("the embedding took over %s s: lexical only", timeout_s)
            return None
        return [sum(map(mul, asked, each)) for each in given]

    return similarity


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
        embedding = MultilingualModel() if name == MULTILINGUAL_NAME else FastembedModel(name, options.home)
        served |= embedding_routes(embedding)
    read, reading = None, dict[str, list[Route]]()
    if options.reader is not None and (options.reader / "reader.onnx").exists():
        sys.path.append(str(LAYER))
        from localstack.models.reading import read_by, reader_routes
        from ragdrop.models.onnx_reader import OnnxReader
        from ragdrop.models.reader import CachedReader

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
