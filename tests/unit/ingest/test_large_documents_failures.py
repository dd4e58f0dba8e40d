"""Wherever a worker on a large document dies, fails or comes twice: the document comes in, or says why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.documents import Status
from ragdrop.errors import DeadlineError, EmbeddingServiceError
from ragdrop.ingest.reconcile_rules import LEASE_S
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.message_queue import Delivery
from ragdrop.ports.registry import HopLimits
from testing.memory_object_store import MemoryObjectStore
from tests.faults.crashes import Countdown, Crash, Fragile
from tests.large_documents import PARTS, PATH, again, finish, large_world, one_part_at_a_time, text_of
from tests.world import World, error_of


@pytest.fixture
def world() -> World:
    return large_world()


def test_a_worker_that_died_continues_where_it_was(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    [message] = world.handed_over()
    upsert = world.index.upsert

    def die(*_: object) -> None:
        raise Crash

    world.index.upsert = die
    with pytest.raises(Crash):
        world.deliver(message)
    world.index.upsert = upsert
    parsed = world.state.calls.count("put")

    world.deliver(again(message))
    checkpoint = world.app.ports.registry.checkpoint(world.key(PATH), world.head(PATH).revision)
    assert checkpoint is not None
    assert checkpoint.part >= 1
    finish(world)

    assert world.head(PATH).status is Status.INDEXED
    assert world.state.calls.count("put") - parsed < 3 * PARTS
    assert world.chunk_count() == world.head(PATH).chunk_count


def test_a_worker_that_died_continues_though_every_index_that_it_wrote_to_was_dropped_since(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    [message] = world.handed_over()
    reindex, active = world.app.operate.reindex, world.app.ports.settings.seed_index()
    reindex.run("acme", replace(active, name=""), again=True)
    reindex.drop_previous("acme")

    world.deliver(message)
    finish(world)

    assert world.head(PATH).status is Status.INDEXED
    assert world.chunk_count() == world.head(PATH).chunk_count >= PARTS


def test_the_first_worker_that_died_after_the_text_was_stored_does_not_start_over(world: World) -> None:
    upsert = world.index.upsert

    def die(*_: object) -> None:
        raise Crash

    world.index.upsert = die
    world.put(PATH, text_of("alpha"), ingest=False)
    message = world.message(world.change(PATH))
    with pytest.raises(Crash):
        world.deliver(message)
    world.index.upsert = upsert
    revision = world.head(PATH).revision

    world.deliver(again(message))

    assert world.head(PATH).live_revision == revision


def test_a_message_that_comes_twice_does_no_part_twice(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    [message] = world.handed_over()
    world.deliver(message)
    calls = world.embedder.calls

    world.now_s += 1
    world.deliver(Delivery("a-copy", "r", 1, message.changes))

    assert world.embedder.calls == calls
    finish(world)
    assert world.chunk_count() == world.head(PATH).chunk_count


def test_three_invocations_without_progress_are_a_timeout(world: World) -> None:
    world.embedder.fail_with = DeadlineError("no time was left for embed", service="embed", stage="embed")
    world.put(PATH, text_of("alpha"))

    assert finish(world) == 3
    error = world.head(PATH).error
    assert error is not None
    assert (error.code, world.head(PATH).status) == ("TIMEOUT", Status.FAILED)
    assert "part 1 of 10 was not done in 3 invocations" in error.message


def test_more_invocations_than_allowed_are_a_timeout() -> None:
    world = large_world(hop_limits=HopLimits(hops=4))
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    finish(world)

    assert error_of(world.head(PATH)) == "TIMEOUT"
    assert world.chunk_count() == 0


def test_an_outage_is_not_counted_as_the_documents_own_fault(world: World) -> None:
    world.put(PATH, text_of("alpha"), ingest=False)
    message = world.message(world.change(PATH))
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")
    for receives in (1, 2, 3, 4):
        assert world.deliver(again(message, receives)) != []
    world.embedder.fail_with = None

    world.deliver(again(message, 5))

    assert world.head(PATH).status is Status.INDEXED


def test_a_message_from_the_dead_letter_queue_brings_a_failed_document_in(world: World) -> None:
    one_part_at_a_time(world)
    world.put(PATH, text_of("alpha"))
    [message] = world.handed_over()
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")
    world.deliver(again(message, 5))
    assert world.head(PATH).status is Status.FAILED
    world.embedder.fail_with = None

    world.deliver(again(message))
    finish(world)

    assert world.head(PATH).status is Status.INDEXED


def test_a_worker_may_die_at_any_call_and_the_document_still_comes_in() -> None:
    for calls in range(0, 150, 3):
        for after in (False, True):
            assert survives(calls, after=after), f"call {calls}, after={after}"


def survives(calls: int, *, after: bool) -> bool:
    """Whether a large document ends indexed and whole when its first worker dies at a call."""
    countdown = Countdown()
    state = Fragile(MemoryObjectStore("state"), countdown)
    whole = World()
    ports: dict[str, Any] = {
        name: Fragile(getattr(whole, name), countdown) for name in ("registry", "index", "documents")
    }
    world = World("tenant-two", state=state, revisions=RevisionStore(state, part_characters=300), **ports)
    world.put(PATH, text_of("alpha"), ingest=False)
    message = world.message(world.change(PATH))
    countdown.arm(calls, after=after)
    try:
        world.deliver(message)
    except Crash:
        world.now_s += LEASE_S + 1
    countdown.disarm()
    world.deliver(again(message))
    finish(world)
    head = world.head(PATH)
    return head.status is Status.INDEXED and world.chunk_count() == head.chunk_count
