"""A Reranker for tests: it counts the question's words in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RagdropError


class WordReranker:
    """Scores by the share of the question's words that a text holds; `fail_with` is raised while it is set."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """The shares, in [0, 1]."""
        if not texts:
            return []
        deadline.timeout_s(1.0, stage="rerank")
        self.asked.append((query, tuple(texts)))
        if self.fail_with is not None:
            raise self.fail_with
        words = _words(query)
        return [len(words & _words(text)) / max(1, len(words)) for text in texts]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
