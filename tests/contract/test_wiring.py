"""What every WiringProbe does, in memory and over the AWS APIs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from ragdrop.errors import ConfigurationError
from ragdrop.ports.message_queue import SUBSCRIBED, Wiring, WiringProbe
from ragdrop.stores.aws.deployment import AwsWiring
from testing.memory_services import MemoryWiring
from tests.contract.aws_fixtures import STORE_ENGINES, clients


class Account:
    """A client of Lambda that tells, or refuses to tell, how many functions run at once."""

    def __init__(self, at_once: int | None) -> None:
        self._at_once = at_once

    def get_account_settings(self) -> dict[str, Any]:
        if self._at_once is None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetAccountSettings")
        return {"AccountLimit": {"ConcurrentExecutions": self._at_once}}


@contextmanager
def probe(engine: str, *, versioned: bool, dead: bool, events: tuple[str, ...], messages: int) -> Iterator[WiringProbe]:
    if engine == "memory":
        yield MemoryWiring(Wiring(versioned, frozenset(events), messages, messages if dead else None, 10))
        return
    with clients(engine) as make:
        s3, sqs = make("s3"), make("sqs")
        urls, arn = wired_queues(sqs, dead=dead)
        bucket = f"documents-{uuid4().hex[:12]}"
        elsewhere = s3.meta.region_name != "us-east-1"  # which S3 takes no constraint for
        place = {"CreateBucketConfiguration": {"LocationConstraint": s3.meta.region_name}} if elsewhere else {}
        s3.create_bucket(Bucket=bucket, **place)
        if versioned:
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        sent = [{"QueueArn": arn, "Events": [event]} for event in events]
        s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={"QueueConfigurations": sent})
        for each in urls:
            sqs.purge_queue(QueueUrl=each)  # S3 sends a test message when a notification is set
            for number in range(messages):
                sqs.send_message(QueueUrl=each, MessageBody=str(number))
        yield AwsWiring(bucket, urls[-1], s3=s3, sqs=sqs, functions=Account(10))
        s3.delete_bucket(Bucket=bucket)
        for each in urls:
            sqs.delete_queue(QueueUrl=each)


def wired_queues(sqs: Any, *, dead: bool) -> tuple[list[str], str]:
    """The addresses, with ingest's last, and ingest's ARN."""
    attributes = {}
    urls = []
    name = f"wiring-{uuid4().hex[:12]}"
    if dead:
        urls.append(sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"])
        arn = sqs.get_queue_attributes(QueueUrl=urls[0], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 5})
    urls.append(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
    arn = sqs.get_queue_attributes(QueueUrl=urls[-1], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return urls, arn


@pytest.mark.parametrize("engine", STORE_ENGINES)
def test_a_whole_wiring_is_reported_with_what_waits(engine: str) -> None:
    with probe(engine, versioned=True, dead=True, events=SUBSCRIBED, messages=2) as made:
        assert made.look() == Wiring(True, frozenset(SUBSCRIBED), 2, 2, 10)


@pytest.mark.parametrize("engine", STORE_ENGINES)
def test_what_is_missing_is_reported_as_missing(engine: str) -> None:
    with probe(engine, versioned=False, dead=False, events=("s3:ObjectCreated:*",), messages=0) as made:
        assert made.look() == Wiring(False, frozenset({"s3:ObjectCreated:*"}), 0, None, 10)


def test_events_for_another_queue_do_not_count() -> None:
    with probe("aws", versioned=True, dead=True, events=SUBSCRIBED, messages=0), clients("aws") as make:
        bucket = make("s3").list_buckets()["Buckets"][0]["Name"]
        other = make("sqs").create_queue(QueueName="other")["QueueUrl"]
        moved = AwsWiring(bucket, other, s3=make("s3"), sqs=make("sqs"), functions=Account(None))
        assert (moved.look().events, moved.look().concurrency) == (frozenset(), None)


def test_a_queue_that_does_not_exist_is_a_wrong_setting() -> None:
    with probe("aws", versioned=True, dead=True, events=SUBSCRIBED, messages=0), clients("aws") as make:
        bucket = make("s3").list_buckets()["Buckets"][0]["Name"]
        lost = AwsWiring(bucket, "https://sqs.eu-central-1.amazonaws.com/1/no", s3=make("s3"), sqs=make("sqs"))
        with pytest.raises(ConfigurationError):
            lost.look()
