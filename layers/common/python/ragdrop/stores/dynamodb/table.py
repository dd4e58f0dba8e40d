"""One DynamoDB table: consistent reads, conditional writes, and errors in ragdrop's words."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import ClientError

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DatabaseError
from ragdrop.stores.aws.clients import AwsClient, aws_errors, error_code
from ragdrop.stores.aws.clients import client as aws_client
from ragdrop.stores.dynamodb.items import Item, decode_item, encode_item

ItemKey = tuple[str, str]  # PK and SK
MAX_ITEMS = 100  # items a BatchGetItem takes
CONFLICT_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)  # between the tries of a transaction: change counts are shared
BACKOFF_BASE_S = 0.05
BACKOFF_CAP_S = 1.0


@dataclass(frozen=True, slots=True)
class Update:
    """A conditional write of one item."""

    changes: Mapping[str, Any] = field(default_factory=dict)  # attributes to set; None removes the attribute
    # attributes that must have these values.  Empty: the item must exist.
    expected: Mapping[str, Any] = field(default_factory=dict)
    additions: Mapping[str, Any] = field(default_factory=dict)  # numbers to add, or sets to add to
    only_new: bool = False  # the item must not exist; `expected` does not count
    # an attribute of `changes` that must not fall; the item may be new, and `expected` does not count
    rising: str | None = None
    whatever_is_there: bool = False  # no condition: the item is made where there is none; `expected` does not count
    # sets that must have fewer members than this, or not be there; the item is made where there is none
    fewer_than: Mapping[str, int] = field(default_factory=dict)
    initial: Mapping[str, Any] = field(default_factory=dict)  # attributes to set where the item does not have them

    def request(self) -> dict[str, Any]:
        """The parameters of UpdateItem; names and values are always placeholders, so no word is reserved.

        >>> Update({"a": 1}, {"b": 2}).request()["UpdateExpression"]
        'SET #a = :a'
        """
        values: dict[str, Any] = {f":{name}": value for name, value in self.changes.items() if value is not None}
        sets = [f"#{name} = :{name}" for name, value in self.changes.items() if value is not None]
        sets += [f"#{name} = if_not_exists(#{name}, :{name})" for name in self.initial]
        removes = [f"#{name}" for name, value in self.changes.items() if value is None]
        adds = [f"#{name} :{name}" for name in self.additions]
        values |= {f":{name}": value for name, value in ({**self.initial, **self.additions}).items()}
        clauses = [
            f"{verb} {', '.join(parts)}" for verb, parts in (("SET", sets), ("REMOVE", removes), ("ADD", adds)) if parts
        ]
        names = {*self.changes, *self.initial, *self.additions}
        condition: str | None
        if self.rising:
            names.add("PK")
            condition = f"attribute_not_exists(#PK) OR #{self.rising} <= :{self.rising}"
        elif self.whatever_is_there:
            condition = None
        elif self.fewer_than:
            condition = " AND ".join(
                f"(attribute_not_exists(#{name}) OR size(#{name}) < :bound_{name})" for name in self.fewer_than
            )
            values |= {f":bound_{name}": bound for name, bound in self.fewer_than.items()}
        elif self.only_new or not self.expected:
            names.add("PK")
            condition = "attribute_not_exists(#PK)" if self.only_new else "attribute_exists(#PK)"
        else:
            names |= set(self.expected)
            condition = " AND ".join(f"#{name} = :expected_{name}" for name in self.expected)
            values |= {f":expected_{name}": value for name, value in self.expected.items()}
        request: dict[str, Any] = {
            "UpdateExpression": " ".join(clauses),
            "ExpressionAttributeNames": {f"#{name}": name for name in sorted(names)},
        }
        if values:  # an empty map is refused
            request["ExpressionAttributeValues"] = encode_item(values)
        return request if condition is None else request | {"ConditionExpression": condition}


@dataclass(frozen=True, slots=True)
class Put:
    """An item to be written whole."""

    item: Item


@dataclass(frozen=True, slots=True)
class Absent:
    """An item that must not be there."""

    key: ItemKey


Write = Put | Absent | tuple[ItemKey, Update]
"""One write of a transaction, or a condition of it."""


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What a conditional write came to: `item` is as asked for, or the one that was in the way where it lost."""

    won: bool
    item: Item | None


class DynamoDbTable:
    """The calls the registry makes, on plain values.

    All raise DatabaseError, and ConfigurationError where the table does not exist.  *service* is what the errors name.
    """

    def __init__(self, name: str, client: AwsClient = None, *, service: str = "registry") -> None:
        self.name = name
        self._given = client
        self._service = service

    def get(self, key: ItemKey, *, consistent: bool = True) -> Item | None:
        """One item, read consistently unless an older one would do, which costs half."""
        with self._translated():
            how = {"ConsistentRead": True} if consistent else {}
            answer = self._client.get_item(TableName=self.name, Key=_typed(key), **how)
        return decode_item(answer["Item"]) if "Item" in answer else None

    def batch_get(self, keys: Sequence[ItemKey]) -> tuple[list[Item], list[ItemKey]]:
        """Up to 100 items, read consistently, and the keys that were not processed."""
        asked = {self.name: {"Keys": [_typed(key) for key in keys], "ConsistentRead": True}}
        with self._translated():
            answer = self._client.batch_get_item(RequestItems=asked)
        left = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
        items = [decode_item(item) for item in answer.get("Responses", {}).get(self.name, [])]
        return items, [(key["PK"]["S"], key["SK"]["S"]) for key in left]

    def put(self, item: Item, *, only_new: bool = False) -> bool:
        """Write an item whole; False where *only_new* and there is one already."""
        condition = {"ConditionExpression": "attribute_not_exists(PK)"} if only_new else {}
        with self._translated():
            try:
                self._client.put_item(TableName=self.name, Item=encode_item(item), **condition)
            except ClientError as exc:
                if error_code(exc) != "ConditionalCheckFailedException":
                    raise
                return False
        return True

    def batch_put(self, items: Sequence[Item]) -> list[Item]:
        """Write up to 25 items whole, in one request; those that the table did not process."""
        requests = [{"PutRequest": {"Item": encode_item(item)}} for item in items]
        with self._translated():
            answer = self._client.batch_write_item(RequestItems={self.name: requests})
        left = answer.get("UnprocessedItems", {}).get(self.name, [])
        return [decode_item(each["PutRequest"]["Item"]) for each in left]

    def update(self, key: ItemKey, update: Update, *, returning: Literal["ALL_OLD", "ALL_NEW", "NONE"]) -> WriteOutcome:
        """Write some attributes of an item if the condition holds."""
        return self.update_item(key, update.request(), returning=returning)

    def conditional(
        self,
        key: ItemKey,
        update: str,
        condition: str | None = None,
        *,
        values: Mapping[str, Any],
        names: Mapping[str, str] | None = None,
        returning: Literal["ALL_NEW", "NONE"] = "ALL_NEW",
    ) -> WriteOutcome:
        """The same for expressions that `Update` does not make; *values* and *names* are those of the placeholders."""
        request: dict[str, Any] = {"UpdateExpression": update, "ExpressionAttributeValues": encode_item(values)}
        request |= {"ConditionExpression": condition} if condition else {}
        request |= {"ExpressionAttributeNames": dict(names)} if names else {}
        return self.update_item(key, request, returning=returning)

    def add(
        self,
        key: ItemKey,
        counts: Mapping[str, int],
        expires_at: int,
        *,
        returning: Literal["ALL_NEW", "NONE"] = "ALL_NEW",
    ) -> Item:
        """Add to numbers of an item by one UpdateItem; names are placeholders by number, as they hold any character."""
        names = {f"#n{place}": name for place, name in enumerate(counts)}
        values = {f":n{place}": count for place, count in enumerate(counts.values())}
        adds = ", ".join(f"#n{place} :n{place}" for place in range(len(counts)))
        added = self.conditional(
            key,
            f"SET #expires_at = :expires_at ADD {adds}",
            values={":expires_at": expires_at, **values},
            names={"#expires_at": "expires_at", **names},
            returning=returning,
        )
        return added.item or {}

    def update_item(
        self, key: ItemKey, request: Mapping[str, Any], *, returning: Literal["ALL_OLD", "ALL_NEW", "NONE"]
    ) -> WriteOutcome:
        """The same for a *request* of UpdateItem."""
        with self._translated():
            try:
                answer = self._client.update_item(
                    TableName=self.name,
                    Key=_typed(key),
                    ReturnValues=returning,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **request,
                )
            except ClientError as exc:
                if error_code(exc) != "ConditionalCheckFailedException":
                    raise
                in_the_way: Any = exc.response
                return WriteOutcome(won=False, item=decode_item(in_the_way["Item"]) if in_the_way.get("Item") else None)
        return WriteOutcome(won=True, item=decode_item(answer["Attributes"]) if answer.get("Attributes") else None)

    def transact(self, writes: Sequence[Write]) -> bool:
        """Write all of *writes*, or nothing and False if one of their conditions does not hold.

        Where another write has one of the items in hand, it is tried again, up to five times within a second.
        """
        request = [self._step(write) for write in writes]
        for pause_s in (*CONFLICT_PAUSES_S, None):
            with self._translated():
                try:
                    self._client.transact_write_items(TransactItems=request)
                except ClientError as exc:
                    reasons = {each.get("Code") for each in exc.response.get("CancellationReasons", ())}
                    if "ConditionalCheckFailed" in reasons:
                        return False
                    if "TransactionConflict" not in reasons or pause_s is None:
                        raise
                else:
                    return True
            time.sleep(random.uniform(0, pause_s))  # noqa: S311 - no secret
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _step(self, write: Write) -> dict[str, Any]:
        if isinstance(write, Put):
            return {"Put": {"TableName": self.name, "Item": encode_item(write.item)}}
        if isinstance(write, Absent):
            condition = {"ConditionExpression": "attribute_not_exists(PK)"}
            return {"ConditionCheck": {"TableName": self.name, "Key": _typed(write.key), **condition}}
        key, update = write
        return {"Update": {"TableName": self.name, "Key": _typed(key), **update.request()}}

    def delete(self, key: ItemKey) -> None:
        """Remove an item; no error where there is none."""
        with self._translated():
            self._client.delete_item(TableName=self.name, Key=_typed(key))

    def delete_if(
        self, key: ItemKey, condition: str, values: Mapping[str, Any], names: Mapping[str, str] | None = None
    ) -> bool:
        """Remove an item on a condition; False if it does not hold, or there is no such item."""
        request: dict[str, Any] = {"ExpressionAttributeNames": dict(names)} if names else {}
        with self._translated():
            try:
                self._client.delete_item(
                    TableName=self.name,
                    Key=_typed(key),
                    ConditionExpression=condition,
                    ExpressionAttributeValues=encode_item(values),
                    **request,
                )
            except ClientError as exc:
                if error_code(exc) != "ConditionalCheckFailedException":
                    raise
                return False
        return True

    def query(
        self,
        partition: str,
        *,
        between: tuple[str, str] | None = None,
        index: str | None = None,
        page_size: int | None = None,
        newest_first: bool = False,
        consistent: bool = True,
    ) -> Iterator[Item]:
        """Items of a partition in order of their sort key, page by page as they are taken.

        Args:
            partition: PK, or GPK of *index*.
            between: Bounds of the sort key, both included.
            index: A secondary index, which cannot be read consistently.
            page_size: Items a request, from 1.
            newest_first: Turn the order round.
            consistent: False if what was written a moment ago may be missing; it costs half.
        """
        names = {"#pk": "GPK", "#sk": "GSK"} if index else {"#pk": "PK", "#sk": "SK"}
        request: dict[str, Any] = {"TableName": self.name, "KeyConditionExpression": "#pk = :pk"}
        values = {":pk": partition}
        request |= {"IndexName": index} if index else {"ConsistentRead": True} if consistent else {}
        if page_size:
            request["Limit"] = page_size
        if newest_first:
            request["ScanIndexForward"] = False
        if between:
            request["KeyConditionExpression"] += " AND #sk BETWEEN :low AND :high"
            values |= {":low": between[0], ":high": between[1]}
        else:
            del names["#sk"]
        request |= {"ExpressionAttributeNames": names, "ExpressionAttributeValues": encode_item(values)}
        while True:
            with self._translated():
                answer = self._client.query(**request)
            yield from (decode_item(item) for item in answer["Items"])
            if not answer.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    @property
    def _client(self) -> AwsClient:
        return self._given or aws_client("dynamodb")

    def _translated(self) -> AbstractContextManager[None]:
        return aws_errors(DatabaseError, service=self._service, resource=f"table {self.name}")


def _typed(key: ItemKey) -> dict[str, dict[str, str]]:
    return {"PK": {"S": key[0]}, "SK": {"S": key[1]}}


def read_batch(
    table: DynamoDbTable, keys: Sequence[ItemKey], deadline: Deadline, sleep: Callable[[float], None] = time.sleep
) -> tuple[list[Item], list[ItemKey]]:
    """Up to 100 items, read consistently, and the keys that stayed unread until the deadline.

    Raises:
        DatabaseError: Not one of them could be read.
        ValueError: More than 100 keys.
    """
    if len(keys) > MAX_ITEMS:
        raise ValueError(f"{len(keys)} items asked for at once, at most {MAX_ITEMS}")
    found: list[Item] = []
    left = list(keys)
    attempt = 0
    while left:
        try:
            items, unprocessed = table.batch_get(left)
        except DatabaseError:
            if len(left) == len(keys):
                raise
            break  # what was read before counts; the rest is unread
        found += items
        left = unprocessed
        # full jitter, so that clients throttled together do not come back together
        pause_s = random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2**attempt))  # noqa: S311
        if left and deadline.remaining_s() <= pause_s:
            break
        if left:
            sleep(pause_s)
        attempt += 1
    if left and len(left) == len(keys):
        raise DatabaseError(f"table {table.name} processed none of {len(left)} keys in time", service="registry")
    return found, left
