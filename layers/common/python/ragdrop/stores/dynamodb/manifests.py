"""Manifests of bucket indexes in the registry table: one item for each tenant and index."""

from __future__ import annotations

from ragdrop.stores.aws.clients import AwsClient
from ragdrop.stores.dynamodb.table import DynamoDbTable, Update


class DynamoDbManifests:
    """A ManifestStore.

    Args:
        table: The registry table's name.
        client: A low-level DynamoDB client.
    """

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client)

    def read(self, tenant: str, index: str) -> str | None:
        item = self._table.get(_key(tenant, index))
        return None if item is None else str(item["body"])

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        changes = {"body": body, "sequence": sequence}
        update = Update(changes, {"sequence": before}) if before else Update(changes, only_new=True)
        return self._table.update(_key(tenant, index), update, returning="NONE").won

    def delete(self, tenant: str, index: str) -> None:
        self._table.delete(_key(tenant, index))


def _key(tenant: str, index: str) -> tuple[str, str]:
    return f"T#{tenant}", f"I#{index}"
