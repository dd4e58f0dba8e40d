"""A vault that changes much does not hold up another one: its messages are moved to the queue for bulk work."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import QueueError
from ragdrop.ingest.reconcile import FEW, WINDOW_S, BulkLane
from ragdrop.ports.message_queue import Change, Delivery, deliveries
from testing.memory_message_queue import BULK, MemoryMessageQueue
from tests.world import World


class Lane:
    """A bulk lane over queues in memory; time passes by `now_s`."""

    def __init__(self) -> None:
        self.queue, self.now_s = MemoryMessageQueue(), 1_000.0
        self.queue.has_bulk = True
        self.lane = BulkLane(self.queue, clock=lambda: self.now_s)

    def take(self, vault: str, count: int = 1, *, receives: int = 1, queue: str = "first", empty: bool = False) -> int:
        """Deliver messages of a vault; how many are for this batch."""
        made = [
            Delivery(
                f"{vault}-{number}",
                "receipt",
                receives,
                () if empty else (Change(f"acme/{vault}/{number}.md"),),
                queue=queue,
            )
            for number in range(count)
        ]
        return len(self.lane.rest(made))


@pytest.fixture
def lane() -> Lane:
    return Lane()


def test_of_a_vault_with_many_changes_all_but_a_few_are_moved(lane: Lane) -> None:
    assert lane.take("large", 200) == FEW
    assert len(lane.queue.moved) == 200 - FEW


def test_a_small_edit_of_another_vault_stays_in_its_batch(lane: Lane) -> None:
    lane.take("large", 200)

    assert lane.take("small") == 1
    assert {each.group for each in lane.queue.moved} == {"acme/large"}


def test_a_vault_that_continues_to_change_much_stays_in_the_bulk_lane(lane: Lane) -> None:
    lane.take("large", 200)
    lane.now_s += WINDOW_S

    assert lane.take("large", 5) == 0


def test_a_vault_that_became_quiet_is_small_again(lane: Lane) -> None:
    lane.take("large", 200)
    lane.now_s += 2 * WINDOW_S

    assert lane.take("large", 5) == 5


@pytest.mark.parametrize("changes", [{"receives": 2}, {"queue": BULK}, {"empty": True}])
def test_what_was_moved_before_or_is_tried_again_is_never_moved(lane: Lane, changes: dict[str, Any]) -> None:
    assert lane.take("large", 50, **changes) == 50


def test_messages_that_cannot_be_moved_are_worked_on(lane: Lane) -> None:
    lane.queue.fail_with = QueueError("down", service="queue")

    assert lane.take("large", 50) == 50


def test_without_a_queue_for_bulk_work_nothing_is_moved(lane: Lane) -> None:
    lane.queue.has_bulk = False

    assert lane.take("large", 50) == 50


def test_a_moved_message_is_sent_as_it_came() -> None:
    world = World()
    world.queue.has_bulk = True
    bodies = [f'{{"type": "ragdrop:look-at", "key": "acme/team/{number}.md"}}' for number in range(FEW + 1)]
    records = [
        {"messageId": str(number), "receiptHandle": "r", "body": body, "eventSourceARN": "arn:aws:sqs:r:1:first"}
        for number, body in enumerate(bodies)
    ]

    failed = world.app.ingest.reconcile(deliveries({"Records": records}), Deadline.after(60))

    assert failed == []
    assert [each.body for each in world.queue.moved] == bodies[FEW:]
