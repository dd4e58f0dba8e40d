"""Uses of documents are counted in the environment and written within requests, a few milliseconds at a time."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import DetailFilters
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import DocumentUsage
from ragdrop.query.usage import FLUSH_EVERY_S, UsageCounter
from testing.memory_telemetry import MemoryTelemetry
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


def test_a_record_tells_how_often_answers_held_the_document(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.add_use(world.key("team/a.md"), 3, "2026-01-02T03:04:05Z")

    assert world.app.documents.document_service.record(world.caller, world.key("team/a.md")).usage == DocumentUsage(
        3, "2026-01-02T03:04:05Z"
    )
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    assert world.app.documents.document_service.record(world.caller, world.key("team/a.md")).usage is None


def test_unused_documents_are_those_that_no_answer_held_since_and_that_are_not_younger(world: World) -> None:
    for name in ("often", "seldom", "never"):
        world.put(f"team/{name}.md", "alpha")
    world.telemetry.add_use(world.key("team/often.md"), 9, "2027-03-01T00:00:00Z")
    world.telemetry.add_use(world.key("team/seldom.md"), 1, "2027-02-01T00:00:00Z")

    assert unused(world, "2027-02-15T00:00:00Z") == ["never.md", "seldom.md"]
    assert unused(world, "2027-01-01T00:00:00Z") == []


def unused(world: World, since: str) -> list[str]:
    filters = DetailFilters(unused_since=since)
    page = world.app.documents.document_service.page(
        world.caller, vault=None, prefix="", status=None, cursor=None, limit=10, filters=filters
    )
    return [head.key.path for head in page.heads]


def test_a_purge_removes_the_counts_too(world: World) -> None:
    key = world.key("team/a.md")
    world.put("team/a.md", "alpha")
    world.telemetry.add_use(key, 3, "2026-01-02T03:04:05Z")
    world.app.documents.purge_documents(world.caller, key, Deadline.after(10))

    assert world.telemetry.usage([key]) == {}
