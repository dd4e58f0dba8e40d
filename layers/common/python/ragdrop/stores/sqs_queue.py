"""The SQS queues that feed ingest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from ragdrop.errors import ConfigurationError, QueueError
from ragdrop.ports.message_queue import (
    Continuation,
    Delivery,
    MergeRequest,
    QueueDepth,
    WorkRequest,
    go_on,
    group_of,
    look_at,
    merge_segments,
    work_on,
)
from ragdrop.stores.aws.clients import AwsClient, aws_errors
from ragdrop.stores.aws.clients import client as aws_client

MAX_VISIBILITY_S = 43_200  # SQS: 12 hours
BATCH = 10  # messages that SQS takes or gives at once
EMPTY_RECEIVES = 3  # a receive asks some of SQS's servers only: one that gives nothing proves nothing

REDRIVE_POLICY = "RedrivePolicy"
DEPTHS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class SqsMessageQueue:
    """A MessageQueue: *url* is that of the queue that S3 writes to, *bulk_url* that of bulk work, if it is separate."""

    def __init__(self, url: str, client: AwsClient = None, *, bulk_url: str = "") -> None:
        self.url = url
        self.has_bulk = bool(bulk_url)
        self.bulk_url = bulk_url or url
        self._given = client

    def is_bulk(self, delivery: Delivery) -> bool:
        return self.has_bulk and delivery.queue == _name_of(self.bulk_url)

    def move(self, deliveries: Sequence[Delivery]) -> None:
        self._send_bulk([(each.group, each.body) for each in deliveries])

    def send(self, key: str) -> None:
        with self._translated():
            self._client.send_message(QueueUrl=self.url, MessageBody=look_at(key))

    def send_all(self, keys: Sequence[str]) -> None:
        """Ask ingest to look at *keys*, ten a request; as many as fit into one are no bulk work."""
        messages = [(group_of(key), look_at(key)) for key in keys]
        if len(messages) <= BATCH:
            self._send_batch(self.url, [{"MessageBody": body} for _, body in messages])
        else:
            self._send_bulk(messages)

    def go_on(self, continuation: Continuation) -> None:
        self._send_bulk([(group_of(continuation.key), go_on(continuation))])

    def merge(self, request: MergeRequest) -> None:
        self._send_bulk([(request.tenant, merge_segments(request))])

    def work(self, requests: Sequence[WorkRequest]) -> None:
        self._send_bulk([(each.tenant, work_on(each)) for each in requests])

    def redrive(self) -> int:
        """Move up to ten messages of the dead-letter queue back, as they are.

        Raises ConfigurationError: the queue has no dead-letter queue.
        """
        dead_url = self._dead_letter_url()
        with self._translated():
            for _ in range(EMPTY_RECEIVES):
                answer = self._client.receive_message(QueueUrl=dead_url, MaxNumberOfMessages=BATCH, WaitTimeSeconds=0)
                if messages := answer.get("Messages", []):
                    break
            else:
                return 0
        self._send_batch(self.url, [{"MessageBody": message["Body"]} for message in messages])
        with self._translated():
            for message in messages:
                self._client.delete_message(QueueUrl=dead_url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)

    def depth(self) -> QueueDepth:
        with self._translated():
            found = self._attributes(self.url, *DEPTHS, REDRIVE_POLICY)
            bulk = self._attributes(self.bulk_url, *DEPTHS) if self.has_bulk else {}
            dead_url = self._dead_letter_url_of(found.get(REDRIVE_POLICY))
            dead = None if dead_url is None else int(self._attributes(dead_url, DEPTHS[0])[DEPTHS[0]])
            waiting, in_flight, delayed = (int(found[name]) + int(bulk.get(name, 0)) for name in DEPTHS)
        return QueueDepth(waiting, in_flight, delayed, dead)

    def retry_after(self, delivery: Delivery, delay_s: int) -> None:
        url = self.bulk_url if self.is_bulk(delivery) else self.url
        delay_s = min(max(delay_s, 0), MAX_VISIBILITY_S)
        with self._translated():
            self._client.change_message_visibility(
                QueueUrl=url, ReceiptHandle=delivery.receipt_handle, VisibilityTimeout=delay_s
            )

    def _send_bulk(self, messages: Sequence[tuple[str, str]]) -> None:
        """Send bodies with their groups, which a standard queue of SQS is fair between (a "fair queue")."""
        entries = [
            {"MessageBody": body} | ({"MessageGroupId": _group_id(group)} if self.has_bulk else {})
            for group, body in messages
        ]
        for first in range(0, len(entries), BATCH):
            self._send_batch(self.bulk_url, entries[first : first + BATCH])

    def _send_batch(self, url: str, messages: Sequence[Mapping[str, str]]) -> None:
        if not messages:
            return
        entries = [{"Id": str(number), **message} for number, message in enumerate(messages)]
        with self._translated():
            answer = self._client.send_message_batch(QueueUrl=url, Entries=entries)
        if failed := answer.get("Failed", []):
            message = f"{len(failed)} of {len(entries)} messages were not taken ({failed[0].get('Code', 'unknown')})"
            raise QueueError(message, service="queue", retryable=not failed[0].get("SenderFault", False))

    def _dead_letter_url(self) -> str:
        with self._translated():
            found = self._dead_letter_url_of(self._attributes(self.url, REDRIVE_POLICY).get(REDRIVE_POLICY))
        if found is None:
            raise ConfigurationError(f"queue {self.url.rsplit('/', 1)[-1]} has no dead-letter queue")
        return found

    def _dead_letter_url_of(self, policy: str | None) -> str | None:
        target = str(json.loads(policy or "{}").get("deadLetterTargetArn", ""))
        return str(self._client.get_queue_url(QueueName=target.rsplit(":", 1)[-1])["QueueUrl"]) if target else None

    def _attributes(self, url: str, *names: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=list(names)).get(
            "Attributes", {}
        )
        return found

    @property
    def _client(self) -> AwsClient:
        return self._given or aws_client("sqs")

    def _translated(self) -> AbstractContextManager[None]:
        return aws_errors(QueueError, service="queue", resource=f"queue {self.url.rsplit('/', 1)[-1]}")


def _name_of(url: str) -> str:
    return url.rpartition("/")[2]


def _group_id(group: str) -> str:
    """A group's id: SQS takes no letters beyond ASCII, and at most 128."""
    return hashlib.sha256(group.encode(errors="surrogatepass")).hexdigest()[:32]
