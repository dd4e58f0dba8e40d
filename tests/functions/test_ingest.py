"""The ingest handler on golden events."""

from __future__ import annotations

import pytest

from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DeadlineError, EmbeddingServiceError
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext

PATH = "demo/handbook/runbooks/database-failover.md"


@pytest.mark.parametrize("name", ["ingest-put", "ingest-delete", "ingest-test-event", "ingest-mixture"])
def test_a_golden_batch_about_keys_that_are_gone_is_acknowledged_whole(deployment: Deployment, name: str) -> None:
    response = deployment.handlers["ingest"].handler(deployment.event(name), LocalContext())

    assert response == {"batchItemFailures": []}


def test_a_put_event_indexes_the_object(deployment: Deployment) -> None:
    deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=PATH, Body=b"# Failover\n\nWait 90 seconds.")

    deployment.handlers["ingest"].handler(deployment.event("ingest-put"), LocalContext())

    status, body = deployment.post("query", {"query": "How many seconds to wait?"})
    assert status == 200
    assert body["results"][0]["key"] == PATH


def test_a_dependency_failure_names_its_message_and_no_other(deployment: Deployment) -> None:
    deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=PATH, Body=b"Wait 90 seconds.")
    deployment.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    response = deployment.handlers["ingest"].handler(deployment.event("ingest-mixture"), LocalContext())

    names = [failure["itemIdentifier"][-2:] for failure in response["batchItemFailures"]]
    assert names == ["04"]  # the put; its duplicate found it at work


def test_a_tail_fact_of_a_document_of_many_chunks_is_found(deployment: Deployment) -> None:
    filler = "\n\n".join(f"Section {n} is about ordinary things of no interest." for n in range(300))
    deployment.put_object(PATH, f"{filler}\n\nThe zebra sleeps at noon.")

    _, body = deployment.post("query", {"query": "zebra sleeps"})

    assert "zebra" in body["results"][0]["text"]


def test_a_document_that_needs_more_time_than_there_is_says_so_at_its_last_receive(deployment: Deployment) -> None:
    deployment.s3.put_object(Bucket=EXAMPLE_BUCKET, Key=PATH, Body=b"Wait 90 seconds.")
    deployment.embedder.fail_with = DeadlineError("no time was left for embed", service="embed", stage="embed")
    event = deployment.event("ingest-put")
    event["Records"][0]["attributes"]["ApproximateReceiveCount"] = "5"

    deployment.handlers["ingest"].handler(event, LocalContext())

    record = deployment.handlers["query"].app.ports.registry.head(DocumentKey.parse(PATH))
    assert record is not None
    assert record.error is not None
    assert (record.status, record.error.code) == ("failed", "TIMEOUT")
