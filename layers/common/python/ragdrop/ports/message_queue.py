"""The queue that feeds ingest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ragdrop.domain.deliveries import Continuation


class MessageQueue(Protocol):
    """The queue that feeds ingest.  All methods raise QueueError."""

    def send(self, key: str) -> None:
        """Ask ingest to look at *key* (an S3 key)."""

    def send_all(self, keys: Sequence[str]) -> None:
        """The same for many keys, with few requests; after an error some of them may have been sent."""

    def go_on(self, continuation: Continuation) -> None:
        """Ask ingest to go on with a large document."""

    def retry_after(self, receipt_handle: str, delay_s: int) -> None:
        """Show a message again only after *delay_s* seconds."""

    def redrive(self) -> int:
        """Move some messages of the dead-letter queue back; how many, 0 where none is left.

        One that is cut off in between is in both queues: ingest does nothing twice.
        """
