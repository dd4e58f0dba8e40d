"""Items of the telemetry and visited tables that expire: request counts, visited links, stored replies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from ragdrop.domain.tenants import WINDOW_S
from ragdrop.ports.kept_replies import KeptReply
from ragdrop.stores.aws.clients import AwsClient, quick_client
from ragdrop.stores.dynamodb.items import encode
from ragdrop.stores.dynamodb.table import DynamoDbTable, ItemKey

PREFIX = "c/"  # an attribute a credential; without it one could be called PK
KEPT_WINDOWS = 10


class DynamoDbRequestCounts:
    """RequestCounts in one table, by default over a client that gives up quickly.

    Args:
        table: The table's name.
        client: A low-level DynamoDB client.
    """

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._name = table
        self._given = client

    def add_requests(self, tenant: str, window: int, counts: Mapping[str, int]) -> dict[str, int]:
        names = {f"#n{place}": f"{PREFIX}{credential}" for place, credential in enumerate(counts)}
        adds = ", ".join(f"#n{place} :n{place}" for place in range(len(counts)))
        values = {f":n{place}": count for place, count in enumerate(counts.values())}
        request = {
            "UpdateExpression": f"SET #expires_at = :expires_at ADD {adds}",
            "ExpressionAttributeNames": {"#expires_at": "expires_at", **names},
            "ExpressionAttributeValues": encode({":expires_at": (window + KEPT_WINDOWS) * WINDOW_S, **values}),
        }
        table = DynamoDbTable(self._name, self._given or quick_client("dynamodb"), service="telemetry")
        item = table.conditional((f"L#{tenant}", str(window)), request).item or {}
        return {name.removeprefix(PREFIX): int(count) for name, count in item.items() if name.startswith(PREFIX)}


TTL_S = 3_600
MAX_DIGESTS = 5_000  # 64 characters each, so that the item stays under 400 KB


class DynamoDbVisitedCache:
    """A VisitedCache.  DynamoDB may keep an expired item for days, so the reader looks at the time too."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client)

    def visited(self, tenant: str, session: str, now_s: float) -> frozenset[str]:
        item = self._table.get(_key(tenant, session))
        if item is None or item["expires_at"] <= now_s:
            return frozenset()
        return frozenset(item["digests"])

    def note(self, tenant: str, session: str, digests: Collection[str], now_s: float) -> None:
        kept = set(sorted(digests)[:MAX_DIGESTS])
        if kept:
            partition, sort = _key(tenant, session)
            self._table.put({"PK": partition, "SK": sort, "digests": kept, "expires_at": int(now_s) + TTL_S})


def _key(tenant: str, session: str) -> ItemKey:
    # a tenant's name has no "#", and the hash bounds the length of what a caller sends
    return f"V#{tenant}#{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()}", "V"


_BEGUN = "fingerprint = :fingerprint, lease_until = :lease, expires_at = :expires"
_FREE = "attribute_not_exists(PK) OR expires_at <= :now"
_LEFT = "(fingerprint = :fingerprint AND attribute_not_exists(reply) AND lease_until <= :now)"


class DynamoDbKeptReplies:
    """KeptReplies in one table."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client, service="telemetry")

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> KeptReply | None:
        """One UpdateItem; where its condition fails the item in the way comes with the refusal."""
        values = {
            ":fingerprint": fingerprint,
            ":now": int(now_s),
            ":lease": int(now_s + lease_s),
            ":expires": int(now_s + keep_s),
        }
        request = {
            "UpdateExpression": f"SET {_BEGUN} REMOVE reply",
            "ConditionExpression": f"{_FREE} OR {_LEFT}",
            "ExpressionAttributeValues": encode(values),
        }
        outcome = self._table.conditional(_reply_key(tenant, key), request)
        if outcome.won:
            return None
        item = outcome.item or {}
        body = item.get("reply")
        return KeptReply(str(item.get("fingerprint", "")), None if body is None else json.loads(body))

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        request = {
            "UpdateExpression": "SET reply = :reply",
            "ConditionExpression": "attribute_exists(PK)",
            "ExpressionAttributeValues": encode({":reply": json.dumps(body)}),
        }
        self._table.conditional(_reply_key(tenant, key), request)

    def forget(self, tenant: str, key: str) -> None:
        self._table.delete(_reply_key(tenant, key))


def _reply_key(tenant: str, key: str) -> ItemKey:
    return f"I#{tenant}", hashlib.sha256(key.encode()).hexdigest()
