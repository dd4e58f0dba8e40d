"""What every MessageQueue does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from ragdrop.errors import ConfigurationError, QueueError
from ragdrop.ports.message_queue import Change, Continuation, Delivery, MergeRequest
from ragdrop.stores.sqs_queue import SqsMessageQueue
from testing.memory_message_queue import MemoryMessageQueue
from tests.contract.aws_fixtures import ENGINES, SIMULATED, QueueEngine, clients, queue_engine


@pytest.fixture(params=(*ENGINES, SIMULATED))
def engine(request: pytest.FixtureRequest) -> Iterator[QueueEngine]:
    with queue_engine(request.param) as made:
        yield made


def received(handle: str, queue: str = "", body: str = "") -> Delivery:
    return Delivery("m", handle, 1, (Change("acme/team/a.md"),), body=body, queue=queue)


@pytest.fixture(params=["aws", "emulator"])
def two_queues(request: pytest.FixtureRequest) -> Iterator[tuple[SqsMessageQueue, Any, str]]:
    """A queue with one for bulk work, their client, and the URL of the second."""
    if request.param not in ENGINES:
        pytest.skip("needs an emulator")
    with clients(request.param) as make:
        client = make("sqs")
        name = uuid4().hex[:8]
        first, bulk = (client.create_queue(QueueName=f"{each}-{name}")["QueueUrl"] for each in ("first", "bulk"))
        yield SqsMessageQueue(first, client, bulk_url=bulk), client, bulk


def test_bulk_work_goes_to_its_own_queue_with_the_group_of_its_vault(
    two_queues: tuple[SqsMessageQueue, Any, str],
) -> None:
    queue, client, bulk = two_queues

    queue.move([received("r", body='{"moved": 1}')])
    queue.go_on(Continuation("acme/team/a.txt", 7, 2, 1))
    queue.send_all([f"acme/other/{number}.md" for number in range(11)])

    groups, bodies = [], []
    while found := client.receive_message(QueueUrl=bulk, MaxNumberOfMessages=10, AttributeNames=["All"]).get(
        "Messages"
    ):
        groups += [each.get("Attributes", {}).get("MessageGroupId") for each in found]
        bodies += [each["Body"] for each in found]
    assert (len(groups), len(set(groups)), None in groups) == (13, 2, False)
    assert '{"moved": 1}' in bodies
    assert queue.depth().in_flight == 13


def test_a_few_keys_and_one_alone_do_not_wait_behind_bulk_work(two_queues: tuple[SqsMessageQueue, Any, str]) -> None:
    queue, client, bulk = two_queues

    queue.send("acme/team/a.md")
    queue.send_all([f"acme/team/{number}.md" for number in range(10)])

    assert "Messages" not in client.receive_message(QueueUrl=bulk)
    assert queue.depth().waiting == 11


def test_a_message_of_bulk_work_comes_again_to_its_own_queue(two_queues: tuple[SqsMessageQueue, Any, str]) -> None:
    queue, client, bulk = two_queues
    queue.move([received("r", body="{}")])
    [message] = client.receive_message(QueueUrl=bulk)["Messages"]
    delivery = received(message["ReceiptHandle"], queue=bulk.rpartition("/")[2])

    queue.retry_after(delivery, 0)

    assert queue.is_bulk(delivery)
    assert len(client.receive_message(QueueUrl=bulk)["Messages"]) == 1


def test_a_key_that_was_sent_arrives_as_it_was(engine: QueueEngine) -> None:
    engine.queue.send("acme/team/notes/größe + 1 😀.md")

    assert [key for _, key in engine.receive()] == ["acme/team/notes/größe + 1 😀.md"]


def test_a_large_document_that_is_handed_over_arrives_by_its_key(engine: QueueEngine) -> None:
    engine.queue.go_on(Continuation("acme/team/größe.txt", 7, 2, 1))

    assert [key for _, key in engine.receive()] == ["acme/team/größe.txt"]


def test_a_merge_that_is_asked_for_arrives_as_it_was(engine: QueueEngine) -> None:
    engine.queue.merge(MergeRequest("acme", "bucket-v1-nomic-768-1"))

    [arrived] = engine.deliver()
    assert (arrived.merge, arrived.changes) == (MergeRequest("acme", "bucket-v1-nomic-768-1"), ())
    assert arrived.understood


def test_what_ingest_reads_of_a_message_is_what_was_sent(engine: QueueEngine) -> None:
    continuation = Continuation("acme/team/größe.txt", 7, 2, 1)
    engine.queue.send("acme/team/a.md")
    engine.queue.go_on(continuation)

    changes = [change for each in engine.deliver() for change in each.changes]
    assert {(change.key, change.handed_over) for change in changes} == {
        ("acme/team/a.md", None),
        (continuation.key, continuation),
    }


def test_a_message_stays_away_for_its_delay(engine: QueueEngine) -> None:
    engine.queue.send("acme/team/a.md")
    [(handle, _)] = engine.receive()

    engine.queue.retry_after(received(handle), 600)

    assert engine.receive() == []


def test_a_message_without_delay_comes_back_at_once(engine: QueueEngine) -> None:
    engine.queue.send("acme/team/a.md")
    [(handle, _)] = engine.receive()

    engine.queue.retry_after(received(handle), 0)

    assert [key for _, key in engine.receive()] == ["acme/team/a.md"]


def test_a_message_that_nobody_acknowledged_is_given_again_with_another_receipt(engine: QueueEngine) -> None:
    engine.queue.send("acme/team/a.md")

    first, second = engine.deliver(), engine.deliver()

    assert [each.changes for each in first] == [each.changes for each in second]
    assert [each.message_id for each in first] == [each.message_id for each in second]


def test_many_keys_arrive_each_once(engine: QueueEngine) -> None:
    keys = [f"acme/team/{number} ü.md" for number in range(23)]

    engine.queue.send_all(keys)

    arrived: list[str] = []
    while len(arrived) < len(keys) and (seen := engine.receive()):
        for handle, key in seen:
            engine.queue.retry_after(received(handle), 600)
            arrived.append(key)
    assert sorted(arrived) == sorted(keys)


def test_no_keys_are_no_message(engine: QueueEngine) -> None:
    engine.queue.send_all([])

    assert engine.receive() == []


def test_dead_letters_come_back_until_none_is_left(engine: QueueEngine) -> None:
    for number in range(12):
        engine.give_up(f"acme/team/{number:02}.md")

    moved = 0
    while some := engine.queue.redrive():
        moved += some

    assert moved == 12
    assert engine.queue.redrive() == 0
    assert {key for _, key in engine.receive()} <= {f"acme/team/{number:02}.md" for number in range(12)}


def test_a_queue_without_dead_letters_is_a_configuration_error() -> None:
    with clients("aws") as make:
        client = make("sqs")
        queue = SqsMessageQueue(client.create_queue(QueueName="alone")["QueueUrl"], client)
        with pytest.raises(ConfigurationError, match="alone has no dead-letter queue"):
            queue.redrive()


class HalfDeaf:
    """A client that takes only the first message of a batch."""

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, object]:  # noqa: N803
        refused = [{"Id": each["Id"], "Code": "InternalError", "SenderFault": False} for each in Entries[1:]]
        return {"Successful": [{"Id": Entries[0]["Id"]}], "Failed": refused}


def test_messages_of_a_batch_that_were_not_taken_are_an_error() -> None:
    with pytest.raises(QueueError, match="2 of 3 messages were not taken") as caught:
        SqsMessageQueue("http://sqs.example/queue", HalfDeaf()).send_all(["a/b/1", "a/b/2", "a/b/3"])

    assert caught.value.retryable


def test_an_unknown_receipt_is_a_queue_error() -> None:
    with queue_engine("aws") as made, pytest.raises(QueueError) as caught:
        made.queue.retry_after(received("no-such-receipt"), 1)

    assert caught.value.service == "queue"


def test_a_queue_that_does_not_exist_is_a_configuration_error_that_names_it() -> None:
    with clients("aws") as make:
        queue = SqsMessageQueue("https://sqs.eu-central-1.amazonaws.com/123456789012/nowhere", make("sqs"))
        with pytest.raises(ConfigurationError, match="nowhere"):
            queue.send("acme/team/a.md")


def test_the_fake_fails_on_request_and_notes_the_call() -> None:
    queue = MemoryMessageQueue()
    queue.fail_with = QueueError("down", service="queue")

    with pytest.raises(QueueError):
        queue.send("acme/team/a.md")
    assert (queue.calls, queue.sent) == (["send"], [])


def test_the_depth_counts_what_waits_and_what_was_given_up_on(engine: QueueEngine) -> None:
    engine.queue.send("acme/team/a.md")
    engine.queue.send("acme/team/b.md")
    engine.give_up("acme/team/c.md")

    depth = engine.queue.depth()

    assert (depth.waiting, depth.delayed, depth.dead_letters) == (2, 0, 1)
