"""The vector of a question, or why words alone must do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import EmbeddingSpace
from ragdrop.domain.time_shares import EMBED
from ragdrop.errors import CircuitOpenError, DeadlineError, DependencyError, EmbeddingServiceError, ModelNotFoundError
from ragdrop.usecases.understand_query import Question

QueryVectors = Callable[[str, str, EmbeddingSpace, Deadline], Vector]
"""The vector of a question, as a tenant asks it, in an embedding space."""


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """`vector` is None where words alone must do: `warnings` says why, `breaker_open` whether nobody was asked."""

    vector: Vector | None
    warnings: tuple[str, ...] = ()
    breaker_open: bool = False


def question_vector(vectors: QueryVectors, question: Question, deadline: Deadline) -> QuestionVector:
    """The vector of *question*, within its share of the time.

    Raises:
        DependencyError: It could not be had, and the question allows no fallback; or waiting does not mend it, as where
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
