"""The embedding model behind the local server: fastembed, a question never waiting behind documents."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from localstack.models.weights import DIMENSION, MODEL_NAME, prepare_model_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray  # type: ignore[import-not-found, unused-ignore]  # of the models environment

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

    Args:
        lengths: Tokens of each text.
        max_tokens: Texts times longest text of a batch, padding included; a longer text goes alone.

    >>> list(batches_by_length([9, 1, 8, 2], max_tokens=9))
    [[1, 3], [2], [0]]

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
        from fastembed.common.model_description import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
            ModelSource,
            PoolingType,
        )

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


def unit(vector: NDArray[Any]) -> NDArray[Any]:
    """The numpy *vector* at length 1, as little-endian float32; a zero vector stays as it is."""
    length = float((vector.astype("float64") ** 2).sum()) ** 0.5
    return (vector / length if length else vector).astype("<f4")
