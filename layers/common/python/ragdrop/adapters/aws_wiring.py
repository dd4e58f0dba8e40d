"""How a real bucket and real queues are wired, by what S3 and SQS say of themselves."""

from __future__ import annotations

import json

from ragdrop.adapters.aws import AwsClient, client, translated
from ragdrop.domain.verdicts import Wiring
from ragdrop.errors import ObjectStoreError, QueueError

DEPTH = "ApproximateNumberOfMessages"


class AwsWiring:
    """A WiringProbe.

    Args:
        bucket: The document bucket.
        queue_url: The queue that feeds ingest.
        s3, sqs: Low-level clients; by default the environment's own.
    """

    def __init__(self, bucket: str, queue_url: str, *, s3: AwsClient = None, sqs: AwsClient = None) -> None:
        self._bucket = bucket
        self._queue_url = queue_url
        self._given = s3, sqs

    def look(self) -> Wiring:
        """Bucket first, then queue, then dead-letter queue: five requests at most."""
        s3, sqs = self._given[0] or client("s3"), self._given[1] or client("sqs")
        with translated(QueueError, service="queue", resource=f"queue {self._queue_url.rsplit('/', 1)[-1]}"):
            names = ["QueueArn", "RedrivePolicy", DEPTH]
            told = sqs.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=names)["Attributes"]
            dead = self._dead_letters(
                sqs, str(json.loads(told.get("RedrivePolicy", "{}")).get("deadLetterTargetArn", ""))
            )
        with translated(ObjectStoreError, service="object_store", resource=f"bucket {self._bucket}"):
            versioned = s3.get_bucket_versioning(Bucket=self._bucket).get("Status") == "Enabled"
            sent = s3.get_bucket_notification_configuration(Bucket=self._bucket).get("QueueConfigurations", [])
        events = {event for each in sent if each["QueueArn"] == told["QueueArn"] for event in each["Events"]}
        return Wiring(versioned, frozenset(events), int(told[DEPTH]), dead)

    @staticmethod
    def _dead_letters(sqs: AwsClient, arn: str) -> int | None:
        if not arn:
            return None
        url = sqs.get_queue_url(QueueName=arn.rsplit(":", 1)[-1])["QueueUrl"]
        return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[DEPTH])["Attributes"][DEPTH])
