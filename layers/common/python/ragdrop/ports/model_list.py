"""What models an endpoint has: the cheapest thing that can be asked of it."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.deadlines import Deadline


class ModelList(Protocol):
    """An OpenAI-compatible endpoint's list of models."""

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        """The ids of its models; None where it answers, but lists none.  Asked once, never tried again.

        Raises:
            DependencyError: It did not answer, or refused; `service` names it.
        """
        ...
