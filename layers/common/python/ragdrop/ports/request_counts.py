"""Requests of a tenant's credentials in one minute, counted over all execution environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class RequestCounts(Protocol):
    """Counters that may be lost: then a little more is let through."""

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        """Add to the counts of a minute (`rates.window_of`), by credential, in one write; all that it holds then.

        Raises DatabaseError, and is quick to.
        """
        ...
