"""Changes of documents in DynamoDB: each in the item of its revision, in its vault's list, and counted for readers.

All are written in one transaction with the head that they record.  What expires goes by the table's time to live.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail
from ragdrop.domain.history import SHARDS, ChangeCounts, LiveChange, shard_of, slot_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.stores.dynamodb.items import Item, change_counts_pk, detail_item, detail_sk, document_pk
from ragdrop.stores.dynamodb.table import DynamoDbTable, ItemKey, Put, Update, Write, read_batch

CHANGE = "change"  # of the item of a revision: what it changed
LAST = "~"  # sorts behind every id
SLOT = "c"  # and the number of a slot: an attribute of a shard's item
PAGE = 200  # changes of one request, where more are wanted


class DynamoDbHistory:
    """The part of the registry that knows the past.  `self._table` is the registry's."""

    _table: DynamoDbTable
    _sleep: Callable[[float], None] = staticmethod(time.sleep)

    def change_counts(self, tenant: str, deadline: Deadline) -> ChangeCounts:
        found, left = read_batch(self._table, counts_keys(tenant), deadline, self._sleep)
        if left:
            raise DatabaseError("not all change counts could be read", service="registry")
        begun = [""] * SHARDS
        counts: dict[int, int] = {}
        for item in found:
            begun[int(item["SK"])] = item["begun"]
            counts |= {int(name[1:]): count for name, count in item.items() if name[0] == SLOT and name[1:].isdigit()}
        return ChangeCounts(tuple(begun), counts)

    def changes(
        self, tenant: str, vault: str, *, after: str, limit: int, before: str | None = None
    ) -> list[LiveChange]:
        """The vault's list between two ids, read consistently."""
        bounds = (f"{after}\0" if after else " ", before or LAST)
        size, newest_first = min(limit + 1, PAGE), before is not None
        items = self._table.query(_vault_pk(tenant, vault), between=bounds, page_size=size, newest_first=newest_first)
        found = (_change_of(item, DocumentKey(tenant, vault, item["path"])) for item in items)
        return list(islice((change for change in found if change.id != before), limit))

    def changes_of(self, key: DocumentKey, *, before_revision: int | None, limit: int) -> list[LiveChange]:
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
    """The writes that record and count *change*, of a revision with *detail* where it was activated."""
    fields = _fields(change)
    kept = {CHANGE: fields, **({} if change.after == change.revision else {"expires_at": change.expires_at_s})}
    item = {"PK": document_pk(change.key), "SK": detail_sk(change.revision)} if detail is None else detail_item(detail)
    listed = {"PK": _vault_pk(change.key.tenant, change.key.vault), "SK": change.id, "path": change.key.path}
    writes: list[Write] = [Put(item | kept), Put(listed | fields | {"expires_at": change.expires_at_s})]
    if change.before is not None and change.before != change.after:
        replaced = document_pk(change.key), detail_sk(change.before)
        writes.append((replaced, Update({"expires_at": change.expires_at_s}, whatever_is_there=True)))
    if change.before != change.after:
        slot = slot_of(change.key)
        count = Update(additions={f"{SLOT}{slot}": 1}, initial={"begun": secrets.token_hex(4)}, whatever_is_there=True)
        writes.append((counts_keys(change.key.tenant)[shard_of(slot)], count))
    return writes


def counts_keys(tenant: str) -> list[ItemKey]:
    """Where the change counts of a tenant are, by shard."""
    return [(change_counts_pk(tenant), str(shard)) for shard in range(SHARDS)]


def _vault_pk(tenant: str, vault: str) -> str:
    return f"H#{tenant}/{vault}"


def _fields(change: LiveChange) -> Item:
    values = asdict(change)
    del values["key"]
    return values


def _change_of(item: Item, key: DocumentKey) -> LiveChange:
    names = LiveChange.__slots__
    return LiveChange(**{name: value for name, value in item.items() if name in names} | {"key": key})
