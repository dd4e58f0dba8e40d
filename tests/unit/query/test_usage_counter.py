"""Uses of documents are written before the reply ends, within a budget."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import DetailFilters
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.ports.telemetry import DocumentUsage
from ragdrop.query.cache import MAX_AT_ONCE, RETRY_S, UsageCounter
from testing.memory_telemetry import MemoryTelemetry
from tests.world import World

KEYS = [DocumentKey("acme", "team", f"{number}.md") for number in range(5)]


def used(world: World) -> DocumentUsage:
    key = world.key("team/a.md")
    return world.telemetry.usage([key])[key]


def test_an_answer_counts_its_documents_before_it_is_sent(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.search("alpha")
    world.now_s += 5
    world.search("alpha")

    assert used(world) == DocumentUsage(2, "2027-01-15T08:00:05Z")


def test_environments_that_answer_once_and_freeze_have_counted() -> None:
    store = MemoryTelemetry()
    for second in range(5):
        UsageCounter(store, clock=lambda at=second: float(at)).note(KEYS)  # type: ignore[misc]

    assert {each.query_count for each in store.usage(KEYS).values()} == {5}


def test_an_environment_writes_no_more_than_its_budget_and_the_rest_adds_up() -> None:
    store, now_s = MemoryTelemetry(), [0.0]
    counter = UsageCounter(store, clock=lambda: now_s[0])
    many = [DocumentKey("acme", "team", f"{number}.md") for number in range(MAX_AT_ONCE + 3)]

    counter.note(many)
    counter.note(many[-3:])
    assert len(store.usage(many)) == MAX_AT_ONCE  # each once, of 66 uses

    now_s[0] = 2.0
    counter.note([])
    assert sum(each.query_count for each in store.usage(many).values()) == MAX_AT_ONCE + 6


def test_after_a_failure_no_answer_waits_for_the_store_for_ten_seconds() -> None:
    store, now_s = MemoryTelemetry(), [0.0]
    counter = UsageCounter(store, clock=lambda: now_s[0])
    store.fail_with = DatabaseError("down", service="telemetry")
    counter.note(KEYS[:1])
    tries = store.calls.count("add_use")
    counter.note(KEYS[1:2])

    assert store.calls.count("add_use") == tries
    store.fail_with, now_s[0] = None, RETRY_S
    counter.note([])
    assert set(store.usage(KEYS)) == {KEYS[1]}


def test_a_store_that_fails_does_not_fail_a_question(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")

    assert world.texts("alpha") == ["alpha"]


def test_a_record_reports_how_often_answers_used_the_document(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.add_use(world.key("team/a.md"), 3, "2026-01-02T03:04:05Z")

    assert world.app.documents.document_service.record(world.caller, world.key("team/a.md")).usage == DocumentUsage(
        3, "2026-01-02T03:04:05Z"
    )
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    assert world.app.documents.document_service.record(world.caller, world.key("team/a.md")).usage is None


def test_unused_documents_are_those_that_no_answer_used_since_and_that_are_not_younger(world: World) -> None:
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
