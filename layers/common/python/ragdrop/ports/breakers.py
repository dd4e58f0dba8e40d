"""The state of all breakers, shared by all execution environments: one item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ragdrop.domain.breaker import Breaker, Counted

Counts = Mapping[str, Mapping[int, Counted]]
"""By dependency, then by part of the window (`BreakerRules.bucket`)."""


class BreakerStore(Protocol):
    """Breakers by dependency.  All methods raise DatabaseError, and are quick to; times are seconds since 1970."""

    def add(self, counts: Counts, *, oldest: int) -> dict[str, Breaker]:
        """Add *counts* and read all breakers, in one request.  Parts before *oldest* may be forgotten."""
        ...

    def open(self, dependency: str, at_s: float, *, reopens_before_s: float) -> Breaker:
        """Open it, unless it is open since *reopens_before_s* or later; what it then is."""
        ...

    def claim(self, dependency: str, opened_at_s: float, trial: str, *, now_s: float, until_s: float) -> bool:
        """Begin the one trial of the opening at *opened_at_s*; False where another is under way, or all has changed."""
        ...

    def settle(self, dependency: str, trial: str, *, closed: bool, at_s: float) -> bool:
        """End *trial*: closed for all, or open again from *at_s* on; False where it is no longer the one under way."""
        ...
