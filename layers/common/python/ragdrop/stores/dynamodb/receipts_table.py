"""Receipts and threads in the telemetry table, whose items expire.

`A#tenant` holds receipts by id, `AD#document` a small item that names each, `AL#tenant` the links of those that a purge
or their owner removed; feedback is an attribute of the receipt, so it goes with it, and `AF#tenant` names the receipts
that have some.  `AT#tenant` holds threads by id, which begins by their owner; a thread has the ids of its receipts.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from ragdrop.domain.answers import MAX_ANSWERS, Feedback, Receipt, Thread, threads_prefix
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipt_chains import ChainLink
from ragdrop.errors import DatabaseError
from ragdrop.stores.dynamodb.items import Item
from ragdrop.stores.dynamodb.table import DynamoDbTable
from ragdrop.stores.dynamodb.telemetry_table import TelemetryTable

RECEIPT_BATCH = 25  # items that a BatchWriteItem takes
TRIES = 2  # of what the table did not process at once
FEEDBACK = "f/"  # an attribute a credential
BEHIND_EVERY_ID = "~"  # ids are letters and digits


class DynamoDbReceipts(TelemetryTable):
    """Receipts in one table; writing one gives up quickly, as an answer waits for it."""

    def put_receipt(self, receipt: Receipt) -> None:
        """Write the items of the documents and then the receipt, up to 25 in one request."""
        _put_all(self._table, [*(_pointer(receipt, key) for key in receipt.documents), _receipt_item(receipt)])

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        """The receipt; one whose time has passed may still be in the table, for two days at most."""
        item = self._patient.get((_partition(tenant), receipt_id))
        return None if item is None or item["expires_at"] <= now_s else _receipt(tenant, item)

    def put_feedback(self, receipt: Receipt, credential: str, feedback: Feedback) -> bool:
        """Write the item that names the receipt, then an attribute of the receipt."""
        _put_all(self._patient, [_noted(receipt)])
        return self._patient.conditional(
            (_partition(receipt.tenant), receipt.id),
            "SET #said = :said",
            "attribute_exists(PK)",
            values={":said": asdict(feedback)},
            names={"#said": f"{FEEDBACK}{credential}"},
            returning="NONE",
        ).won

    def receipts_with_feedback(
        self, tenant: str, *, after: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        behind = (f"{after} ", BEHIND_EVERY_ID)
        noted = islice(self._patient.query(_feedback_partition(tenant), between=behind, page_size=limit), limit)
        ids = [item["SK"] for item in noted]
        found = [self.receipt(tenant, each, now_s) for each in ids]
        return [each for each in found if each is not None], ids[-1] if len(ids) == limit else None

    def chained_receipts(
        self, tenant: str, *, after: str, before: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        """Read the receipts and the links of removed ones, and merge the two lists."""
        behind, by_id = (f"{after} ", before), dict[str, Item]()
        for partition in (_partition(tenant), _link_partition(tenant)):
            listed = islice(self._patient.query(partition, between=behind, page_size=limit), limit)
            by_id |= {item["SK"]: item for item in listed}
        items = [by_id[name] for name in sorted(by_id)[:limit]]
        found = [_receipt(tenant, item) for item in items if "link" in item and item["expires_at"] > now_s]
        return found, items[-1]["SK"] if len(items) == limit else None

    def forget_receipts(self, key: DocumentKey) -> int:
        """Remove the receipts that the items of the document name, but for their links; an item goes after its receipt.

        So what is cut off in between is found again.  The items of other documents go with their time.
        """
        table, gone = self._patient, 0
        for pointer in list(table.query(_document_partition(key))):
            place = (_partition(key.tenant), pointer["SK"])
            item = table.get(place)
            gone += item is not None
            if item is not None and "link" in item:
                _put_all(table, [_link_item(_receipt(key.tenant, item))])
            table.delete(place)
            table.delete((_feedback_partition(key.tenant), pointer["SK"]))
            table.delete((pointer["PK"], pointer["SK"]))
        return gone

    def forget_all_receipts(self, tenant: str) -> int:
        """Remove the tenant's receipts, each after the items of its documents."""
        table, gone = self._patient, 0
        for item in list(table.query(_partition(tenant))):
            for key in _receipt(tenant, item).documents:
                table.delete((_document_partition(key), item["SK"]))
            table.delete((_feedback_partition(tenant), item["SK"]))
            table.delete((item["PK"], item["SK"]))
            gone += 1
        for item in [*table.query(_link_partition(tenant)), *table.query(_thread_partition(tenant))]:
            table.delete((item["PK"], item["SK"]))
        return gone

    def delete_receipt(self, receipt: Receipt) -> None:
        """Write its link and remove the receipt, then what names it: what is cut off in between goes with its time."""
        if receipt.link is not None:
            _put_all(self._patient, [_link_item(receipt)])
        partitions = [_partition(receipt.tenant), _feedback_partition(receipt.tenant)]
        for partition in (*partitions, *map(_document_partition, receipt.documents)):
            self._patient.delete((partition, receipt.id))

    def put_thread(self, thread: Thread) -> None:
        _put_all(self._patient, [_thread_item(thread)])

    def thread(self, tenant: str, thread_id: str, now_s: float) -> Thread | None:
        item = self._patient.get((_thread_partition(tenant), thread_id))
        return None if item is None or item["expires_at"] <= now_s else _thread(tenant, item)

    def threads_of(self, tenant: str, owner: str, now_s: float) -> list[Thread]:
        prefix = threads_prefix(owner)
        items = self._patient.query(_thread_partition(tenant), between=(prefix, prefix + BEHIND_EVERY_ID))
        found = [_thread(tenant, item) for item in items if item["owner"] == owner and item["expires_at"] > now_s]
        return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)

    def add_to_thread(self, thread: Thread, answer_id: str, updated_at: str, expires_at_s: int) -> Thread | None:
        return self._changed(
            thread,
            "SET answers = list_append(answers, :answers), updated_at = :updated, expires_at = :expires",
            "attribute_exists(PK) AND size(answers) < :most",
            {":answers": [answer_id], ":updated": updated_at, ":expires": expires_at_s, ":most": MAX_ANSWERS},
        )

    def change_thread(self, thread: Thread, *, name: str | None = None, shared: bool | None = None) -> Thread | None:
        values = {"name": name, "named": None if name is None else True, "shared": shared}
        given = {field: value for field, value in values.items() if value is not None}
        return self._changed(
            thread,
            "SET " + ", ".join(f"#{field} = :{field}" for field in given),
            "attribute_exists(PK)",
            {f":{field}": value for field, value in given.items()},
            {f"#{field}": field for field in given},
        )

    def _changed(
        self,
        thread: Thread,
        update: str,
        condition: str,
        values: Mapping[str, Any],
        names: Mapping[str, str] | None = None,
    ) -> Thread | None:
        place = (_thread_partition(thread.tenant), thread.id)
        outcome = self._patient.conditional(place, update, condition, values=values, names=names)
        return _thread(thread.tenant, outcome.item) if outcome.won and outcome.item else None

    def delete_thread(self, thread: Thread) -> None:
        self._patient.delete((_thread_partition(thread.tenant), thread.id))


def _put_all(table: DynamoDbTable, items: list[Item]) -> None:
    """Write items in order, up to 25 in one request."""
    left = iter(items)
    while batch := list(islice(left, RECEIPT_BATCH)):
        for _ in range(TRIES):
            batch = table.batch_put(batch)
            if not batch:
                break
        else:
            raise DatabaseError(f"table {table.name} did not take all of a receipt", service="telemetry")


def _partition(tenant: str) -> str:
    return f"A#{tenant}"


def _link_partition(tenant: str) -> str:
    return f"AL#{tenant}"


def _feedback_partition(tenant: str) -> str:
    return f"AF#{tenant}"


def _thread_partition(tenant: str) -> str:
    return f"AT#{tenant}"


def _thread_item(thread: Thread) -> Item:
    fields = asdict(thread) | {"answers": list(thread.answers)}
    fields["PK"], fields["SK"] = _thread_partition(fields.pop("tenant")), fields.pop("id")
    return fields | {"expires_at": fields.pop("expires_at_s")}


def _thread(tenant: str, item: Item) -> Thread:
    names = ("owner", "name", "named", "shared", "created_at", "updated_at")
    return Thread(
        id=item["SK"],
        tenant=tenant,
        answers=tuple(item["answers"]),
        expires_at_s=int(item["expires_at"]),
        **{name: item[name] for name in names},
    )


def _document_partition(key: DocumentKey) -> str:
    return f"AD#{key.s3_key}"


def _pointer(receipt: Receipt, key: DocumentKey) -> Item:
    return {"PK": _document_partition(key), "SK": receipt.id, "expires_at": receipt.expires_at_s}


def _noted(receipt: Receipt) -> Item:
    return {"PK": _feedback_partition(receipt.tenant), "SK": receipt.id, "expires_at": receipt.expires_at_s}


def _link_item(receipt: Receipt) -> Item:
    """What is left of a receipt that was removed, until its time has passed."""
    link = "" if receipt.link is None else receipt.link.text
    return {"PK": _link_partition(receipt.tenant), "SK": receipt.id, "expires_at": receipt.expires_at_s, "link": link}


def _receipt_item(receipt: Receipt) -> Item:
    return {
        "PK": _partition(receipt.tenant),
        "SK": receipt.id,
        "expires_at": receipt.expires_at_s,
        "vaults": list(receipt.vaults),
        "credential": receipt.credential,
        "documents": zlib.compress(json.dumps([key.s3_key for key in receipt.documents]).encode()),
        "body": zlib.compress(json.dumps(receipt.body).encode()),
        **({} if receipt.link is None else {"link": receipt.link.text}),
    }


def _receipt(tenant: str, item: Item) -> Receipt:
    named = json.loads(zlib.decompress(bytes(item["documents"]))) if "documents" in item else ()
    return Receipt(
        id=item["SK"],
        tenant=tenant,
        vaults=tuple(item.get("vaults", ())),
        documents=tuple(DocumentKey.parse(name) for name in named),
        expires_at_s=int(item["expires_at"]),
        body=json.loads(zlib.decompress(bytes(item["body"]))) if "body" in item else {},
        credential=item.get("credential", ""),
        feedback={
            name.removeprefix(FEEDBACK): Feedback(**said) for name, said in item.items() if name.startswith(FEEDBACK)
        },
        link=ChainLink(**json.loads(item["link"])) if "link" in item else None,
        purged="body" not in item,
    )
