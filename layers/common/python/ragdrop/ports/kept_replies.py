"""Replies stored under an idempotency key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class KeptReply:
    """What is known of a request: `fingerprint` is of all that it asked for; `body` is None while it is under way."""

    fingerprint: str
    body: Mapping[str, Any] | None


class KeptReplies(Protocol):
    """Requests by tenant and key.  All methods raise DatabaseError; times are seconds since 1970."""

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> KeptReply | None:
        """Note that a request is under way, by one conditional write; None where it is now this caller's to do.

        What was there before stays in the way until *keep_s* seconds after it began; the same request, of which no
        reply is kept, for *lease_s* only: whoever did it may have died.
        """
        ...

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        """Keep the reply."""
        ...

    def forget(self, tenant: str, key: str) -> None:
        """The request failed: it may be sent again."""
        ...
