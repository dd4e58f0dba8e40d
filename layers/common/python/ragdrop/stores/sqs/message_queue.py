"""The SQS queue that feeds ingest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from ragdrop.errors import ConfigurationError, QueueError
from ragdrop.ports.message_queue import Continuation, MergeRequest, QueueDepth, go_on, look_at, merge_segments
from ragdrop.stores.aws.clients import AwsClient, translated
from ragdrop.stores.aws.clients import client as aws_client

MAX_VISIBILITY_S = 43_200  # SQS: 12 hours
BATCH = 10  # messages that SQS takes or gives at once
EMPTY_RECEIVES = 3  # a receive asks some of SQS's servers only: one that gives nothing proves nothing

REDRIVE_POLICY = "RedrivePolicy"
DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class SqsMessageQueue:
    """A MessageQueue.

    Args:
        url: The queue's URL.
        client: A low-level SQS client; by default the environment's own, made at the first call.
    """

    def __init__(self, url: str, client: AwsClient = None) -> None:
        self.url = url
        self._given = client

    def send(self, key: str) -> None:
        """Ask ingest to look at *key*."""
        with self._translated():
            self._client.send_message(QueueUrl=self.url, MessageBody=look_at(key))

    def send_all(self, keys: Sequence[str]) -> None:
        """Ask ingest to look at *keys*, ten a request."""
        for first in range(0, len(keys), BATCH):
            bodies = [look_at(key) for key in keys[first : first + BATCH]]
            self._send_batch(bodies)

    def go_on(self, continuation: Continuation) -> None:
        """Ask ingest to go on with a large document."""
        with self._translated():
            self._client.send_message(QueueUrl=self.url, MessageBody=go_on(continuation))

    def merge(self, wanted: MergeRequest) -> None:
        """Ask ingest to merge segments of an index."""
        with self._translated():
            self._client.send_message(QueueUrl=self.url, MessageBody=merge_segments(wanted))

    def redrive(self) -> int:
        """Move up to ten messages of the dead-letter queue back, as they are.

        Raises:
            ConfigurationError: The queue has no dead-letter queue.
        """
        dead_url = self._dead_letter_url()
        with self._translated():
            for _ in range(EMPTY_RECEIVES):
                answer = self._client.receive_message(QueueUrl=dead_url, MaxNumberOfMessages=BATCH, WaitTimeSeconds=0)
                if messages := answer.get("Messages", []):
                    break
            else:
                return 0
        self._send_batch([message["Body"] for message in messages])
        with self._translated():
            for message in messages:
                self._client.delete_message(QueueUrl=dead_url, ReceiptHandle=message["ReceiptHandle"])
        return len(messages)

    def depth(self) -> QueueDepth:
        """Ask for the attributes of the queue, and of its dead-letter queue if it has one."""
        with self._translated():
            found = self._attributes(self.url, *DEPTHS, REDRIVE_POLICY)
            dead_url = self._dead_letter_url_of(found.get(REDRIVE_POLICY))
            dead = None if dead_url is None else int(self._attributes(dead_url, DEPTHS[0])[DEPTHS[0]])
            waiting, in_flight, delayed = (int(found[name]) for name in DEPTHS)
        return QueueDepth(waiting, in_flight, delayed, dead)

    def retry_after(self, receipt_handle: str, delay_s: int) -> None:
        """Show a message again only after *delay_s* seconds, at most 12 hours."""
        delay_s = min(max(delay_s, 0), MAX_VISIBILITY_S)
        with self._translated():
            self._client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=delay_s
            )

    def _send_batch(self, bodies: Sequence[str]) -> None:
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        with self._translated():
            answer = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)
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
        return translated(QueueError, service="queue", resource=f"queue {self.url.rsplit('/', 1)[-1]}")
