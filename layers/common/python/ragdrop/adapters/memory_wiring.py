"""Wiring in memory, for tests."""

from __future__ import annotations

from ragdrop.domain.verdicts import SUBSCRIBED, Wiring
from ragdrop.errors import RagdropError


class MemoryWiring:
    """A WiringProbe that sees *wiring*; `fail_with` is raised while it is set."""

    def __init__(self, wiring: Wiring | None = None) -> None:
        whole = Wiring(versioned=True, events=frozenset(SUBSCRIBED), waiting=0, dead_letters=0)
        self.wiring = wiring or whole
        self.fail_with: RagdropError | None = None

    def look(self) -> Wiring:
        """The wiring."""
        if self.fail_with is not None:
            raise self.fail_with
        return self.wiring
