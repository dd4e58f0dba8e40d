"""TenantDirectory: callers and tenants, read from the registry and cached for seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Generic, TypeVar

from ragdrop.domain.tenants import ApiKey, Caller, RateLimits, Tenant, key_hash
from ragdrop.errors import DependencyError, ProjectNotActivatedError, UnauthenticatedError
from ragdrop.ports.registry import Registry, TokenVerifier, looks_like_token

KEY_TTL_S = 30.0
KEY_STALE_S = 30.0  # longer if the registry does not answer: a revoked key works for a minute at most
PAUSE_S = 2.0  # between two attempts to read what could not be read, so that no request tries twice
STALE_S = 60.0  # longer for a tenant's item, if the registry does not answer
TENANT_TTL_S = 5.0  # a switch of the active index is seen everywhere after this long
MAX_CACHED = 1_000

T = TypeVar("T")


class _Cache(Generic[T]):
    """At most MAX_CACHED values for *ttl_s* seconds, *stale_s* longer if they cannot be loaded; oldest first out."""

    def __init__(self, ttl_s: float, clock: Callable[[], float], *, stale_s: float) -> None:
        self._ttl_s = ttl_s
        self._stale_s = stale_s
        self._clock = clock
        self._cached: dict[str, tuple[float, float, T]] = {}  # fresh until, stale until, the value
        self._lock = threading.Lock()

    def get(
        self, name: str, load: Callable[[str], T | None], again: Callable[[str], T | None] | None = None
    ) -> T | None:
        """The value of *name*: loaded if it is not cached, by *again* if it is too old; a missing one is not cached."""
        with self._lock:
            cached = self._cached.get(name)
        if cached is not None and cached[0] > self._clock():
            return cached[2]
        try:
            value = load(name) if cached is None or again is None else again(name)
        except DependencyError:
            if cached is None or cached[1] <= self._clock():
                raise
            with self._lock:
                self._cached[name] = (min(cached[1], self._clock() + PAUSE_S), *cached[1:])
            return cached[2]
        with self._lock:
            self._cached.pop(name, None)
            if value is not None:
                while len(self._cached) >= MAX_CACHED:
                    self._cached.pop(next(iter(self._cached)))
                fresh_until_s = self._clock() + self._ttl_s
                self._cached[name] = (fresh_until_s, fresh_until_s + self._stale_s, value)
        return value

    def forget(self, name: str) -> None:
        """Load *name* again the next time."""
        with self._lock:
            self._cached.pop(name, None)


class TenantDirectory:
    """Callers by their keys, and tenants by their names.  One per execution environment."""

    def __init__(
        self,
        registry: Registry,
        *,
        clock: Callable[[], float],
        admit: Callable[[Caller, RateLimits], None] = lambda _caller, _rates: None,
        tokens: Callable[[], TokenVerifier | None] = lambda: None,
    ) -> None:
        self._tokens = tokens
        self._registry = registry
        self._admit = admit
        self._clock = clock
        self._keys: _Cache[ApiKey] = _Cache(KEY_TTL_S, clock, stale_s=KEY_STALE_S)
        self._tenants: _Cache[Tenant] = _Cache(TENANT_TTL_S, clock, stale_s=STALE_S)

    def over(self, registry: Registry) -> TenantDirectory:
        """This directory with the same cache, but another way to the registry."""
        other = copy(self)
        other._registry = registry
        return other

    def caller(self, secret: str | None) -> Caller:
        """The caller of *secret*, a ragdrop key or a token; counts one request.

        Raises:
            UnauthenticatedError: There is no key, or it is unknown, expired or revoked; the message does not say which.
            ProjectNotActivatedError: Its tenant is disabled, or does not exist.
            RateLimitedError: The tenant or this credential is over its limit of this minute.
            DatabaseError: The registry, or the issuer of tokens, did not answer.
        """
        if not secret:
            raise UnauthenticatedError("no API key was given: send it as `x-api-key` or `Authorization: Bearer`")
        tokens = self._tokens() if looks_like_token(secret) else None
        caller = tokens.caller(secret) if tokens else self._holder(secret)
        tenant = self.tenant(caller.tenant)
        if tenant is None or not tenant.enabled:
            raise ProjectNotActivatedError("the project of this credential is not active")
        self._admit(caller, tenant.rates)
        return caller

    def _holder(self, secret: str) -> Caller:
        """The holder of a ragdrop key."""
        key = self._keys.get(key_hash(secret), self._registry.api_key)
        if key is None or key.state(self._clock()) != "active":
            raise UnauthenticatedError("the API key is unknown, expired or revoked")
        return Caller(key.tenant, key.role, key.vaults, credential=key.id, label=key.label, groups=key.groups)

    def tenant(self, name: str, *, fresh: bool = False) -> Tenant | None:
        """The tenant's item, at most 5 seconds old, 65 if the registry does not answer; *fresh* reads it now.

        One that is too old is read again eventually consistently, at half the cost: that adds up to a second.
        """
        if fresh:
            self.forget(name)
        again = partial(self._registry.tenant, consistent=False)
        return self._tenants.get(name, self._registry.tenant, again)

    def forget(self, name: str) -> None:
        """Read the tenant's item again the next time."""
        self._tenants.forget(name)
