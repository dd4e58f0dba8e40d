"""Requests a minute in the telemetry table: one item a tenant and minute, `L#tenant`, an attribute a credential."""

from __future__ import annotations

from collections.abc import Mapping

from ragdrop.adapters.aws import AwsClient, quick_client
from ragdrop.adapters.dynamodb_items import encode
from ragdrop.adapters.dynamodb_table import Table
from ragdrop.domain.rates import WINDOW_S

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
        """Add by one UpdateItem, which answers with the item as it is then."""
        names = {f"#n{place}": f"{PREFIX}{credential}" for place, credential in enumerate(counts)}
        adds = ", ".join(f"#n{place} :n{place}" for place in range(len(counts)))
        values = {f":n{place}": count for place, count in enumerate(counts.values())}
        request = {
            "UpdateExpression": f"SET #expires_at = :expires_at ADD {adds}",
            "ExpressionAttributeNames": {"#expires_at": "expires_at", **names},
            "ExpressionAttributeValues": encode({":expires_at": (window + KEPT_WINDOWS) * WINDOW_S, **values}),
        }
        table = Table(self._name, self._given or quick_client("dynamodb"), service="telemetry")
        item = table.conditional((f"L#{tenant}", str(window)), request).item or {}
        return {name.removeprefix(PREFIX): int(count) for name, count in item.items() if name.startswith(PREFIX)}
