"""The embedding service is away while 100 files are uploaded: they arrive by themselves, or are given up and listed.

The minute of an outage, and the five attempts with the queue's own pauses, are waited for in `make test-long`
(RAGDROP_WHOLE=1).  Else the service is away for seconds, and four attempts are spent by another consumer.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.commands import WHOLE, Tenant, operate, within
from tests.integration.stub_embeddings import StubEmbeddings
from tests.stacks import LocalStack

pytestmark = pytest.mark.long

FILES = 100
OUTAGE_S = 60.0 if WHOLE else 3.0
GIVEN_UP_S = 300.0  # 1 + 4 + 16 + 64 s between five attempts, up to 20 % of each, and a busy machine
ARRIVED_S = 300.0


@pytest.fixture(scope="module")
def tenant(counted_stack: LocalStack) -> Tenant:
    return Tenant.created(counted_stack, "outage")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Texts that no other test has: what was embedded before would come in without the service."""
    house = uuid.uuid4().hex[:8]
    for number in range(FILES):
        text = f"# Locker {number}\n\nLocker {number} of house {house} holds item {number * 37}.\n"
        (tmp_path / f"{number:03}.md").write_text(text)
    return tmp_path


class Queue:
    """The queue that feeds ingest, and what was given up on."""

    def __init__(self, stack: LocalStack) -> None:
        self._sqs, self._lambda = stack.client("sqs"), stack.client("lambda")
        self._url = stack.environment["QUEUE_URL"]
        policy = json.loads(self._attributes(self._url)["RedrivePolicy"])
        self._dead = self._sqs.get_queue_url(QueueName=policy["deadLetterTargetArn"].rpartition(":")[2])["QueueUrl"]

    def _attributes(self, url: str) -> dict[str, str]:
        return dict(self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"])

    @property
    def dead(self) -> int:
        return int(self._attributes(self._dead)["ApproximateNumberOfMessages"])

    def clear_dead_workers(self) -> None:
        """Drop what other tests left in the dead-letter queue."""
        self._sqs.purge_queue(QueueUrl=self._dead)

    @contextmanager
    def spent(self, attempts: int) -> Iterator[None]:
        """After the block every message was given out *attempts* times already: as if ingest had tried so often."""
        lanes, name = self._lambda.list_event_source_mappings()["EventSourceMappings"], self._url.rpartition("/")[2]
        [source] = [lane for lane in lanes if lane["EventSourceArn"].endswith(f":{name}")]
        self._lambda.update_event_source_mapping(UUID=source["UUID"], Enabled=False)
        try:
            yield
            within(ARRIVED_S, lambda: int(self._attributes(self._url)["ApproximateNumberOfMessages"]) >= FILES)
            for _ in range(attempts):
                taken: list[str] = []
                while some := self._receive():
                    taken += some
                assert len(taken) >= FILES  # a request that was slow to answer was sent twice
                for handle in taken:
                    self._sqs.change_message_visibility(QueueUrl=self._url, ReceiptHandle=handle, VisibilityTimeout=0)
        finally:
            self._lambda.update_event_source_mapping(UUID=source["UUID"], Enabled=True)

    def _receive(self) -> list[str]:
        answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10)
        return [message["ReceiptHandle"] for message in answer.get("Messages", [])]


def test_a_hundred_files_uploaded_during_an_outage_arrive_afterwards_by_themselves(
    tenant: Tenant, folder: Path, embeddings: StubEmbeddings
) -> None:
    with embeddings.down():
        began = time.monotonic()
        for file in folder.iterdir():  # not by the command: on a busy machine it takes longer than five attempts
            tenant.put(f"minute/{file.name}", file.read_text())
        time.sleep(max(0.0, OUTAGE_S - (time.monotonic() - began)))
        assert tenant.listed("minute", "indexed") == []

    within(ARRIVED_S, lambda: len(tenant.listed("minute", "indexed")) == FILES, every_s=1.0)

    assert "item 1369" in tenant.search("Locker 37 holds item", "minute")


def test_what_an_outage_outlasts_is_dead_lettered_and_listed_and_comes_in_by_one_command(
    tenant: Tenant, folder: Path, embeddings: StubEmbeddings
) -> None:
    queue = Queue(tenant.stack)
    queue.clear_dead_workers()
    with embeddings.down():
        with queue.spent(0 if WHOLE else 4):
            pushed = tenant.ragdrop("push", str(folder), "--vault", "good")
            assert pushed.stdout == "100 files to vault good: 100 pending\n", pushed.stderr
        within(GIVEN_UP_S, lambda: queue.dead >= FILES, every_s=1.0)
        within(GIVEN_UP_S, lambda: len(tenant.listed("good", "failed")) == FILES, every_s=1.0)

        assert {record["error"]["code"] for record in tenant.listed("good", "failed")} == {"EMBEDDING_SERVICE_ERROR"}
        shown = tenant.ragdrop("ls", "--failed", "--vault", "good").stdout
        assert shown.count("EMBEDDING_SERVICE_ERROR") == FILES

    moved = operate(tenant.stack, "retry", "--dead-letter")

    assert int(moved.removesuffix(" messages moved back to the queue\n")) >= FILES
    within(ARRIVED_S, lambda: len(tenant.listed("good", "indexed")) == FILES, every_s=1.0)
    assert queue.dead == 0
    assert tenant.listed("good", "failed") == []
