"""How often a document was found, and when last."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """`query_count` counts answers that held the document; `last_retrieved` is RFC 3339 UTC, None where never."""

    query_count: int = 0
    last_retrieved: str | None = None

    def unused_since(self, moment: str) -> bool:
        """Whether the document was found by nobody since *moment* (RFC 3339 UTC).

        >>> Usage(3, "2026-01-02T03:04:05Z").unused_since("2026-01-05T00:00:00Z"), Usage().unused_since("2026")
        (True, True)
        """
        return self.last_retrieved is None or self.last_retrieved < moment
