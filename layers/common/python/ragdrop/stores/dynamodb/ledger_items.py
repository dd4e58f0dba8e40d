"""A WorkLedger in the registry table: one item a plan and one for each of its items, `PK` `W#TENANT`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

from ragdrop.ports.work_ledger import WorkCounts, WorkRange, WorkSummary
from ragdrop.stores.aws.clients import AwsClient
from ragdrop.stores.dynamodb.items import work_pk
from ragdrop.stores.dynamodb.table import DynamoDbTable, ItemKey, Put, Update, Write

SUMMARY = "S"  # behind all numbers
LISTED = "\0"  # in place of a vault path: all is listed
COUNTS = tuple(each.name for each in fields(WorkCounts))


class DynamoDbWorkLedger:
    """Plans in the registry table."""

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._table = DynamoDbTable(table, client)

    def begin(self, tenant: str, index: str, now_s: float) -> None:
        zeros = dict.fromkeys(("planned", "done", "listed", *COUNTS), 0)
        key = _key(tenant, index, SUMMARY)
        self._table.put(
            {"PK": key[0], "SK": key[1], **zeros, "after": "", "begun_at_s": now_s, "ended_at_s": 0.0}, only_new=True
        )

    def summary(self, tenant: str, index: str) -> WorkSummary | None:
        item = self._table.get(_key(tenant, index, SUMMARY))
        if item is None:
            return None
        return WorkSummary(
            int(item["planned"]),
            int(item["done"]),
            int(item["listed"]),
            None if item["after"] == LISTED else str(item["after"]),
            WorkCounts(**{name: int(item[name]) for name in COUNTS}),
            float(item["begun_at_s"]),
            float(item["ended_at_s"]),
        )

    def add(self, tenant: str, index: str, before: WorkSummary, items: Sequence[WorkRange], after: str | None) -> bool:
        changes = {"after": LISTED if after is None else after}
        expected = {"after": LISTED if before.after is None else before.after, "planned": before.planned}
        added = {"planned": len(items), "listed": sum(each.listed for each in items)}
        moved: Write = (_key(tenant, index, SUMMARY), Update(changes, expected, added))
        return self._table.transact([moved, *(Put(_item(tenant, index, each)) for each in items)])

    def claim(
        self, tenant: str, index: str, number: int, worker: str, *, now_s: float, until_s: float
    ) -> WorkRange | None:
        taken = self._table.conditional(
            _key(tenant, index, number),
            "SET #worker = :worker, #until = :until",
            values={":worker": worker, ":until": until_s, ":now": now_s, ":open": 0},
            names={"#worker": "worker", "#until": "until_s", "#done": "done"},
            condition="#done = :open AND (#until <= :now OR #worker = :worker)",
            returning="ALL_NEW",
        )
        if not taken.won or taken.item is None:
            return None
        item = taken.item
        return WorkRange(number, str(item["after"]), str(item["until"]), int(item["listed"]))

    def is_done(self, tenant: str, index: str, number: int) -> bool:
        item = self._table.get(_key(tenant, index, number))
        return item is None or bool(item["done"])

    def finish(self, tenant: str, index: str, number: int, worker: str, counts: WorkCounts, now_s: float) -> bool:
        done = Update({"done": 1, **asdict(counts)}, {"worker": worker, "done": 0})
        added = Update({"ended_at_s": now_s}, additions={"done": 1, **asdict(counts)})
        return self._table.transact([(_key(tenant, index, number), done), (_key(tenant, index, SUMMARY), added)])

    def left(self, tenant: str, index: str) -> Iterator[int]:
        for item in self._items(tenant, index):
            if not item["done"]:
                yield int(item["number"])

    def forget(self, tenant: str, index: str) -> None:
        for item in list(self._items(tenant, index)):
            self._table.delete((item["PK"], item["SK"]))
        self._table.delete(_key(tenant, index, SUMMARY))

    def _items(self, tenant: str, index: str) -> Iterator[dict[str, Any]]:
        return self._table.query(work_pk(tenant), between=(f"{index}#", f"{index}#9"))


def _key(tenant: str, index: str, number: int | str) -> ItemKey:
    return work_pk(tenant), f"{index}#{number if isinstance(number, str) else f'{number:08d}'}"


def _item(tenant: str, index: str, each: WorkRange) -> dict[str, Any]:
    key = _key(tenant, index, each.number)
    fresh = {"done": 0, "worker": "", "until_s": 0.0, **dict.fromkeys(COUNTS, 0)}
    return {"PK": key[0], "SK": key[1], **asdict(each), **fresh}
