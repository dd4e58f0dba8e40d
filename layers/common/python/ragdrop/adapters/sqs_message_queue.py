"""The SQS queue that feeds ingest."""

from __future__ import annotations

from contextlib import AbstractContextManager

from ragdrop.adapters.aws import AwsClient, translated
from ragdrop.adapters.aws import client as aws_client
from ragdrop.domain.deliveries import look_at
from ragdrop.errors import QueueError

MAX_VISIBILITY_S = 43_200  # SQS: 12 hours


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

    def retry_after(self, receipt_handle: str, delay_s: int) -> None:
        """Show a message again only after *delay_s* seconds, at most 12 hours."""
        delay_s = min(max(delay_s, 0), MAX_VISIBILITY_S)
        with self._translated():
            self._client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=delay_s
            )

    @property
    def _client(self) -> AwsClient:
        return self._given or aws_client("sqs")

    def _translated(self) -> AbstractContextManager[None]:
        return translated(QueueError, service="queue", resource=f"queue {self.url.rsplit('/', 1)[-1]}")
