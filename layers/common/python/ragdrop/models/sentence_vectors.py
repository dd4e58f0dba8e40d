"""Vectors of sentences, each made once, and how near the nearest of a passage is to a question."""

from collections.abc import Sequence
from operator import mul

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.ports.model_services import Embedder

MOST_CACHED = 2_000  # vectors of sentences: 3 MB of the local model's
COMPARES = {"all-minilm-l6-v2": True}
"""Embedding models whose cosines of sentences were measured; with others sentences are not compared."""


class SentenceVectors:
    """The vectors of texts, cached; thread-safe."""

    def __init__(self, embedder: Embedder, space: EmbeddingSpace, *, size: int = MOST_CACHED) -> None:
        self._embedder = embedder
        self._space = space
        self._cached = BoundedCache[str, Vector](size=size)

    def __call__(self, texts: Sequence[str], deadline: Deadline) -> dict[str, Vector]:
        """The vector of each of *texts*.

        Raises EmbeddingServiceError or ModelNotFoundError: there are none.
        """
        known = {text: self._cached.get(text, now_s=0.0) for text in texts}
        found = {text: vector for text, vector in known.items() if vector is not None}
        new = [text for text in known if text not in found]
        for text, vector in zip(new, self._embedder.passages(new, self._space, deadline), strict=True):
            self._cached.put(text, vector, now_s=0.0)
            found[text] = vector
        return found


class NearestSentence:
    """How near the nearest sentence of a passage is to a question: one vector of a long passage hides it."""

    def __init__(self, embedder: Embedder, space: EmbeddingSpace) -> None:
        self._embedder = embedder
        self._space = space
        self._vectors = SentenceVectors(embedder, space)

    def __call__(self, question: str, passages: Sequence[Sequence[str]], deadline: Deadline) -> list[float]:
        """The highest cosine of *question* and a sentence of each passage, -1 to 1; 0 for one without sentences.

        Raises EmbeddingServiceError or ModelNotFoundError: there are no vectors.
        """
        vectors = self._vectors([text for passage in passages for text in passage], deadline)
        asked = self._embedder.query(question, self._space, deadline)
        near = {text: sum(map(mul, asked, vector)) for text, vector in vectors.items()}
        return [max((near[text] for text in passage), default=0.0) for passage in passages]
