"""Receipts in the telemetry table: `A#tenant` holds them by id, `AD#document` a small item that names each.

Feedback is an attribute of the receipt, so it goes with it; `AF#tenant` names the receipts that have some.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from itertools import islice

from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.receipts import Feedback, Receipt
from ragdrop.errors import DatabaseError
from ragdrop.stores.aws.clients import AwsClient, quick_client
from ragdrop.stores.dynamodb.items import Item, encode
from ragdrop.stores.dynamodb.table import DynamoDbTable

BATCH = 25  # items that a BatchWriteItem takes
TRIES = 2  # of what the table did not process at once
FEEDBACK = "f/"  # an attribute a credential
BEHIND_EVERY_ID = "~"  # ids are letters and digits


class DynamoDbReceipts:
    """Receipts in one table; writing gives up quickly, as an answer waits for it.

    Args:
        table: The table's name.
        client: A low-level DynamoDB client.
    """

    def __init__(self, table: str, client: AwsClient = None) -> None:
        self._name = table
        self._given = client

    def put_receipt(self, receipt: Receipt) -> None:
        """Write the items of the documents and then the receipt, up to 25 in one request."""
        table = DynamoDbTable(self._name, self._given or quick_client("dynamodb"), service="telemetry")
        _put(table, [*(_pointer(receipt, key) for key in receipt.documents), _item(receipt)])

    def receipt(self, tenant: str, receipt_id: str, now_s: float) -> Receipt | None:
        """The receipt; one whose time has passed may still be in the table, for two days at most."""
        item = self._table.get((_partition(tenant), receipt_id))
        return None if item is None or item["expires_at"] <= now_s else _receipt(tenant, item)

    def put_feedback(self, receipt: Receipt, credential: str, feedback: Feedback) -> bool:
        """Write the item that names the receipt, then an attribute of the receipt."""
        _put(self._table, [_noted(receipt)])
        request = {
            "UpdateExpression": "SET #said = :said",
            "ConditionExpression": "attribute_exists(PK)",
            "ExpressionAttributeNames": {"#said": f"{FEEDBACK}{credential}"},
            "ExpressionAttributeValues": encode({":said": asdict(feedback)}),
        }
        return self._table.conditional((_partition(receipt.tenant), receipt.id), request, returning="NONE").won

    def receipts_with_feedback(
        self, tenant: str, *, after: str, limit: int, now_s: float
    ) -> tuple[list[Receipt], str | None]:
        behind = (f"{after} ", BEHIND_EVERY_ID)
        noted = islice(self._table.query(_feedback_partition(tenant), between=behind, page_size=limit), limit)
        ids = [item["SK"] for item in noted]
        found = [self.receipt(tenant, each, now_s) for each in ids]
        return [each for each in found if each is not None], ids[-1] if len(ids) == limit else None

    def forget_receipts(self, key: DocumentKey) -> int:
        """Remove the receipts that the items of the document name; an item goes after its receipt.

        So what is cut off in between is found again.  The items of other documents go with their time.
        """
        table, gone = self._table, 0
        for pointer in list(table.query(_document_partition(key))):
            place = (_partition(key.tenant), pointer["SK"])
            gone += table.get(place) is not None
            table.delete(place)
            table.delete((_feedback_partition(key.tenant), pointer["SK"]))
            table.delete((pointer["PK"], pointer["SK"]))
        return gone

    def forget_all_receipts(self, tenant: str) -> int:
        """Remove the tenant's receipts, each after the items of its documents."""
        table, gone = self._table, 0
        for item in list(table.query(_partition(tenant))):
            for key in _receipt(tenant, item).documents:
                table.delete((_document_partition(key), item["SK"]))
            table.delete((_feedback_partition(tenant), item["SK"]))
            table.delete((item["PK"], item["SK"]))
            gone += 1
        return gone

    @property
    def _table(self) -> DynamoDbTable:
        return DynamoDbTable(self._name, self._given, service="telemetry")


def _put(table: DynamoDbTable, items: list[Item]) -> None:
    """Write items in order, up to 25 in one request."""
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        for _ in range(TRIES):
            batch = table.batch_put(batch)
            if not batch:
                break
        else:
            raise DatabaseError(f"table {table.name} did not take all of a receipt", service="telemetry")


def _partition(tenant: str) -> str:
    return f"A#{tenant}"


def _feedback_partition(tenant: str) -> str:
    return f"AF#{tenant}"


def _document_partition(key: DocumentKey) -> str:
    return f"AD#{key.s3_key}"


def _pointer(receipt: Receipt, key: DocumentKey) -> Item:
    return {"PK": _document_partition(key), "SK": receipt.id, "expires_at": receipt.expires_at_s}


def _noted(receipt: Receipt) -> Item:
    return {"PK": _feedback_partition(receipt.tenant), "SK": receipt.id, "expires_at": receipt.expires_at_s}


def _item(receipt: Receipt) -> Item:
    return {
        "PK": _partition(receipt.tenant),
        "SK": receipt.id,
        "expires_at": receipt.expires_at_s,
        "vaults": list(receipt.vaults),
        "documents": zlib.compress(json.dumps([key.s3_key for key in receipt.documents]).encode()),
        "body": zlib.compress(json.dumps(receipt.body).encode()),
    }


def _receipt(tenant: str, item: Item) -> Receipt:
    named = json.loads(zlib.decompress(bytes(item["documents"])))
    return Receipt(
        id=item["SK"],
        tenant=tenant,
        vaults=tuple(item.get("vaults", ())),
        documents=tuple(DocumentKey.parse(name) for name in named),
        expires_at_s=int(item["expires_at"]),
        body=json.loads(zlib.decompress(bytes(item["body"]))),
        feedback={
            name.removeprefix(FEEDBACK): Feedback(**said) for name, said in item.items() if name.startswith(FEEDBACK)
        },
    )
