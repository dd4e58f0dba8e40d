"""A MessageQueue in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from ragdrop.errors import RagdropError
from ragdrop.ports.message_queue import (
    Continuation,
    Delivery,
    MergeRequest,
    QueueDepth,
    WorkRequest,
    go_on,
    look_at,
    merge_segments,
    work_on,
)

BULK = "bulk"


class MemoryMessageQueue:
    """MessageQueue for tests; time stands still, so a message that was delayed stays away.

    `sent` holds the keys that were sent, in order; `continued` the large documents to go on with; `merges` the
    merges that were asked for, `works` items of plans; `dead` the keys of the dead-letter queue; `delays` the
    receipt handles with their seconds, in order; `moved` the messages that went to the queue for bulk work, which
    exists where `has_bulk` is set; `fail_with` is raised by every call while it is set; `calls` names the calls
    made.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.continued: list[Continuation] = []
        self.merges: list[MergeRequest] = []
        self.works: list[WorkRequest] = []
        self.dead: list[str] = []
        self.delays: list[tuple[str, int]] = []
        self.has_bulk = False
        self.moved: list[Delivery] = []
        self.fail_with: RagdropError | None = None
        self.calls: list[str] = []
        self._lock = RLock()

    def is_bulk(self, delivery: Delivery) -> bool:
        return delivery.queue == BULK

    def move(self, deliveries: Sequence[Delivery]) -> None:
        with self._call("move"):
            self.moved += deliveries

    def send(self, key: str) -> None:
        with self._call("send"):
            self.sent.append(key)

    def send_all(self, keys: Sequence[str]) -> None:
        with self._call("send_all"):
            self.sent += keys

    def go_on(self, continuation: Continuation) -> None:
        with self._call("go_on"):
            self.continued.append(continuation)

    def merge(self, request: MergeRequest) -> None:
        with self._call("merge"):
            self.merges.append(request)

    def work(self, requests: Sequence[WorkRequest]) -> None:
        with self._call("work"):
            self.works += requests

    def depth(self) -> QueueDepth:
        with self._call("depth"):
            delayed = sum(delay_s > 0 for _, delay_s in self.delays)
            waiting = len(self.sent) + len(self.continued) + len(self.merges) + len(self.works) - delayed
            return QueueDepth(waiting, 0, delayed, len(self.dead))

    def redrive(self) -> int:
        with self._call("redrive"):
            moved = self.dead[:10]  # as many as SQS gives at once
            del self.dead[:10]
            self.sent += moved
            return len(moved)

    def retry_after(self, delivery: Delivery, delay_s: int) -> None:
        with self._call("retry_after"):
            self.delays.append((delivery.receipt_handle, delay_s))

    def receive(self) -> list[tuple[str, str]]:
        """Receipt handle and key of the messages that were sent and are not delayed, as a consumer sees them."""
        with self._lock:
            away = {handle for handle, delay_s in self.delays if delay_s > 0}
            keys = [*self.sent, *(each.key for each in self.continued)]
            numbered = [(f"receipt-{number}", key) for number, key in enumerate(keys)]
            return [(handle, key) for handle, key in numbered if handle not in away]

    def event(self) -> dict[str, list[dict[str, str]]]:
        """What was sent as ingest is given it."""
        with self._lock:
            bodies = [*map(look_at, self.sent), *map(go_on, self.continued), *map(merge_segments, self.merges)]
            bodies += map(work_on, self.works)
            names = [(f"message-{number}", f"receipt-{number}") for number in range(len(bodies))]
            return {
                "Records": [
                    {"messageId": name, "receiptHandle": handle, "body": body}
                    for (name, handle), body in zip(names, bodies, strict=True)
                ]
            }

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        with self._lock:
            self.calls.append(name)
            if self.fail_with:
                raise self.fail_with
            yield
