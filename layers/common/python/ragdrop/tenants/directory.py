"""TenantDirectory: callers and tenants, read from the registry and cached for seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Generic, TypeVar

from ragdrop.domain.tenants import ApiKey, Caller, Tenant, key_hash
from ragdrop.errors import DependencyError, ProjectNotActivatedError, UnauthenticatedError
from ragdrop.ports import Registry
from ragdrop.ports.registry import TokenVerifier, looks_like_token
from ragdrop.tenants.limits import LimitRequests

KEY_TTL_S = 30.0  # then a key is read anew
KEY_STALE_S = 30.0  # it serves so long on where the registry does not answer: revoking takes at most a minute
PAUSE_S = 2.0  # what could not be read is asked for again after so long, not twice in one request
STALE_S = 60.0  # a tenant's item that was read before serves so long where the registry does not answer
TENANT_TTL_S = 5.0  # a switch of the active index is seen everywhere after this long
MAX_CACHED = 1_000

T = TypeVar("T")


class _Cache(Generic[T]):
    """Values for some seconds, at most MAX_CACHED of them; the oldest goes first.

    A value that could not be loaded again serves on for *stale_s* seconds.
    """

    def __init__(self, ttl_s: float, clock: Callable[[], float], *, stale_s: float = 0.0) -> None:
        self._ttl_s = ttl_s
        self._stale_s = stale_s
        self._clock = clock
        self._held: dict[str, tuple[float, float, T]] = {}  # until when it is fresh, until when it serves, the value
        self._lock = threading.Lock()

    def get(
        self, name: str, load: Callable[[str], T | None], again: Callable[[str], T | None] | None = None
    ) -> T | None:
        """The value of *name*, loaded where it is not held, and *again* where it is too old.

        What does not exist is not held.
        """
        with self._lock:
            held = self._held.get(name)
        if held is not None and held[0] > self._clock():
            return held[2]
        try:
            value = load(name) if held is None or again is None else again(name)
        except DependencyError:
            if held is None or held[1] <= self._clock():
                raise
            with self._lock:
                self._held[name] = (min(held[1], self._clock() + PAUSE_S), held[1], held[2])
            return held[2]
        with self._lock:
            self._held.pop(name, None)
            if value is not None:
                while len(self._held) >= MAX_CACHED:
                    self._held.pop(next(iter(self._held)))
                fresh_until_s = self._clock() + self._ttl_s
                self._held[name] = (fresh_until_s, fresh_until_s + self._stale_s, value)
        return value

    def forget(self, name: str) -> None:
        """Load *name* again the next time."""
        with self._lock:
            self._held.pop(name, None)


class TenantDirectory:
    """Callers by their keys, and tenants by their names.  One per execution environment."""

    def __init__(
        self,
        registry: Registry,
        *,
        clock: Callable[[], float],
        limits: LimitRequests | None = None,
        tokens: Callable[[], TokenVerifier | None] = lambda: None,
    ) -> None:
        self._tokens = tokens
        self._registry = registry
        self._limits = limits
        self._clock = clock
        self._keys: _Cache[ApiKey] = _Cache(KEY_TTL_S, clock, stale_s=KEY_STALE_S)
        self._tenants: _Cache[Tenant] = _Cache(TENANT_TTL_S, clock, stale_s=STALE_S)

    def over(self, registry: Registry) -> TenantDirectory:
        """The same memory, filled by another way to the registry."""
        other = copy(self)
        other._registry = registry
        return other

    def caller(self, secret: str | None) -> Caller:
        """The caller that *secret*, a ragdrop key or a token, belongs to; one request of it is counted.

        Raises:
            UnauthenticatedError: There is no key, or it is unknown, expired or revoked; the message does not say which.
            ProjectNotActivatedError: Its tenant is disabled, or there is none.
            RateLimitedError: The tenant, or this credential of it, has made its requests of this minute.
            DatabaseError: The registry, or the issuer of tokens, did not answer.
        """
        if not secret:
            raise UnauthenticatedError("no API key was given: send it as `x-api-key` or `Authorization: Bearer`")
        tokens = self._tokens() if looks_like_token(secret) else None
        caller = tokens.caller(secret) if tokens else self._holder(secret)
        tenant = self.tenant(caller.tenant)
        if tenant is None or not tenant.enabled:
            raise ProjectNotActivatedError("the project of this credential is not active")
        if self._limits is not None:
            self._limits.admit(caller, tenant.rates)
        return caller

    def _holder(self, secret: str) -> Caller:
        """The holder of a ragdrop key."""
        key = self._keys.get(key_hash(secret), self._registry.api_key)
        if key is None or key.state(self._clock()) != "active":
            raise UnauthenticatedError("the API key is unknown, expired or revoked")
        return Caller(key.tenant, key.role, key.vaults, credential=key.id, label=key.label)

    def tenant(self, name: str, *, fresh: bool = False) -> Tenant | None:
        """The tenant's item, at most 5 seconds old, 65 where the registry does not answer; *fresh* reads it now.

        One that is only too old is read eventually consistently, at half the cost: a second is added to the five.
        """
        if fresh:
            self.forget(name)
        again = partial(self._registry.tenant, consistent=False)
        return self._tenants.get(name, self._registry.tenant, again)

    def forget(self, name: str) -> None:
        """Read the tenant's item again the next time."""
        self._tenants.forget(name)
