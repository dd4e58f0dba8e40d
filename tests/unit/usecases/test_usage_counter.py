"""Uses of documents are counted in the environment and written within requests, a few milliseconds at a time."""

from __future__ import annotations

from ragdrop.adapters.memory_telemetry import MemoryTelemetry
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.usecases.usage_counter import FLUSH_EVERY_S, UsageCounter
from tests.world import World

KEYS = [DocumentKey("acme", "team", f"{number}.md") for number in range(5)]


def test_answers_count_their_documents_at_most_every_ten_seconds(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    assert world.telemetry.calls.count("add_use") == 0
    world.now_s += FLUSH_EVERY_S
    world.search("alpha")

    used = world.telemetry.usage([world.key("team/a.md")])[world.key("team/a.md")]

    assert (used.query_count, used.last_retrieved) == (2, "2027-01-15T08:00:10Z")


def test_a_store_that_hangs_takes_no_more_than_its_share_of_a_request() -> None:
    store, now_s = MemoryTelemetry(), [0.0]
    ticks = iter(range(100))
    counter = UsageCounter(store, clock=lambda: now_s[0], stopwatch=lambda: next(ticks) * 0.008)
    counter.note(KEYS)

    counter.flush()
    assert len(store.usage(KEYS)) == 2  # a tick before each write: 8 and 16 ms of 20
    counter.flush()
    counter.flush()
    assert len(store.usage(KEYS)) == 5


def test_a_store_that_fails_does_not_fail_a_question(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    world.now_s += FLUSH_EVERY_S

    assert world.texts("alpha") == ["alpha"]
