"""Count what is asked of AWS, and what it consumes: each request by the SDK's own events, of OpenSearch by its log.

Units follow "DynamoDB item sizes and formats" and "DynamoDB read and write operations" of the Amazon DynamoDB Developer
Guide; tests/contract/test_capacity.py compares them with DynamoDB Local's own answers.
"""

from __future__ import annotations

import base64
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import Any

from botocore.handlers import BUILTIN_HANDLERS

Item = Mapping[str, Any]
"""Typed attributes, such as `{"PK": {"S": "a"}}`."""
READ_BYTES, WRITE_BYTES = 4_096, 1_024  # of a unit
INDEX_KEYS = ("GPK", "GSK")  # of the registry's index `listing`, which has whole items
ReadItem = Callable[[str, Mapping[str, Any]], Item | None]
"""The item of a table with a key, read without a request that would be counted."""
COUNTED = "ragdrop-counted"
S3_FREE = {"DeleteObject", "DeleteObjects"}
S3_PUTS = {"PutObject", "CopyObject", "ListObjectsV2", "ListObjectVersions"} | {
    "CreateMultipartUpload",
    "UploadPart",
    "CompleteMultipartUpload",
}
BY_TIME = {"BREAKERS", "U"}
"""What environments write by the second, not by the request: counts of breakers, uses of documents."""
MANIFEST = ("GetItem", "registry: T/I")
"""What a search reads again where its steps are more than a second apart: counted once."""
WITH_SORT_KEY = {"D", "T"}  # partitions that hold items of several kinds
IN_TRANSACTION = 2  # each write is prepared and then committed, those of the index too
OPENSEARCH = logging.getLogger("ragdrop_opensearch.client")
COUNTERS: list[RequestCounter] = []
"""The counter at work, if there is one."""
Place = tuple[str, tuple[tuple[str, str], ...]]
"""A table, and the key of an item."""


def size_of(item: Item) -> int:
    """Bytes of an item: its names and values.

    >>> size_of({"PK": {"S": "a"}, "count": {"N": "12"}, "tags": {"L": [{"S": "x"}]}})
    19
    """
    return sum(len(name.encode()) + _bytes(typed) for name, typed in item.items())


def read_units(size_bytes: int, *, consistent: bool = True) -> float:
    """Units of one read of *size_bytes*; also of an item that is not there.

    >>> read_units(0), read_units(4_097), read_units(4_097, consistent=False)
    (1.0, 2.0, 1.0)
    """
    return max(ceil(size_bytes / READ_BYTES), 1) * (1.0 if consistent else 0.5)


def write_units(before: Item | None, after: Item | None) -> int:
    """Units of a write outside of a transaction: the larger of both items counts.

    >>> write_units(None, {"PK": {"S": "a" * 1_023}})
    2
    """
    return max(ceil(max(size_of(before or {}), size_of(after or {})) / WRITE_BYTES), 1)


def index_units(before: Item | None, after: Item | None) -> int:
    """Units that a write costs the index `listing`: two where the item moves within it, none where nothing changed.

    >>> listed = {"PK": {"S": "a"}, "GPK": {"S": "indexed"}, "GSK": {"S": "a"}}
    >>> index_units(None, listed), index_units(listed, {**listed, "GPK": {"S": "failed"}}), index_units(listed, listed)
    (1, 2, 0)
    """
    old, new = _indexed(before), _indexed(after)
    if old == new:
        return 0
    if old is not None and new is not None and all(old[name] == new[name] for name in INDEX_KEYS):
        return write_units(old, new)
    return sum(write_units(each, None) for each in (old, new) if each is not None)


def _indexed(item: Item | None) -> Item | None:
    return item if item is not None and all(name in item for name in INDEX_KEYS) else None


def _bytes(typed: Mapping[str, Any]) -> int:
    [(kind, value)] = typed.items()
    if kind == "S":
        return len(value.encode())
    if kind == "N":
        return _number_bytes(value)
    if kind == "B":
        return len(value) if isinstance(value, bytes) else len(base64.b64decode(value))
    if kind in {"BOOL", "NULL"}:
        return 1
    if kind in {"SS", "NS", "BS"}:
        return sum(_bytes({kind[0]: each}) for each in value)
    inside: Iterable[int] = map(_bytes, value) if kind == "L" else (size_of({name: value[name]}) for name in value)
    return 3 + len(value) + sum(inside)


def _number_bytes(text: str) -> int:
    """A byte for two significant digits, one for the exponent, one for a sign."""
    digits = text.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")
    return ceil(len(digits) / 2) + 1 + text.startswith("-")


@dataclass(frozen=True)
class TableRequest:
    """One request of DynamoDB: the operation, the table with the kinds of its items, and what it consumed."""

    call: str
    items: str
    read_units: float
    write_units: int


@dataclass
class Usage:
    """What was asked while something was counted.

    Args:
        calls: Requests by service and operation, such as `dynamodb GetItem`.
        steps: Those of DynamoDB, in order.
        sent, received: Bytes of bodies, by service.
    """

    calls: Counter[str] = field(default_factory=Counter)
    steps: list[TableRequest] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    received: Counter[str] = field(default_factory=Counter)

    def of(self, service: str) -> int:
        """Requests of a service."""
        return sum(count for call, count in self.calls.items() if call.startswith(f"{service} "))

    @property
    def read_units(self) -> float:
        """Of DynamoDB."""
        return sum(step.read_units for step in self.steps)

    @property
    def write_units(self) -> int:
        """Of DynamoDB, with those of the index `listing`, and twice in transactions."""
        return sum(step.write_units for step in self.steps)

    @property
    def puts(self) -> int:
        """Requests of S3 at the price of a PUT, lists too."""
        return sum(self.calls[f"s3 {name}"] for name in S3_PUTS)

    @property
    def gets(self) -> int:
        """Requests of S3 at the price of a GET; deletions cost nothing."""
        return self.of("s3") - self.puts - sum(self.calls[f"s3 {name}"] for name in S3_FREE)


class RequestCounter(logging.Handler):
    """Counts into the usage at hand; outside of `counting` nothing is counted.

    Args:
        read: How to look at an item before and after a write.
    """

    def __init__(self, read: ReadItem) -> None:
        super().__init__(logging.DEBUG)
        self._read = read
        self._usage: Usage | None = None
        self._lock_of_usage = Lock()  # a search asks from several threads

    @contextmanager
    def counting(self) -> Iterator[Usage]:
        """Count what is asked within the block."""
        usage = self._usage = Usage()
        level = OPENSEARCH.level
        OPENSEARCH.addHandler(self)
        OPENSEARCH.setLevel(logging.DEBUG)
        COUNTERS.append(self)
        try:
            yield usage
        finally:
            COUNTERS.remove(self)
            OPENSEARCH.removeHandler(self)
            OPENSEARCH.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        """Count a request of OpenSearch, by the line that its client writes."""
        if self._usage is not None and isinstance(record.args, tuple) and len(record.args) > 1:
            with self._lock_of_usage:
                self._usage.calls[f"opensearch {record.args[0]} {str(record.args[1]).rpartition('/')[2]}"] += 1

    def begin(self, service: str, params: Mapping[str, Any], context: dict[str, Any]) -> None:
        """Look at the items that a call is about to write."""
        places = _written(params) if service == "dynamodb" else []
        context[COUNTED] = params, _sent(params), {place: self._read(*_unfrozen(place)) for place in places}

    def end(self, service: str, operation: str, parsed: Mapping[str, Any], response: Any, context: Any) -> None:
        """Count a call that was answered."""
        usage = self._usage
        if usage is None or COUNTED not in context:
            return
        params, sent, before = context[COUNTED]
        items = _items(params) if service == "dynamodb" else ""
        again = (operation, items) == MANIFEST and any((step.call, step.items) == MANIFEST for step in usage.steps)
        if again or items.rpartition(" ")[2] in BY_TIME:
            return
        after = {place: self._read(*_unfrozen(place)) for place in before}
        with self._lock_of_usage:
            usage.calls[f"{service} {operation}"] += 1
            usage.sent[service] += sent
            usage.received[service] += _received(parsed, response)
            if service == "dynamodb":
                factor = IN_TRANSACTION if "TransactItems" in params else 1
                written = sum(
                    factor * (write_units(before[place], after[place]) + index_units(before[place], after[place]))
                    for place in before
                )
                read = _read_units(operation, params, parsed)
                usage.steps.append(TableRequest(operation, items, read, written))


def _written(params: Mapping[str, Any]) -> list[Place]:
    """The items that a call of DynamoDB writes, or checks within a transaction."""
    if "TransactItems" in params:
        steps = [step for item in params["TransactItems"] for step in item.values()]
        return [_place(step["TableName"], step.get("Key") or step["Item"]) for step in steps]
    if "RequestItems" in params:
        return [
            _place(table, next(iter(one.values())).get("Item") or one["DeleteRequest"]["Key"])
            for table, requests in params["RequestItems"].items()
            if isinstance(requests, list)
            for one in requests
        ]
    is_write = "Item" in params or "UpdateExpression" in params or "_deletes" in params
    return [_place(params["TableName"], params.get("Key") or params["Item"])] if is_write else []


def _place(table: str, item: Mapping[str, Any]) -> Place:
    return table, tuple((name, item[name]["S"]) for name in ("PK", "SK"))


def _unfrozen(place: Place) -> tuple[str, dict[str, Any]]:
    return place[0], {name: {"S": value} for name, value in place[1]}


def _read_units(operation: str, params: Mapping[str, Any], parsed: Mapping[str, Any]) -> float:
    if operation == "GetItem":
        return read_units(size_of(parsed.get("Item", {})), consistent=bool(params.get("ConsistentRead")))
    if operation == "Query":
        size = sum(map(size_of, parsed.get("Items", ())))
        return read_units(size, consistent=bool(params.get("ConsistentRead")))
    if operation == "BatchGetItem":
        units = 0.0
        for table, asked in params["RequestItems"].items():
            found = parsed.get("Responses", {}).get(table, [])
            missing = len(asked["Keys"]) - len(found)
            consistent = bool(asked.get("ConsistentRead"))
            units += sum(read_units(size_of(each), consistent=consistent) for each in found)
            units += missing * read_units(0, consistent=consistent)
        return units
    return 0.0


def _items(params: Mapping[str, Any]) -> str:
    """The table and the kinds of items that a call is about: the letters that their keys begin with."""
    if "KeyConditionExpression" in params:
        values = params["ExpressionAttributeValues"]
        return f"{params['TableName']}: {_kind(values[':pk']['S'])}"
    places = _written(params) or _read(params)
    kinds = Counter(_kind(key[0][1], key[1][1]) for _, key in places)
    reported = (f"{kind} x {count}" if count > 1 else kind for kind, count in kinds.items())
    return f"{places[0][0]}: {', '.join(reported)}" if places else ""


def _kind(partition: str, sort: str = "") -> str:
    kind = partition.partition("#")[0]
    return f"{kind}/{sort.partition('#')[0]}" if sort and kind in WITH_SORT_KEY else kind


def _read(params: Mapping[str, Any]) -> list[Place]:
    if "RequestItems" in params:
        return [_place(table, key) for table, asked in params["RequestItems"].items() for key in asked["Keys"]]
    return [_place(params["TableName"], params["Key"])] if "Key" in params else []


def _sent(params: Mapping[str, Any]) -> int:
    """Bytes of a body: of an object, or of the JSON of a call."""
    body = params.get("Body")
    return len(body) if isinstance(body, bytes | bytearray) else len(json.dumps(params, default=str))


def _received(parsed: Mapping[str, Any], response: Any) -> int:
    if "Body" in parsed:  # it is streamed, and read later
        return int(parsed.get("ContentLength", 0))
    return len(response.content) if response is not None else 0


def _begin(params: Mapping[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
    noted = {**params, "_deletes": True} if model.name == "DeleteItem" else params
    for counter in COUNTERS:
        counter.begin(model.service_model.service_name, noted, context)


def _end(http_response: Any, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
    for counter in COUNTERS:
        counter.end(model.service_model.service_name, model.name, parsed, http_response, context)


# As moto does it, and when this module is read: a client is cached, with the handlers that its session had.
BUILTIN_HANDLERS.extend([("provide-client-params", _begin), ("after-call", _end)])
