"""The visited cache in DynamoDB: one item a tenant and session, removed by the table's time to live."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from ragdrop.adapters.aws import AwsClient
from ragdrop.adapters.dynamodb_table import ItemKey, Table

TTL_S = 3_600
MAX_DIGESTS = 5_000  # 64 characters each, so that the item stays under 400 KB


class DynamoDbVisitedCache:
    """A VisitedCache.  DynamoDB may keep an expired item for days, so the reader looks at the time too."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = Table(table, client)

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        """What the session has expanded."""
        item = self._table.get(_key(tenant, session))
        if item is None or item["expires_at"] <= now_s:
            return frozenset()
        return frozenset(item["digests"])

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        """Write the item whole."""
        kept = set(sorted(digests)[:MAX_DIGESTS])
        if kept:
            partition, sort = _key(tenant, session)
            self._table.put({"PK": partition, "SK": sort, "digests": kept, "expires_at": int(now_s) + TTL_S})


def _key(tenant: str, session: str) -> ItemKey:
    # a tenant's name has no "#", and the hash bounds the length of what a caller sends
    return f"V#{tenant}#{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()}", "V"
