"""API keys in the registry, by the hash of their secrets."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.tenants import ApiKey


class KeyRegistry(Protocol):
    """Who may ask."""

    def api_key(self, sha256: str) -> ApiKey | None:
        """A key by the hash of its secret; revoked and expired ones too."""
        ...

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key, or write it anew."""
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
