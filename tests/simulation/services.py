"""S3 and SQS for the simulation: a bucket that reports its changes, a queue that gives them again and out of order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import quote_plus

from ragdrop.domain.deadlines import rfc3339
from ragdrop.ports.message_queue import Continuation, Delivery, MergeRequest, QueueDepth, go_on, look_at, merge_segments
from ragdrop.ports.object_store import ListedObject, StoredObject
from testing.memory_message_queue import BULK, MemoryMessageQueue
from testing.memory_object_store import MemoryObjectStore

VISIBILITY_S = 1_860.0
MAX_RECEIVES = 5
BATCH = 10  # more keys at once are bulk work


class SimulatedBucket(MemoryObjectStore):
    """A versioned bucket whose times are the clock's; *changed* hears of each key that changed, in order."""

    def __init__(self, bucket: str, clock: Callable[[], float], changed: Callable[[str], None] | None = None) -> None:
        super().__init__(bucket)
        self._clock = clock
        self._changed = changed

    def put(self, key: str, body: bytes | BinaryIO, **named: Any) -> StoredObject:
        self._now()
        stored = super().put(key, body, **named)
        return self._reported(key, stored)

    def delete(self, key: str) -> str | None:
        self._now()
        return self._reported(key, super().delete(key))

    def remove_version(self, key: str, version_id: str) -> None:
        self._reported(key, super().remove_version(key, version_id))

    def purge(self, key: str) -> int:
        return self._reported(key, super().purge(key))

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        """One listing as it was when it began: what changes between two pages is the scheduler's to choose."""
        return iter(list(super().entries(prefix, start_after=start_after)))

    def text(self, key: str) -> bytes | None:
        """What is there now."""
        version = self._current(key)
        return version.body if version is not None and version.stored is not None else None

    def _now(self) -> None:
        self.modified_at = rfc3339(self._clock(), precision="milliseconds")

    def _reported(self, key: str, result: Any) -> Any:
        if self._changed is not None:
            self._changed(key)
        return result


@dataclass(slots=True)
class Message:
    """A message of the queue; `handle` is that of its last receive."""

    id: str
    body: str
    visible_s: float
    bulk: bool
    receives: int = 0
    handle: str = ""


class SimulatedQueue(MemoryMessageQueue):
    """Both queues of ingest: at least once, in any order, a dead letter after the fifth receive."""

    def __init__(
        self, clock: Callable[[], float], *, visibility_s: float = VISIBILITY_S, max_receives: int = MAX_RECEIVES
    ) -> None:
        super().__init__()
        self._visibility_s, self._max_receives = visibility_s, max_receives
        self.has_bulk = True
        self.messages: list[Message] = []
        self.dead_letters: list[Message] = []
        self._clock = clock
        self._number = 0

    def report(self, key: str, sequencer: str, delay_s: float) -> None:
        """S3 reports a change of *key*."""
        found = {"key": quote_plus(key, safe="/"), "sequencer": sequencer}
        self._add(json.dumps({"Records": [{"s3": {"object": found}}]}), delay_s=delay_s)

    def batch(self, chosen: list[Message]) -> Mapping[str, Any]:
        """The event of a batch of *chosen* messages, which nobody else sees until their time is over."""
        records = []
        for message in chosen:
            message.receives += 1
            message.handle = f"{message.id}/{message.receives}"
            message.visible_s = self._clock() + self._visibility_s
            records.append(
                {
                    "messageId": message.id,
                    "receiptHandle": message.handle,
                    "body": message.body,
                    "attributes": {"ApproximateReceiveCount": str(message.receives)},
                    "eventSourceARN": f"arn:aws:sqs:eu:1:{BULK if message.bulk else 'ingest'}",
                }
            )
        return {"Records": records}

    def visible(self, *, bulk: bool) -> list[Message]:
        """What a poller could be given now; what was received too often is moved to the dead letters."""
        now_s = self._clock()
        for message in [
            each for each in self.messages if each.visible_s <= now_s and each.receives >= self._max_receives
        ]:
            self.messages.remove(message)
            self.dead_letters.append(message)
        return [each for each in self.messages if each.visible_s <= now_s and each.bulk is bulk]

    def acknowledge(self, handle: str) -> None:
        """Lambda deletes a message that was handled; one that was received again meanwhile goes too, as in SQS."""
        self.messages = [each for each in self.messages if each.id != handle.partition("/")[0]]

    def give_up(self, key: str) -> None:
        """Put a message about *key* among the dead letters."""
        self._add(look_at(key))
        self.dead_letters.append(self.messages.pop())

    def repeat(self, message: Message) -> None:
        """The same message once more, as a standard queue may give it."""
        self._add(message.body, bulk=message.bulk)

    def retry_after(self, delivery: Delivery, delay_s: int) -> None:
        super().retry_after(delivery, delay_s)
        for message in self.messages:
            if message.handle == delivery.receipt_handle:
                message.visible_s = self._clock() + delay_s

    def redrive(self) -> int:
        with self._call("redrive"):
            moved, self.dead_letters = self.dead_letters[:10], self.dead_letters[10:]
            for message in moved:
                self._add(message.body)
            return len(moved)

    def move(self, deliveries: Sequence[Delivery]) -> None:
        super().move(deliveries)
        for each in deliveries:
            self._add(each.body, bulk=True)

    def send(self, key: str) -> None:
        super().send(key)
        self._add(look_at(key))

    def send_all(self, keys: Sequence[str]) -> None:
        super().send_all(keys)
        for key in keys:
            self._add(look_at(key), bulk=len(keys) > BATCH)

    def go_on(self, continuation: Continuation) -> None:
        super().go_on(continuation)
        self._add(go_on(continuation), bulk=True)

    def merge(self, request: MergeRequest) -> None:
        super().merge(request)
        self._add(merge_segments(request), bulk=True)

    def depth(self) -> QueueDepth:
        with self._call("depth"):
            now_s = self._clock()
            waiting = sum(each.visible_s <= now_s for each in self.messages)
            return QueueDepth(waiting, len(self.messages) - waiting, 0, len(self.dead_letters))

    def _add(self, body: str, *, bulk: bool = False, delay_s: float = 0.0) -> None:
        self._number += 1
        self.messages.append(Message(f"message-{self._number}", body, self._clock() + delay_s, bulk))
