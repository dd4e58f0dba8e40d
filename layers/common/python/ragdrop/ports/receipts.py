"""Receipts of answers."""

from __future__ import annotations

from typing import Protocol

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipts import Feedback, Receipt


class Receipts(Protocol):
    """Receipts, found by tenant and id, and by the documents they name.  All methods raise DatabaseError."""

    def put_receipt(self, receipt: Receipt) -> None:
        """Keep a receipt until its time has passed, and note it with each of its documents.  It is quick to fail."""

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        """A receipt (consistent); None where there is none, or its time has passed at *now_s* (seconds since 1970)."""
        ...

    def put_feedback(self, receipt: Receipt, credential: str, feedback: Feedback) -> bool:
        """Keep what a credential says with the receipt, for as long; False where the receipt is gone."""
        ...

    def receipts_with_feedback(
        self, tenant: str, *, after: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        """Receipts of a tenant that have feedback, by id, behind the id *after*.

        Returns at most *limit* of them, and the id to continue behind, None at the end.
        """
        ...

    def forget_receipts(self, key: DocumentKey) -> int:
        """Remove every receipt that names a document: for a purge.  How many went."""
        ...

    def forget_all_receipts(self, tenant: str) -> int:
        """Remove every receipt of a tenant.  How many went."""
        ...
