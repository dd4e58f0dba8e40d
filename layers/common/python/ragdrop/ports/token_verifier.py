"""Verifies tokens of an identity provider."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.tenants import Caller


class TokenVerifier(Protocol):
    """Believes only what the issuer signed."""

    def caller(self, token: str) -> Caller:
        """Who a token speaks for.

        Raises:
            UnauthenticatedError: It is not the issuer's, not for this audience, expired, or its claims are wrong.
            IssuerError: The issuer's keys could not be read.
        """
        ...
