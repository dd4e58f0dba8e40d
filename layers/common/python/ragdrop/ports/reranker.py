"""A model that reads question and text together and says how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragdrop.domain.deadlines import Deadline


class Reranker(Protocol):
    """Scores texts against a question.  Raises RerankError or DeadlineError."""

    def scores(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """One score a text, in the order of *texts*: higher fits better, scales differ from model to model.

        No texts cost no call.
        """
        ...
