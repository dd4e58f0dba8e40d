"""Idempotent writes: repeat the first reply for a repeated key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, RagdropError
from ragdrop.ports.kept_replies import KeptReplies

KEEP_S = 86_400.0  # a day: longer than any client goes on trying
LEASE_S = 60.0  # twice what a request may take
FIELD = "Idempotency-Key"


class WriteOnce:
    """Does a write, or gives the reply that it had."""

    def __init__(self, kept: KeptReplies, *, clock: Callable[[], float]) -> None:
        self._kept = kept
        self._clock = clock

    def __call__(
        self, caller: Caller, key: str, fingerprint: str, work: Callable[[], Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], bool]:
        """The reply of *work*, a JSON object, and whether it is one that was kept.

        Raises:
            ConflictError: The key came with another request within a day, or this one is still under way.
            DatabaseError: What is kept could not be read or written; nothing was done.
        """
        there = self._kept.begin(caller.tenant, key, fingerprint, now_s=self._clock(), lease_s=LEASE_S, keep_s=KEEP_S)
        if there is not None:
            if there.fingerprint != fingerprint:
                raise ConflictError(f"{FIELD}: it came with another request before", field=FIELD, allowed=None)
            if there.body is None:
                raise ConflictError(f"{FIELD}: the same request is still under way", field=FIELD, allowed=None)
            return there.body, True
        try:
            body = work()
        except RagdropError:
            self._kept.forget(caller.tenant, key)
            raise
        self._kept.finish(caller.tenant, key, body)
        return body, False
