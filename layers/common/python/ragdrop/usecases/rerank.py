"""Rerank: the best candidates in the order of a model that reads question and text together, where there is one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.time_shares import RERANK
from ragdrop.errors import DependencyError
from ragdrop.ports.reranker import Reranker

logger = logging.getLogger(__name__)

MAX_RERANKED = 50  # candidates that the model reads; those behind them keep their places
NOT_RERANKED = "the reranker did not answer, the order is that of the search"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reranked(Generic[T]):
    """What was reranked, best first; `warning` says why it was not."""

    found: list[T]
    warning: str | None = None


class Rerank:
    """Puts candidates into a reranker's order.  It moves them only: scores and thresholds are those of the search."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker

    @property
    def is_on(self) -> bool:
        """Whether there is a reranker."""
        return self._reranker is not None

    def __call__(
        self, query: str, found: Sequence[T], deadline: Deadline, *, text_of: Callable[[T], str]
    ) -> Reranked[T]:
        """*found* (best first) in the reranker's order; unchanged where there is none or it fails."""
        if self._reranker is None or len(found) < 2:
            return Reranked(list(found))
        head, tail = list(found[:MAX_RERANKED]), list(found[MAX_RERANKED:])
        try:
            scores = self._reranker.scores(query, [text_of(one) for one in head], RERANK.of(deadline))
        except DependencyError as exc:
            logger.warning("candidates could not be reranked", extra={"service": exc.service, "code": exc.code})
            return Reranked(list(found), NOT_RERANKED)
        order = sorted(range(len(head)), key=lambda place: -scores[place])
        return Reranked([*(head[place] for place in order), *tail])
