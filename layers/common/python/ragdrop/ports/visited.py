"""The visited cache: documents whose links a session has followed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class VisitedCache(Protocol):
    """What is in it may be lost: then a document's links are followed once more.  All methods raise DatabaseError."""

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        """Digests of the documents that the session has expanded in the last hour; one read."""
        ...

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        """Replace what the session has expanded, for an hour from *now_s* on; one write.

        At most 5,000 are kept.  Of two queries of one session at the same time the later write stands.
        """
