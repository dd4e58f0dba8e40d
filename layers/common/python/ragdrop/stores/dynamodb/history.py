"""Changes of documents in DynamoDB: each in the item of its revision, and in its vault's list.

Both are written in one transaction with the head that they record.  What expires goes by the table's time to live.
"""

from __future__ import annotations

from dataclasses import asdict

from ragdrop.domain.documents import Detail
from ragdrop.domain.history import LiveChange
from ragdrop.domain.keys import DocumentKey
from ragdrop.stores.dynamodb.items import Item, detail_item, detail_sk, document_pk
from ragdrop.stores.dynamodb.table import DynamoDbTable, Put, Update, Write

CHANGE = "change"  # of the item of a revision: what it changed
LAST = "~"  # sorts behind every id
PAGE = 200  # changes of one request, where more are wanted


class DynamoDbHistory:
    """The part of the registry that knows the past.  `self._table` is the registry's."""

    _table: DynamoDbTable

    def changes(self, tenant: str, vault: str, *, after: str, limit: int) -> list[LiveChange]:
        """The vault's list behind an id, read consistently."""
        found: list[LiveChange] = []
        low = f"{after}\0" if after else " "
        for item in self._table.query(_vault_pk(tenant, vault), between=(low, LAST), page_size=min(limit, PAGE)):
            found.append(_change_of(item, DocumentKey(tenant, vault, item["path"])))
            if len(found) == limit:
                break
        return found

    def changes_of(self, key: DocumentKey, *, before_revision: int | None, limit: int) -> list[LiveChange]:
        """The changes in the items of a document's revisions, the newest first."""
        found: list[LiveChange] = []
        last = "R#~" if before_revision is None else detail_sk(before_revision - 1)
        pages = self._table.query(
            document_pk(key), between=(detail_sk(0), last), page_size=min(limit, PAGE), newest_first=True
        )
        for item in pages:
            if CHANGE in item:
                found.append(_change_of(item[CHANGE], key))
            if len(found) == limit:
                break
        return found

    def _forget_changes(self, items: list[Item], key: DocumentKey) -> int:
        """Remove what the vault's list holds of a document, by the *items* of its partition; how many."""
        gone = 0
        for item in items:
            if CHANGE in item:
                self._table.delete((_vault_pk(key.tenant, key.vault), _change_of(item[CHANGE], key).id))
                gone += 1
        return gone


def recorded(change: LiveChange, detail: Detail | None) -> list[Write]:
    """The writes that record *change*, of a revision with *detail* where it was activated."""
    fields = _fields(change)
    kept = {CHANGE: fields, **({} if change.after == change.revision else {"expires_at": change.expires_at_s})}
    item = {"PK": document_pk(change.key), "SK": detail_sk(change.revision)} if detail is None else detail_item(detail)
    listed = {"PK": _vault_pk(change.key.tenant, change.key.vault), "SK": change.id, "path": change.key.path}
    writes: list[Write] = [Put(item | kept), Put(listed | fields | {"expires_at": change.expires_at_s})]
    if change.before is not None and change.before != change.after:
        replaced = document_pk(change.key), detail_sk(change.before)
        writes.append((replaced, Update({"expires_at": change.expires_at_s}, whatever_is_there=True)))
    return writes


def _vault_pk(tenant: str, vault: str) -> str:
    return f"H#{tenant}/{vault}"


def _fields(change: LiveChange) -> Item:
    values = asdict(change)
    del values["key"]
    return values


def _change_of(item: Item, key: DocumentKey) -> LiveChange:
    names = LiveChange.__slots__
    return LiveChange(**{name: value for name, value in item.items() if name in names} | {"key": key})
