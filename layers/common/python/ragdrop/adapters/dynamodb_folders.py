"""The folders of a tenant in DynamoDB: one item beside the tenant's own, read only where folders are ranked."""

from __future__ import annotations

from ragdrop.adapters.dynamodb_table import Table, Update
from ragdrop.ports.registry import MAX_FOLDERS


class DynamoDbFolders:
    """The part of the registry that knows which folders there are."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def folders(self, tenant: str) -> frozenset[str]:
        """The folders noted."""
        item = self._table.get((f"T#{tenant}", "F"))
        return frozenset(item.get("folders") or ()) if item else frozenset()

    def note_folder(self, tenant: str, folder: str) -> None:
        """Add one, unless there are as many as there may be."""
        update = Update(additions={"folders": {folder}}, fewer_than={"folders": MAX_FOLDERS})
        self._table.update((f"T#{tenant}", "F"), update, returning="NONE")
