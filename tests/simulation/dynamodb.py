"""DynamoDB for the simulation: the calls of its client that ragdrop makes, over a dictionary, with its expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError

Typed = Mapping[str, Any]  # a value with its type: {"S": "text"}
Stored = dict[str, Typed]  # an item
Place = tuple[str, str]

TOKEN = re.compile(r"<=|>=|<|>|=|\(|\)|,|[#:\w]+")
CLAUSE = re.compile(r"\b(SET|REMOVE|ADD)\b")
LAG_S = 1.0  # how old an eventually consistent read may be


class SimulatedDynamoDb:
    """The low-level client of tables with the keys PK and SK, and one index with GPK and GSK.

    *clock* gives seconds; *lags* says, for each read that may be, whether it is a second old; *changed* hears of each
    item before and after it is written.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        lags: Callable[[], bool] = lambda: False,
        changed: Callable[[Stored, Stored], None] = lambda _before, _after: None,
    ) -> None:
        self._clock, self._lags, self._changed = clock, lags, changed
        self._items: dict[str, dict[Place, Stored]] = {}
        self._before: dict[tuple[str, Place], tuple[float, Stored | None]] = {}

    def get_item(self, *, TableName: str, Key: Stored, ConsistentRead: bool = False) -> dict[str, Any]:  # noqa: N803
        """One item."""
        place = _place(Key)
        item = self._items.get(TableName, {}).get(place)
        if not ConsistentRead and self._lags():
            item = self._earlier(TableName, place, item)
        return {} if item is None else {"Item": item}

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803
        """Several items, read consistently."""
        found = {}
        for table, asked in RequestItems.items():
            items = self._items.get(table, {})
            found[table] = [items[place] for place in map(_place, asked["Keys"]) if place in items]
        return {"Responses": found}

    def put_item(self, *, TableName: str, Item: Stored, **condition: Any) -> dict[str, Any]:  # noqa: N803
        """Write an item whole."""
        self._check(TableName, _place(Item), condition)
        self._store(TableName, _place(Item), dict(Item))
        return {}

    def batch_write_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803
        """Write several items whole."""
        for table, requests in RequestItems.items():
            for each in requests:
                item = each["PutRequest"]["Item"]
                self._store(table, _place(item), dict(item))
        return {}

    def update_item(self, *, TableName: str, Key: Stored, ReturnValues: str = "NONE", **request: Any) -> dict[str, Any]:  # noqa: N803
        """Write some attributes of an item on a condition."""
        place = _place(Key)
        before = self._check(TableName, place, request)
        after = updated(before or dict(Key), request)
        self._store(TableName, place, after)
        shown = {"ALL_OLD": before, "ALL_NEW": after}.get(ReturnValues)
        return {} if shown is None else {"Attributes": shown}

    def delete_item(self, *, TableName: str, Key: Stored, **condition: Any) -> dict[str, Any]:  # noqa: N803
        """Remove an item on a condition."""
        self._check(TableName, _place(Key), condition)
        self._store(TableName, _place(Key), None)
        return {}

    def transact_write_items(self, *, TransactItems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803
        """Write all, or nothing where one condition does not hold."""
        writes: list[tuple[str, Place, Stored | None]] = []
        reasons: list[dict[str, str]] = []
        for each in TransactItems:
            [(kind, request)] = each.items()
            table, place = request["TableName"], _place(request.get("Item") or request["Key"])
            item = self._items.get(table, {}).get(place)
            held = holds(item, request)
            reasons.append({"Code": "None" if held else "ConditionalCheckFailed"})
            if held and kind == "Put":
                writes.append((table, place, dict(request["Item"])))
            elif held and kind == "Update":
                writes.append((table, place, updated(item or dict(request["Key"]), request)))
        if any(each["Code"] != "None" for each in reasons):
            raise _error("TransactionCanceledException", CancellationReasons=reasons)
        for write in writes:
            self._store(*write)
        return {}

    def query(
        self,
        *,
        TableName: str,  # noqa: N803
        KeyConditionExpression: str,  # noqa: N803
        ExpressionAttributeValues: Stored,  # noqa: N803
        IndexName: str | None = None,  # noqa: N803
        ConsistentRead: bool = False,  # noqa: N803
        Limit: int = 1_000,  # noqa: N803
        ScanIndexForward: bool = True,  # noqa: N803
        ExclusiveStartKey: Stored | None = None,  # noqa: N803
        **_names: Any,
    ) -> dict[str, Any]:
        """A page of a partition, in order of the sort key."""
        pk, sk = ("GPK", "GSK") if IndexName else ("PK", "SK")
        items: Mapping[Place, Stored] = self._items.get(TableName, {})
        if not ConsistentRead and self._lags():
            places = {place for table, place in self._before if table == TableName}
            old = {place: self._earlier(TableName, place, items.get(place)) for place in {*items, *places}}
            items = {place: item for place, item in sorted(old.items()) if item is not None}
        partition = ExpressionAttributeValues[":pk"]["S"]
        found = [item for item in items.values() if item.get(pk, {}).get("S") == partition and sk in item]
        if "BETWEEN" in KeyConditionExpression:
            low, high = (ExpressionAttributeValues[name]["S"] for name in (":low", ":high"))
            found = [item for item in found if low <= item[sk]["S"] <= high]

        def order(item: Stored) -> tuple[str, str, str]:
            return item[sk]["S"], item["PK"]["S"], item["SK"]["S"]

        found.sort(key=order, reverse=not ScanIndexForward)
        if ExclusiveStartKey is not None:
            start = order(ExclusiveStartKey)
            found = [item for item in found if (order(item) > start if ScanIndexForward else order(item) < start)]
        page = {"Items": found[:Limit]}
        if len(found) > Limit:
            last = found[Limit - 1]
            page["LastEvaluatedKey"] = {name: last[name] for name in {"PK", "SK", pk, sk}}  # type: ignore[assignment]
        return page

    def _check(self, table: str, place: Place, request: Mapping[str, Any]) -> Stored | None:
        item = self._items.get(table, {}).get(place)
        if not holds(item, request):
            shown = {"Item": item} if item and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else {}
            raise _error("ConditionalCheckFailedException", **shown)
        return item

    def _store(self, table: str, place: Place, item: Stored | None) -> None:
        items = self._items.setdefault(table, {})
        self._changed(items.get(place, {}), item or {})
        self._before[table, place] = self._clock(), items.get(place)
        if item is None:
            items.pop(place, None)
        else:
            items[place] = item

    def _earlier(self, table: str, place: Place, item: Stored | None) -> Stored | None:
        written_s, before = self._before.get((table, place), (0.0, None))
        return before if self._clock() - written_s < LAG_S else item


def holds(item: Stored | None, request: Mapping[str, Any]) -> bool:
    """Whether an item is as the condition of *request* says.

    >>> holds({"a": {"N": "2"}}, {"ConditionExpression": "a <= :b", "ExpressionAttributeValues": {":b": {"N": "10"}}})
    True
    >>> holds(None, {"ConditionExpression": "attribute_not_exists(PK) OR a = :b"})
    True
    """
    condition = request.get("ConditionExpression")
    if condition is None:
        return True
    tokens = TOKEN.findall(condition)
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})

    def operand() -> Any:
        token = tokens.pop(0)
        if token == "size":
            tokens.pop(0)
            of = operand_typed(tokens.pop(0))
            tokens.pop(0)
            return None if of is None else len(next(iter(of.values())))
        found = operand_typed(token)
        return None if found is None else plain(found)

    def operand_typed(token: str) -> Typed | None:
        return values.get(token) if token.startswith(":") else (item or {}).get(names.get(token, token))

    def one() -> bool:
        if tokens[0] == "(":
            tokens.pop(0)
            inner = either()
            tokens.pop(0)
            return inner
        if tokens[0].startswith("attribute_"):
            required = tokens.pop(0) == "attribute_exists"
            tokens.pop(0)
            there = operand_typed(tokens.pop(0)) is not None
            tokens.pop(0)
            return there is required
        left, operator, right = operand(), tokens.pop(0), operand()
        if left is None or right is None:
            return False
        return bool({"=": left == right, "<=": left <= right, "<": left < right, ">": left > right}[operator])

    def both() -> bool:
        found = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = one() and found
        return found

    def either() -> bool:
        found = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = both() or found
        return found

    return either()


def updated(item: Stored, request: Mapping[str, Any]) -> Stored:
    """*item* after the UpdateExpression of *request*."""
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    after, (_, *clauses) = dict(item), CLAUSE.split(request["UpdateExpression"])
    for verb, text in zip(clauses[::2], clauses[1::2], strict=True):
        for part in re.split(r",(?![^(]*\))", text):
            found = part.replace("=", " = ", 1).split()
            name = names.get(found[0], found[0])
            if verb == "REMOVE":
                after.pop(name, None)
            elif verb == "ADD":
                after[name] = added(after.get(name), values[found[1]])
            elif "if_not_exists" not in part or name not in after:
                after[name] = values[re.findall(r":\w+", part)[-1]]
    return after


def added(before: Typed | None, more: Typed) -> Typed:
    """A number plus a number, or a set and its new members."""
    [(kind, value)] = more.items()
    if kind == "N":
        return {"N": str(Decimal(before["N"] if before else "0") + Decimal(value))}
    return {kind: sorted({*(before[kind] if before else ()), *value})}


def plain(value: Typed) -> Any:
    """What compares as DynamoDB compares it."""
    [(kind, found)] = value.items()
    return Decimal(found) if kind == "N" else found


def plain_item(item: Stored) -> dict[str, Any]:
    """An item without the types of its values."""
    return {name: plain(value) for name, value in item.items()}


def _place(item: Stored) -> Place:
    return item["PK"]["S"], item["SK"]["S"]


def _error(code: str, **more: Any) -> ClientError:
    response = {"Error": {"Code": code, "Message": "simulated"}, "ResponseMetadata": {"HTTPStatusCode": 400}, **more}
    return ClientError(response, "Simulated")
