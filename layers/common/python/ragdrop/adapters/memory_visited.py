"""A VisitedCache in memory, for tests; `calls` names the calls, `fail_with` is raised by each while it is set."""

from __future__ import annotations

from collections.abc import Collection

from ragdrop.errors import RagdropError

TTL_S = 3_600


class MemoryVisitedCache:
    """VisitedCache for tests."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._held: dict[tuple[str, str], tuple[frozenset[str], float]] = {}

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        """What the session has expanded."""
        self._called("visited")
        digests, expires_at = self._held.get((tenant, session), (frozenset(), 0.0))
        return digests if expires_at > now_s else frozenset()

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        """Keep it for an hour."""
        self._called("note")
        if digests:
            self._held[tenant, session] = frozenset(digests), int(now_s) + TTL_S

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.fail_with is not None:
            raise self.fail_with
