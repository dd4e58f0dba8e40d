"""API keys in DynamoDB: an item a key, by its hash, and one beside its tenant's others that names it."""

from __future__ import annotations

from ragdrop.adapters.dynamodb_items import api_key_item, api_key_of
from ragdrop.adapters.dynamodb_table import Table, Update
from ragdrop.domain.tenants import ApiKey


class DynamoDbKeys:
    """The part of the registry that knows who may ask."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def api_key(self, sha256: str) -> ApiKey | None:
        """The key of that hash."""
        item = self._table.get(_key(sha256))
        return api_key_of(item) if item else None

    def put_api_key(self, key: ApiKey) -> None:
        """Write a key; its entry in the tenant's list first, as a key that nobody can list could not be revoked."""
        self._table.put({"PK": _list(key.tenant), "SK": key.sha256})
        self._table.put(api_key_item(key))

    def api_keys(self, tenant: str) -> list[ApiKey]:
        """The keys that the tenant's list names."""
        found = (self.api_key(entry["SK"]) for entry in self._table.query(_list(tenant)))
        return sorted((key for key in found if key), key=lambda key: (key.created_at, key.sha256))

    def revoke_api_key(self, sha256: str) -> bool:
        """Mark a key as revoked."""
        return self._table.update(_key(sha256), Update({"revoked": True}), returning="NONE").won

    def expire_api_key(self, sha256: str, expires_at_s: float) -> bool:
        """Write when a key expires."""
        return self._table.update(_key(sha256), Update({"expires_at_s": expires_at_s}), returning="NONE").won

    def _forget_keys(self, tenant: str) -> int:
        """Remove a tenant's keys, each before its entry, so that what is cut off in between is found again."""
        gone = 0
        for entry in list(self._table.query(_list(tenant))):
            self._table.delete(_key(entry["SK"]))
            self._table.delete((entry["PK"], entry["SK"]))
            gone += 1
        return gone


def _key(sha256: str) -> tuple[str, str]:
    return f"K#{sha256}", "K"


def _list(tenant: str) -> str:
    return f"KT#{tenant}"
