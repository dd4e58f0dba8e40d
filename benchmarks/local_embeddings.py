"""The local default model for benchmarks: its server on a free port when needed, its vectors kept between runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from array import array
from collections.abc import Sequence
from functools import cached_property
from operator import mul
from types import TracebackType

from benchmarks.embedding_server import MODEL, SERVER, EmbeddingServer
from benchmarks.embeddings_cache import EmbeddingsCache, cache_folder
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace

DIMENSION = 384
SPACE = EmbeddingSpace(MODEL, DIMENSION)
BATCH = 64


class LocalEmbeddings:
    """An Embedder whose server starts with the first text that was never seen; `make setup` makes its environment.

    Leaving the block stops the server.
    """

    def __enter__(self) -> LocalEmbeddings:
        """Open the cache."""
        self._cache = EmbeddingsCache(MODEL)
        self._server: EmbeddingServer | None = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server, if it was started."""
        if self._server is not None:
            self._server.close()
        self._cache.close()

    @cached_property
    def tokenizer(self) -> bytes:
        """The model's `tokenizer.json`, without truncation."""
        kept = cache_folder() / f"{MODEL}.tokenizer.json"
        if not kept.exists():
            draft = kept.with_suffix(f".{os.getpid()}")
            subprocess.run([*SERVER, "--write-tokenizer", str(draft)], check=True, timeout=60)  # noqa: S603 - our own
            draft.replace(kept)
        return kept.read_bytes()

    def ranked(self, questions: list[str], texts: list[str]) -> list[list[int]]:
        """For each question the places of all texts, nearest first by cosine."""
        vectors = self.embed(texts)
        cosines = [[sum(map(mul, asked, vector)) for vector in vectors] for asked in self.embed(questions)]
        return [sorted(range(len(vectors)), key=near.__getitem__, reverse=True) for near in cosines]

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:  # noqa: ARG002 - the port's
        """The vector of a question."""
        return self.embed([text])[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:  # noqa: ARG002
        """The vectors of passages."""
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """A unit vector each; only texts not seen before are computed, and are kept batch by batch."""
        found = self._cache.get(texts)
        missing = sorted(set(texts) - found.keys(), key=len)  # a batch costs what its longest text costs
        for start in range(0, len(missing), BATCH):
            made = self.computed(missing[start : start + BATCH])
            self._cache.put(made)
            found |= made
            if sys.stderr.isatty() or start // BATCH % 10 == 0:
                print(f"embedded {start + len(made)} of {len(missing)} new texts", file=sys.stderr, flush=True)
        return [found[text] for text in texts]

    def computed(self, texts: Sequence[str]) -> dict[str, array[float]]:
        """The same, not looked up and not kept."""
        if self._server is None:
            self._server = EmbeddingServer()
        vectors = json.loads(self._server.post(list(texts)))["data"]
        return {text: array("f", item["embedding"]) for text, item in zip(texts, vectors, strict=True)}
