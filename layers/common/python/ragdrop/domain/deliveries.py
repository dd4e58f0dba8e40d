"""What a batch of queue messages says: which keys changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

LOOK_AT = "ragdrop:look-at"


@dataclass(frozen=True, slots=True)
class Change:
    """A key that changed.  Its event's name is not kept: only the bucket knows what is true now."""

    key: str
    sequencer: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as it was delivered.  `receives` counts from 1; `understood` is False for one nobody of us sent."""

    message_id: str
    receipt_handle: str
    receives: int
    changes: tuple[Change, ...]
    understood: bool = True


def deliveries(event: Mapping[str, Any]) -> list[Delivery]:
    """Read the event of an SQS batch that carries S3 notifications, S3 test events or our own messages.

    >>> body = '{"Records": [{"s3": {"object": {"key": "acme/team/a+b%C3%BC.md", "sequencer": "0A"}}}]}'
    >>> record = {"messageId": "m", "receiptHandle": "r", "attributes": {"ApproximateReceiveCount": "2"}, "body": body}
    >>> deliveries({"Records": [record]})[0].changes
    (Change(key='acme/team/a bü.md', sequencer='0A'),)
    """
    return [_delivery(record) for record in event.get("Records", [])]


def look_at(key: str) -> str:
    """The body of a message that asks ingest to look at *key*."""
    return json.dumps({"type": LOOK_AT, "key": key}, ensure_ascii=False)


def _delivery(record: Mapping[str, Any]) -> Delivery:
    try:
        changes = _changes(json.loads(record.get("body", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        changes = None
    receives = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
    return Delivery(record["messageId"], record["receiptHandle"], receives, changes or (), changes is not None)


def _changes(body: Mapping[str, Any]) -> tuple[Change, ...] | None:
    if body.get("type") == LOOK_AT:
        return (Change(str(body["key"])),)
    if body.get("Event") == "s3:TestEvent":
        return ()
    if "Records" not in body:
        return None
    objects = [record["s3"]["object"] for record in body["Records"]]
    return tuple(Change(unquote_plus(found["key"]), found.get("sequencer")) for found in objects)
