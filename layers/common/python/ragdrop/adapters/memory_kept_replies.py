"""Kept replies in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragdrop.errors import RagdropError
from ragdrop.ports.kept_replies import KeptReply


@dataclass(slots=True)
class _Item:
    fingerprint: str
    lease_until_s: float
    expires_at_s: float
    body: Mapping[str, Any] | None = None


class MemoryKeptReplies:
    """KeptReplies for tests: `fail_with` is raised by every call while it is set."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self._items: dict[tuple[str, str], _Item] = {}

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> KeptReply | None:
        """Note it, unless something is in the way."""
        self._fail()
        there = self._items.get((tenant, key))
        if there is not None and there.expires_at_s > now_s:
            left = there.body is None and there.fingerprint == fingerprint and there.lease_until_s <= now_s
            if not left:
                return KeptReply(there.fingerprint, there.body)
        self._items[tenant, key] = _Item(fingerprint, now_s + lease_s, now_s + keep_s)
        return None

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        """Keep the reply."""
        self._fail()
        if (tenant, key) in self._items:
            self._items[tenant, key].body = body

    def forget(self, tenant: str, key: str) -> None:
        """Forget it."""
        self._fail()
        self._items.pop((tenant, key), None)

    def _fail(self) -> None:
        if self.fail_with:
            raise self.fail_with
