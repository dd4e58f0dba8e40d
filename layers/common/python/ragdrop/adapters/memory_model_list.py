"""A list of models in memory, for tests."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RagdropError


class MemoryModelList:
    """A ModelList that holds *names*; None is an endpoint without a list.  `fail_with` is raised while it is set."""

    def __init__(self, *names: str, listed: bool = True) -> None:
        self.names: frozenset[str] | None = frozenset(names) if listed else None
        self.fail_with: RagdropError | None = None
        self.calls = 0

    def models(self, deadline: Deadline) -> frozenset[str] | None:
        """The names."""
        deadline.timeout_s(1.0, stage="models")
        self.calls += 1
        if self.fail_with is not None:
            raise self.fail_with
        return self.names
