"""Kept replies in the telemetry table: one item a tenant and key, `I#tenant`; the key itself is not kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ragdrop.adapters.aws import AwsClient
from ragdrop.adapters.dynamodb_items import encode
from ragdrop.adapters.dynamodb_table import ItemKey, Table
from ragdrop.ports.kept_replies import KeptReply

_BEGUN = "fingerprint = :fingerprint, lease_until = :lease, expires_at = :expires"
_FREE = "attribute_not_exists(PK) OR expires_at <= :now"
_LEFT = "(fingerprint = :fingerprint AND attribute_not_exists(reply) AND lease_until <= :now)"


class DynamoDbKeptReplies:
    """KeptReplies in one table."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = Table(table, client, service="telemetry")

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
        outcome = self._table.conditional(_key(tenant, key), request)
        if outcome.won:
            return None
        item = outcome.item or {}
        body = item.get("reply")
        return KeptReply(str(item.get("fingerprint", "")), None if body is None else json.loads(body))

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        """Set the reply."""
        request = {
            "UpdateExpression": "SET reply = :reply",
            "ConditionExpression": "attribute_exists(PK)",
            "ExpressionAttributeValues": encode({":reply": json.dumps(body)}),
        }
        self._table.conditional(_key(tenant, key), request)

    def forget(self, tenant: str, key: str) -> None:
        """Remove the item."""
        self._table.delete(_key(tenant, key))


def _key(tenant: str, key: str) -> ItemKey:
    return f"I#{tenant}", hashlib.sha256(key.encode()).hexdigest()
