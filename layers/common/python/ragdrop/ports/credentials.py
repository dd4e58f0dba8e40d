"""API keys, tokens of identity providers, and request counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ragdrop.domain.keys import NAME_PATTERN
from ragdrop.domain.tenants import ROLES, ApiKey, Caller
from ragdrop.errors import UnauthenticatedError

# Asymmetric ones alone: with `none` anybody, with HS256 whoever knows the public key could make a token.
ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
CLOCK_SKEW_S = 60
MAX_TOKEN_CHARACTERS = 8_192
MAX_VAULTS = 100
REFUSED = "the token is not valid here"  # and not why: that would help whoever makes tokens up


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Who makes tokens, for whom, where the issuer's public keys (JWKS) are, and which claims say what."""

    issuer: str
    audience: str
    jwks_url: str
    tenant_claim: str = "tenant"
    role_claim: str = "role"
    vaults_claim: str = "vaults"


def looks_like_token(secret: str) -> bool:
    """Whether a credential is a signed token: three parts; a ragdrop key has no dot.

    >>> looks_like_token("rd_Ab-_9"), looks_like_token("e30.e30.c2ln")
    (False, True)
    """
    return secret.count(".") == 2


def caller_of(claims: Mapping[str, Any], rules: TokenRules) -> Caller:
    """Who the claims of a token that was verified speak for.

    Without a role claim it is a reader; without a vaults claim it sees every vault.  Vaults are a list, or words with
    spaces between them.

    Raises:
        UnauthenticatedError: A claim is not what it should be.  A wrong one never widens what is allowed.

    >>> caller_of({"tenant": "acme", "vaults": "team ops"}, TokenRules("i", "a", "u")).vaults
    ('team', 'ops')
    """
    tenant = claims.get(rules.tenant_claim)
    role = claims.get(rules.role_claim, "reader")
    if not isinstance(tenant, str) or not NAME_PATTERN.fullmatch(tenant) or role not in ROLES:
        raise UnauthenticatedError(REFUSED)
    subject = hashlib.sha256(str(claims.get("sub", "")).encode("utf-8", "replace")).hexdigest()[:12]
    return Caller(tenant, role, _vaults(claims, rules.vaults_claim), credential=f"jwt-{subject}")


def _vaults(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if name not in claims:
        return ()
    given = claims[name]
    vaults = given.split() if isinstance(given, str) else given
    if (
        not isinstance(vaults, list)
        or not 1 <= len(vaults) <= MAX_VAULTS
        or not all(isinstance(vault, str) and NAME_PATTERN.fullmatch(vault) for vault in vaults)
    ):
        raise UnauthenticatedError(REFUSED)
    return tuple(vaults)


class TokenVerifier(Protocol):
    """Believes only what the issuer signed."""

    def caller(self, token: str) -> Caller:
        """Who a token speaks for.

        Raises:
            UnauthenticatedError: It is not the issuer's, not for this audience, expired, or its claims are wrong.
            IssuerError: The issuer's keys could not be read.
        """
        ...


class KeyRegistry(Protocol):
    """Who may ask."""

    def api_key(self, sha256: str) -> ApiKey | None:
        """A key by the hash of its secret; revoked and expired ones too."""
        ...

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key, or write it again."""
        ...

    def api_keys(self, tenant: str) -> list[ApiKey]:
        """All keys of a tenant, revoked and expired ones too, by the time they were made."""
        ...

    def revoke_api_key(self, sha256: str) -> bool:
        """Let a key open nothing, for good; False where there is none."""
        ...

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        """Set when a key expires, in seconds since 1970; False where there is none.  A revoked one stays revoked."""
        ...


class RequestCounts(Protocol):
    """Counters that may be lost: then a little more is let through."""

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        """Add to the counts of a minute (`limits.window_of`), by credential, in one write; all that it holds then.

        Raises DatabaseError, and is quick to.
        """
        ...
