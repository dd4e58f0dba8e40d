"""Embeddings of OpenAI-compatible endpoints."""

import base64
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

import httpx

from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace, ModelCall
from ragdrop.errors import EmbeddingServiceError, RagdropError
from ragdrop.models.http import OpenAiHttp, missing_model, problem, unreached
from ragdrop.resilience.timing import note_call

SERVICE = "embedding"


class BatchEmbedder(ABC):
    """An Embedder that sends at most *batch_size* texts a request, and *concurrency* requests at once."""

    def __init__(self, *, batch_size: int, concurrency: int) -> None:
        self._batch_size = batch_size
        self._concurrency = concurrency

    @abstractmethod
    def embed(self, texts: list[str], space: EmbeddingSpace, deadline: Deadline, *, asking: bool) -> list[Vector]:
        """The vectors of the texts of one request, in order; *asking* says that they are questions."""

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        return self.embed([space.query_prefix + text], space, deadline, asking=True)[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        prefixed = [space.passage_prefix + text for text in texts]
        batches = [prefixed[at : at + self._batch_size] for at in range(0, len(prefixed), self._batch_size)]
        embed = partial(self.embed, asking=False)
        if self._concurrency == 1 or len(batches) < 2:
            return [found for batch in batches for found in embed(batch, space, deadline)]
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="embed") as pool:
            made = [pool.submit(copy_context().run, embed, batch, space, deadline) for batch in batches]
            try:
                return [found for each in made for found in each.result()]
            except RagdropError:
                pool.shutdown(cancel_futures=True)  # one failed: the others are not needed
                raise


class OpenAiEmbedder(BatchEmbedder):
    """A BatchEmbedder over `POST /v1/embeddings`; the tokens that the endpoint counted are noted."""

    def __init__(self, http: OpenAiHttp, *, batch_size: int = 32, concurrency: int = 1) -> None:
        super().__init__(batch_size=batch_size, concurrency=concurrency)
        self._http = http

    def embed(self, texts: list[str], space: EmbeddingSpace, deadline: Deadline, *, asking: bool) -> list[Vector]:
        body = {"model": space.model, "input": texts, "encoding_format": "base64"}
        try:
            response = self._http.post("/embeddings", body, deadline, stage="embed")
        except httpx.TransportError as exc:
            raise EmbeddingServiceError(unreached(exc, "the embedding service"), service=SERVICE) from exc
        if response.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE and len(texts) > 1:
            half = len(texts) // 2
            halves = [self.embed(each, space, deadline, asking=asking) for each in (texts[:half], texts[half:])]
            return halves[0] + halves[1]
        if response.status_code == httpx.codes.NOT_FOUND:
            raise missing_model(response, space.model, service=SERVICE, setting="EMBEDDING_MODEL")
        if response.status_code != httpx.codes.OK:
            retryable = response.status_code == httpx.codes.TOO_MANY_REQUESTS or response.is_server_error
            message = f"the embedding service refused: {problem(response)}"
            raise EmbeddingServiceError(message, service=SERVICE, retryable=retryable, status=response.status_code)
        try:
            reply = response.json()
            items = sorted(reply["data"], key=lambda item: item["index"])
            vectors = [_vector(item["embedding"]) for item in items]
            used = (reply.get("usage") or {}).get("prompt_tokens")
        except (ValueError, KeyError, TypeError) as exc:
            raise unreadable_vectors() from exc
        note_call(ModelCall(space.model, used if type(used) is int else None, kind="embedding"))
        return checked_vectors(vectors, len(texts), space)


def _vector(embedding: Any) -> Vector:
    if not isinstance(embedding, str):
        return vector(embedding)
    raw = array("f", base64.b64decode(embedding))
    if sys.byteorder == "big":
        raw.byteswap()
    return vector(raw)


def unreadable_vectors() -> EmbeddingServiceError:
    """The error of an answer without the vectors that were asked for."""
    message = "the embedding service gave an answer that cannot be read"
    return EmbeddingServiceError(message, service=SERVICE, reason="unreadable")


def checked_vectors(vectors: list[Vector], expected: int, space: EmbeddingSpace) -> list[Vector]:
    """*vectors*, as many as *expected* and of the space's dimension.

    Raises EmbeddingServiceError: they are not; `retryable=False` for a wrong dimension.
    """
    if len(vectors) != expected:
        message = f"the embedding service gave {len(vectors)} vectors for {expected} texts"
        raise EmbeddingServiceError(message, service=SERVICE, reason="unreadable")
    for found in vectors:
        if len(found) != space.dimension:
            raise EmbeddingServiceError(
                f"model {space.model!r} gives {len(found)} dimensions, the index has {space.dimension}: "
                "set EMBEDDING_DIMENSION and reindex, or set the model back",
                service=SERVICE,
                retryable=False,
                dimension=len(found),
                expected=space.dimension,
            )
    return vectors
