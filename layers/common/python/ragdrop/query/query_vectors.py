"""The vector of a question: from this environment's cache, the shared cache, or the model."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from ragdrop.domain.bounded_cache import BoundedCache, HitCounts
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import EMBED, Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import (
    CircuitOpenError,
    DatabaseError,
    DeadlineError,
    DependencyError,
    EmbeddingServiceError,
    ModelNotFoundError,
)
from ragdrop.ports import Embedder
from ragdrop.ports.telemetry import Telemetry
from ragdrop.query.understand import ResolvedQuery

logger = logging.getLogger(__name__)

SHARED_TTL_S = 7 * 86_400.0  # a model's vector never changes; a question that nobody asked for a week is not kept
MAX_PENDING = 25  # what one write takes
REST_S = 30.0  # a store that failed is not asked for so long


class QueryVectors:
    """Vectors of questions, each made once.

    A vector is shared when its question is asked again: most are asked once, and to share one costs more than to make
    it.  `flush` does it, many vectors at a time, so that no question waits for the write.

    Args:
        embedder: Makes the vectors.
        store: The shared cache; its failures are misses.
        size: Vectors kept in the environment; 0 turns both caches off.
        clock: Seconds since 1970.

    `own` and `shared` count the hits of the two caches.
    """

    def __init__(self, *, embedder: Embedder, store: Telemetry, size: int, clock: Callable[[], float]) -> None:
        self._embedder = embedder
        self._store = store
        self._on = size > 0
        self._clock = clock
        self._held: BoundedCache[tuple[str, str], Vector] = BoundedCache(size=size)
        self._own: BoundedCache[tuple[str, str], Vector] = BoundedCache(size=size)  # made here, and not shared
        self._pending: dict[tuple[str, str], Vector] = {}
        self._lock = Lock()
        self._rests_until_s = 0.0
        self.own = HitCounts()
        self.shared = HitCounts()

    def __call__(self, text: str, tenant: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        """The vector of *text* in *space*, as *tenant* asks it: tenants share no vector, so none can tell by the time.

        Raises:
            EmbeddingServiceError: It had to be made, and could not be.
        """
        if not self._on:
            return self._embedder.query(text, space, deadline)
        name = vector_name(text, space)
        held = self._held.get((tenant, name), now_s=self._clock())
        _count(self.own, hit=held is not None)
        if held is not None:
            self._share((tenant, name), held)
            return held
        found = self._shared(tenant, name, space.dimension)
        if found is None:
            found = self._embedder.query(text, space, deadline)
            self._own.put((tenant, name), found, now_s=self._clock())
        self._held.put((tenant, name), found, now_s=self._clock())
        return found

    def flush(self) -> None:
        """Share what was asked again; a store that fails loses it."""
        with self._lock:
            pending, self._pending = self._pending, {}
        if self._resting():
            return
        expires_at_s = self._clock() + SHARED_TTL_S
        try:
            for tenant in sorted({tenant for tenant, _ in pending}):
                vectors = {name: found for (owner, name), found in pending.items() if owner == tenant}
                self._store.put_query_vectors(tenant, vectors, expires_at_s)
        except DatabaseError as exc:
            self._rest(exc)

    def _share(self, place: tuple[str, str], found: Vector) -> None:
        if self._own.get(place, now_s=self._clock()) is not None:
            with self._lock:
                if len(self._pending) < MAX_PENDING:
                    self._pending[place] = found
                    self._own.drop(place)

    def _shared(self, tenant: str, name: str, dimension: int) -> Vector | None:
        if self._resting():
            return None
        try:
            found = self._store.query_vector(tenant, name, self._clock())
        except DatabaseError as exc:
            self._rest(exc)
            return None
        if found is not None and len(found) != dimension:
            found = None
        _count(self.shared, hit=found is not None)
        return found

    def _resting(self) -> bool:
        return self._clock() < self._rests_until_s

    def _rest(self, exc: DatabaseError) -> None:
        self._rests_until_s = self._clock() + REST_S
        logger.warning("the shared cache of query vectors did not answer", extra={"service": exc.service})


def vector_name(text: str, space: EmbeddingSpace) -> str:
    """The digest by which the vector of a question is kept: model, dimension, prefix and text, each with its length.

    >>> space = EmbeddingSpace("m", 384, "query: ")
    >>> vector_name("pump", space) == vector_name("query: pump", EmbeddingSpace("m", 384))
    False
    """
    parts = (space.model, str(space.dimension), space.query_prefix, text)
    encoded = (part.encode(errors="surrogatepass") for part in parts)
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in encoded)).hexdigest()


def _count(counts: HitCounts, *, hit: bool) -> None:
    if hit:
        counts.hits += 1
    else:
        counts.misses += 1


EmbedQuestion = Callable[[str, str, EmbeddingSpace, Deadline], Vector]
"""The vector of a question, as a tenant asks it, in an embedding space."""


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """`vector` is None where words alone must do: `warnings` says why, `breaker_open` whether nobody was asked."""

    vector: Vector | None
    warnings: tuple[str, ...] = ()
    breaker_open: bool = False


def question_vector(vectors: EmbedQuestion, question: ResolvedQuery, deadline: Deadline) -> QuestionVector:
    """The vector of *question*, within its share of the time.

    Raises:
        DependencyError: It could not be had, and the question allows no fallback; or waiting does not fix it, as where
            the dimension is wrong.
    """
    tenant = question.tenant
    try:
        return QuestionVector(vectors(question.query.text, tenant.name, tenant.active.space, EMBED.of(deadline)))
    except (EmbeddingServiceError, ModelNotFoundError, CircuitOpenError, DeadlineError) as exc:
        if not question.query.allow_fallback or not _may_recover(exc) or deadline.remaining_s() <= 0:
            raise
        breaker_open = isinstance(exc, CircuitOpenError)
        why = "is behind its open breaker" if breaker_open else "did not answer"
        return QuestionVector(None, (f"the embedding service {why}: found by words alone",), breaker_open)


def _may_recover(exc: DependencyError) -> bool:
    return exc.retryable or isinstance(exc, ModelNotFoundError)
