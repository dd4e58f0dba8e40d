"""A TokenVerifier in memory, for tests: it believes the tokens that it was given."""

from __future__ import annotations

from collections.abc import Mapping

from ragdrop.domain.tenants import Caller
from ragdrop.domain.tokens import REFUSED
from ragdrop.errors import UnauthenticatedError


class MemoryTokens:
    """TokenVerifier for tests: *callers* by token."""

    def __init__(self, callers: Mapping[str, Caller]) -> None:
        self._callers = dict(callers)

    def caller(self, token: str) -> Caller:
        """Who a token speaks for."""
        found = self._callers.get(token)
        if found is None:
            raise UnauthenticatedError(REFUSED)
        return found
