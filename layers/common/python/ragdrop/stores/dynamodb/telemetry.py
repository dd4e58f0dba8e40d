"""The telemetry table: vectors of questions `V#tenant`, counts of documents `U#tenant`, hours `H#tenant`."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime

from boto3.dynamodb.types import Binary

from ragdrop.domain.chunks import Vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.telemetry import HOUR_S, KEPT_S, Counts, DocumentUsage
from ragdrop.stores.aws.clients import AwsClient, client, quick_client
from ragdrop.stores.dynamodb.items import Item, encode
from ragdrop.stores.dynamodb.table import DynamoDbTable, Update

HASH_KEY_SK = "key"  # behind every hour, so no range of hours holds it
NOT_COUNTS = frozenset({"PK", "SK", "expires_at"})


class DynamoDbTelemetry:
    """Telemetry in one table; by default over a client that gives up quickly, as nothing here is worth waiting for.

    Args:
        table: The table's name.
        client: A low-level DynamoDB client.
    """

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._name = table
        self._given = client

    def query_vector(self, tenant: str, name: str, now_s: float) -> Vector | None:
        """The vector of a question; one whose time has passed may still be in the table, for two days at most.

        A vector is never changed, so the read is eventually consistent: one that was shared a moment ago may be missed.
        """
        item = self._table.get((f"V#{tenant}", name), consistent=False)
        if item is None or item["expires_at"] <= now_s:
            return None
        return _vector(item["vector"])

    def put_query_vectors(self, tenant: str, vectors: Mapping[str, Vector], expires_at_s: float) -> None:
        """Keep vectors, in one request; what the table does not take at once is lost."""
        self._table.batch_put([_item(tenant, name, found, expires_at_s) for name, found in vectors.items()])

    def add_use(self, key: DocumentKey, count: int, last_retrieved: str) -> None:
        update = Update({"last_retrieved": last_retrieved}, additions={"query_count": count}, whatever_is_there=True)
        self._table.update(_usage_key(key), update, returning="NONE")

    def usage(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, DocumentUsage]:
        """The counts of up to 100 documents; those that the table does not give at once are left out."""
        by_item = {_usage_key(key): key for key in keys}
        items = self._table.batch_get(list(by_item))[0] if by_item else []
        return {
            by_item[(item["PK"], item["SK"])]: DocumentUsage(item.get("query_count", 0), item.get("last_retrieved"))
            for item in items
        }

    def forget_use(self, key: DocumentKey) -> None:
        self._table.delete(_usage_key(key))

    def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
        """Add to an hour by one UpdateItem; names are placeholders by number, as they hold any character."""
        names = {f"#n{place}": name for place, name in enumerate(counts)}
        adds = ", ".join(f"#n{place} :n{place}" for place in range(len(counts)))
        values = {f":n{place}": count for place, count in enumerate(counts.values())}
        ends_at = int(datetime.fromisoformat(f"{hour.rpartition('/')[2]}:00:00+00:00").timestamp()) + HOUR_S
        request = {
            "UpdateExpression": f"SET #expires_at = :expires_at ADD {adds}",
            "ExpressionAttributeNames": {"#expires_at": "expires_at", **names},
            "ExpressionAttributeValues": encode({":expires_at": ends_at + KEPT_S, **values}),
        }
        self._table.conditional((f"H#{tenant}", hour), request, returning="NONE")

    def counts(self, tenant: str, first: str, last: str) -> dict[str, Counts]:
        """The hours of a range by one query, patiently: 30 days are a megabyte, and an operator waits for them."""
        table = DynamoDbTable(self._name, self._given or client("dynamodb"), service="telemetry")
        items = table.query(f"H#{tenant}", between=(first, last))
        return {
            item["SK"]: {name: int(count) for name, count in item.items() if name not in NOT_COUNTS} for item in items
        }

    def hash_key(self, tenant: str, candidate: bytes) -> bytes:
        """The tenant's key of digests, by one UpdateItem that makes it where there is none."""
        request = {
            "UpdateExpression": "SET #key = if_not_exists(#key, :key)",
            "ExpressionAttributeNames": {"#key": "key"},
            "ExpressionAttributeValues": encode({":key": candidate}),
        }
        item = self._table.conditional((f"H#{tenant}", HASH_KEY_SK), request).item
        return bytes(item["key"]) if item else candidate

    def forget_tenant(self, tenant: str) -> int:
        """Remove its partitions, requests a minute too, patiently."""
        table = DynamoDbTable(self._name, self._given or client("dynamodb"), service="telemetry")
        items = [item for kind in "VUHL" for item in table.query(f"{kind}#{tenant}")]
        for item in items:
            table.delete((item["PK"], item["SK"]))
        return len(items)

    @property
    def _table(self) -> DynamoDbTable:
        return DynamoDbTable(self._name, self._given or quick_client("dynamodb"), service="telemetry")


def _usage_key(key: DocumentKey) -> tuple[str, str]:
    return f"U#{key.tenant}", key.vault_path


def _item(tenant: str, name: str, found: Vector, expires_at_s: float) -> Item:
    raw = array("f", found)
    if sys.byteorder == "big":
        raw.byteswap()
    return {"PK": f"V#{tenant}", "SK": name, "vector": raw.tobytes(), "expires_at": int(expires_at_s)}


def _vector(stored: Binary) -> Vector:
    raw = array("f", bytes(stored))
    if sys.byteorder == "big":
        raw.byteswap()
    return raw
