"""Receipts in memory, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipts import Receipt
from ragdrop.errors import RagdropError


class MemoryReceipts:
    """Receipts for tests: `fail_with` is raised by every call while it is set; `held` are those that are kept."""

    def __init__(self) -> None:
        self.fail_with: RagdropError | None = None
        self.held: dict[tuple[str, str], Receipt] = {}

    def put_receipt(self, receipt: Receipt) -> None:
        """Keep it, its body as JSON would."""
        self._called()
        body = json.loads(json.dumps(receipt.body))
        self.held[receipt.tenant, receipt.id] = replace(receipt, body=body)

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        """The receipt, while its time lasts."""
        self._called()
        found = self.held.get((tenant, receipt_id))
        return found if found is not None and found.expires_at_s > now_s else None

    def forget_receipts(self, key: DocumentKey) -> int:
        """Remove those that name the document."""
        return self._forget(lambda receipt: key in receipt.documents)

    def forget_all_receipts(self, tenant: str) -> int:
        """Remove those of the tenant."""
        return self._forget(lambda receipt: receipt.tenant == tenant)

    def _forget(self, goes: Callable[[Receipt], bool]) -> int:
        self._called()
        gone = [place for place, receipt in self.held.items() if goes(receipt)]
        for place in gone:
            del self.held[place]
        return len(gone)

    def _called(self) -> None:
        if self.fail_with is not None:
            raise self.fail_with
