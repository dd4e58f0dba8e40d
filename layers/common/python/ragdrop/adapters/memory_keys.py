"""API keys in memory: the part of the registry for tests that knows who may ask."""

# ruff: noqa: D102 - the port says what each method does
from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from ragdrop.domain.tenants import ApiKey


class MemoryKeys:
    """Keys by the hash of their secrets."""

    def __init__(self) -> None:
        self._api_keys: dict[str, ApiKey] = {}

    def api_key(self, sha256: str) -> ApiKey | None:
        with self._call("api_key"):
            return self._api_keys.get(sha256)

    def put_api_key(self, key: ApiKey) -> None:
        with self._call("put_api_key"):
            self._api_keys[key.sha256] = key

    def api_keys(self, tenant: str) -> list[ApiKey]:
        with self._call("api_keys"):
            found = [key for key in self._api_keys.values() if key.tenant == tenant]
            return sorted(found, key=lambda key: (key.created_at, key.sha256))

    def revoke_api_key(self, sha256: str) -> bool:
        with self._call("revoke_api_key"):
            return self._change_key(sha256, revoked=True)

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        with self._call("expire_api_key"):
            return self._change_key(sha256, expires_at_s=expires_at_s)

    def _change_key(self, sha256: str, **changes: float | bool) -> bool:
        key = self._api_keys.get(sha256)
        if key is not None:
            self._api_keys[sha256] = replace(key, **changes)  # type: ignore[arg-type]
        return key is not None

    def _forget_keys(self, tenant: str) -> int:
        gone = [key.sha256 for key in self._api_keys.values() if key.tenant == tenant]
        for sha256 in gone:
            del self._api_keys[sha256]
        return len(gone)

    def _call(self, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError
