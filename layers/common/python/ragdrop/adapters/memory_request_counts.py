"""Requests a minute in memory, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ragdrop.errors import RagdropError


class MemoryRequestCounts:
    """RequestCounts for tests: `fail_with` is raised by every call while it is set; `writes` counts the calls."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.writes = 0
        self._counts: dict[tuple[str, int], Counter[str]] = {}

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        """Add, and tell all."""
        self.writes += 1
        if self.fail_with:
            raise self.fail_with
        held = self._counts.setdefault((tenant, window), Counter())
        held.update(counts)
        return dict(held)
