"""The ingest queue, the changes that its messages report, and how the bucket is wired to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol
from urllib.parse import unquote_plus

LOOK_AT = "ragdrop:look-at"
GO_ON = "ragdrop:go-on"
MERGE = "ragdrop:merge"
WORK = "ragdrop:work"
SUBSCRIBED = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*", "s3:ObjectTagging:*")


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where a large document was handed over: the revision, its next part, and how many invocations it took so far."""

    key: str
    revision: int
    part: int
    hop: int


@dataclass(frozen=True, slots=True)
class Change:
    """A key that changed.  The name of its event is dropped: only the bucket has the present state.

    `handed_over` is set if the message continues a revision; if that is over, the key is reconciled like any other.
    """

    key: str
    sequencer: str | None = None
    handed_over: Continuation | None = None


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """Segments of a tenant's index are to become fewer."""

    tenant: str
    index: str


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """An item of the plan of a tenant's new index is to be done; without a number the plan's listing continues."""

    tenant: str
    index: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as it was delivered.

    `receives` counts from 1; `merge` or `work` is set where the message asks for that alone; `understood` is False for
    a message that has no known form.  `body` is the message as it came, `queue` the name of the queue that it came
    from.
    """

    message_id: str
    receipt_handle: str
    receives: int
    changes: tuple[Change, ...]
    understood: bool = True
    merge: MergeRequest | None = None
    work: WorkRequest | None = None
    body: str = field(default="", repr=False)
    queue: str = ""

    @property
    def group(self) -> str:
        """What the order is fair between: tenant and vault of its first key, or the tenant of a merge."""
        alone = self.merge or self.work
        return group_of(self.changes[0].key) if self.changes else alone.tenant if alone else ""


def group_of(key: str) -> str:
    """Tenant and vault of an S3 key.

    >>> group_of("acme/team/notes/a.md"), group_of("acme/a.md")
    ('acme/team', 'acme/a.md')
    """
    return "/".join(key.split("/", 2)[:2])


def deliveries(event: Mapping[str, Any]) -> list[Delivery]:
    """Read the event of an SQS batch that carries S3 notifications, S3 test events or our own messages.

    >>> body = '{"Records": [{"s3": {"object": {"key": "acme/team/a+b%C3%BC.md", "sequencer": "0A"}}}]}'
    >>> record = {"messageId": "m", "receiptHandle": "r", "attributes": {"ApproximateReceiveCount": "2"}, "body": body}
    >>> [(change.key, change.sequencer) for change in deliveries({"Records": [record]})[0].changes]
    [('acme/team/a bü.md', '0A')]
    """
    return [_delivery(record) for record in event.get("Records", [])]


def look_at(key: str) -> str:
    """The body of a message that asks ingest to look at *key*."""
    return json.dumps({"type": LOOK_AT, "key": key}, ensure_ascii=False)


def go_on(continuation: Continuation) -> str:
    """The body of a message that asks ingest to go on with a large document.

    >>> record = {"messageId": "m", "receiptHandle": "r", "body": go_on(Continuation("acme/team/a.md", 7, 2, 1))}
    >>> deliveries({"Records": [record]})[0].changes[0].handed_over
    Continuation(key='acme/team/a.md', revision=7, part=2, hop=1)
    """
    return json.dumps({"type": GO_ON, **asdict(continuation)}, ensure_ascii=False)


def merge_segments(request: MergeRequest) -> str:
    """The body of a message that asks ingest to merge segments.

    >>> record = {"messageId": "m", "receiptHandle": "r", "body": merge_segments(MergeRequest("acme", "bucket-v1"))}
    >>> deliveries({"Records": [record]})[0].merge
    MergeRequest(tenant='acme', index='bucket-v1')
    """
    return json.dumps({"type": MERGE, **asdict(request)})


def work_on(request: WorkRequest) -> str:
    """The body of a message that asks ingest to do an item of a plan.

    >>> record = {"messageId": "m", "receiptHandle": "r", "body": work_on(WorkRequest("acme", "bucket-v1", 7))}
    >>> deliveries({"Records": [record]})[0].work
    WorkRequest(tenant='acme', index='bucket-v1', number=7)
    """
    return json.dumps({"type": WORK, **asdict(request)})


def _delivery(record: Mapping[str, Any]) -> Delivery:
    changes: tuple[Change, ...] | None = None
    merge: MergeRequest | None = None
    item: WorkRequest | None = None
    try:
        body = json.loads(record.get("body", ""))
        if body.get("type") == MERGE:
            changes, merge = (), MergeRequest(str(body["tenant"]), str(body["index"]))
        elif body.get("type") == WORK:
            number = None if body["number"] is None else int(body["number"])
            changes, item = (), WorkRequest(str(body["tenant"]), str(body["index"]), number)
        else:
            changes = _changes(body)
    except (ValueError, KeyError, TypeError, AttributeError):
        changes = None
    receives = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
    return Delivery(
        record["messageId"],
        record["receiptHandle"],
        receives,
        changes or (),
        understood=changes is not None,
        merge=merge,
        work=item,
        body=record.get("body", ""),
        queue=str(record.get("eventSourceARN", "")).rpartition(":")[2],
    )


def _changes(body: Mapping[str, Any]) -> tuple[Change, ...] | None:
    if body.get("type") == LOOK_AT:
        return (Change(str(body["key"])),)
    if body.get("type") == GO_ON:
        known = Continuation(str(body["key"]), int(body["revision"]), int(body["part"]), int(body["hop"]))
        return (Change(known.key, handed_over=known),)
    if body.get("Event") == "s3:TestEvent":
        return ()
    if "Records" not in body:
        return None
    objects = [record["s3"]["object"] for record in body["Records"]]
    return tuple(Change(unquote_plus(found["key"]), found.get("sequencer")) for found in objects)


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """About how many messages wait, are being worked on, wait for their time, and were given up on.

    `dead_letters` is None without a dead-letter queue.
    """

    waiting: int
    in_flight: int
    delayed: int
    dead_letters: int | None


class MessageQueue(Protocol):
    """The queues that feed ingest: one for changes, one for bulk work, where there is one.

    All methods raise QueueError.
    """

    has_bulk: bool

    def is_bulk(self, delivery: Delivery) -> bool:
        """Whether a message came from the queue for bulk work."""

    def move(self, deliveries: Sequence[Delivery]) -> None:
        """Send messages to the queue for bulk work, as they are; after an error some may have been sent."""

    def send(self, key: str) -> None:
        """Ask ingest to look at *key* (an S3 key)."""

    def send_all(self, keys: Sequence[str]) -> None:
        """The same for many keys, as bulk work, with few requests; after an error some may have been sent."""

    def go_on(self, continuation: Continuation) -> None:
        """Ask ingest to go on with a large document."""

    def merge(self, request: MergeRequest) -> None:
        """Ask ingest to merge segments of an index."""

    def work(self, requests: Sequence[WorkRequest]) -> None:
        """Ask ingest for items of a plan, as bulk work; after an error some may have been sent."""

    def retry_after(self, delivery: Delivery, delay_s: int) -> None:
        """Show a message again only after *delay_s* seconds."""

    def redrive(self) -> int:
        """Move some messages of the dead-letter queue back; how many, 0 where none is left.

        One that is cut off in between is in both queues: ingest does nothing twice.
        """

    def depth(self) -> QueueDepth:
        """How many messages there are."""


class WiringProbe(Protocol):
    """Looks at bucket and queues; changes nothing."""

    def look(self) -> Wiring:
        """How they are wired.

        Raises:
            DependencyError: S3 or SQS did not answer, or does not let one look.
            ConfigurationError: The bucket or the queue does not exist.
        """


@dataclass(frozen=True, slots=True)
class Wiring:
    """How changes come to ingest: the notifications of the bucket, and how many messages wait.

    `events` are those that the bucket sends to the queue; `dead_letters` is None without a dead-letter queue;
    `concurrency` is how many functions the account runs at once, None if nobody says.
    """

    versioned: bool
    events: frozenset[str]
    waiting: int
    dead_letters: int | None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """Where its API and its documents are, and the environment that its functions run with (references, no secrets)."""

    name: str
    api_url: str
    bucket: str
    environment: Mapping[str, str] = field(repr=False)
