"""Embed texts in this process by ONNX Runtime.

numpy, onnxruntime and tokenizers are imported when an embedder is built: the layer of the functions does not hold them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ragdrop.domain.models import model_window_tokens
from ragdrop.models.model_protocol import Embedded
from ragdrop.models.onnx_reader import file_content, package, session_of, tokenizer_of

MAX_BATCH_TOKENS = 512  # two full windows: larger batches were no faster on 2 cores and took 3 x the memory
QUESTION_TOKENS = 1_024  # a request up to this size is a question or what its answer is picked from: it never queues
MAX_WORKERS = 4
_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


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


class BatchRunner:
    """Runs the batches of a request by threads; questions have their own, so that none queues behind documents.

    One thread a batch and several batches at once: threads of one batch wait for each other, which on a busy machine
    doubled the time (2 cores, three other jobs: 280 ms a passage with one thread, 670 with two).
    """

    def __init__(self) -> None:
        workers = min(os.cpu_count() or 1, MAX_WORKERS)
        self._questions = ThreadPoolExecutor(workers, thread_name_prefix="questions")
        self._documents = ThreadPoolExecutor(workers, thread_name_prefix="documents")

    def embed(self, lengths: Sequence[int], run: Callable[[Sequence[int]], Sequence[bytes]]) -> Embedded:
        """Embed texts of *lengths* tokens by *run*, which gets the positions of a batch and returns its vectors."""
        batches = list(batches_by_length(lengths))
        threads = self._questions if sum(lengths) <= QUESTION_TOKENS else self._documents
        vectors = [b""] * len(lengths)
        for batch, output in zip(batches, threads.map(run, batches), strict=True):
            for position, vector in zip(batch, output, strict=True):
                vectors[position] = vector
        return Embedded(vectors, sum(lengths))


def unit(vector: Any) -> Any:
    """The numpy *vector* at length 1, as little-endian float32; a zero vector stays so."""
    length = float((vector.astype("float64") ** 2).sum()) ** 0.5
    return (vector / length if length else vector).astype("<f4")


class OnnxEmbedder:
    """An EmbeddingModel of the BERT kind whose vectors are the mean of a text's tokens; several threads may call it.

    Args:
        folder: Holds model.onnx and tokenizer.json.
        name: Of the model; decides how many tokens of a text it reads.

    Raises:
        ConfigurationError: A package or a file is missing or damaged.
    """

    def __init__(self, folder: Path, *, name: str) -> None:
        self.name = name
        self._numpy = package("numpy")
        self._session = session_of(file_content(folder / "model.onnx"))
        self._tokenizer = tokenizer_of(folder / "tokenizer.json")
        self._tokenizer.enable_truncation(model_window_tokens(name))
        self._batches = BatchRunner()
        self.dimension = len(self.embed(["warm up"]).vectors[0]) // 4

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*, any number of them; each is cut to the model's window."""
        whole = [text.encode(errors="replace").decode() for text in texts]  # half a surrogate pair becomes a `?`
        tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(whole)]
        return self._batches.embed(list(map(len, tokens)), lambda batch: self._run([tokens[at] for at in batch]))

    def _run(self, batch: Sequence[Sequence[int]]) -> list[bytes]:
        np = self._numpy
        lengths = np.array([len(tokens) for tokens in batch])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
        ids = np.zeros_like(mask)
        ids[mask == 1] = np.concatenate(batch)
        [states] = self._session.run(None, dict(zip(_INPUTS, (ids, mask, np.zeros_like(mask)), strict=True)))
        means = (states * mask[:, :, None]).sum(axis=1) / lengths[:, None]
        return [unit(vector).tobytes() for vector in means]
