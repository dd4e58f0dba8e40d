"""Queries are counted in the environment and added to their tenant's hour within requests, in one write at a time."""

from __future__ import annotations

from ragdrop.adapters.memory_telemetry import MemoryTelemetry
from ragdrop.domain.query_reports import Failure, QueryReport
from ragdrop.errors import DatabaseError
from ragdrop.usecases.query_counter import FLUSH_EVERY_S, QueryCounter
from tests.world import World

HOUR = "2027-01-15T08"  # of the world's clock


def counted(world: World) -> dict[str, int]:
    return dict(world.telemetry.counts(world.tenant, HOUR, HOUR).get(HOUR, {}))


def test_all_queries_of_ten_seconds_are_one_write(world: World) -> None:
    world.put("team/a.md", "alpha")
    for text in ("alpha", "beta", "alpha"):
        world.search(text, agent="bot")
    assert "add_counts" not in world.telemetry.calls
    world.now_s += FLUSH_EVERY_S
    world.search("alpha")

    found = counted(world)

    assert world.telemetry.calls.count("add_counts") == 1
    assert (found["queries"], found["cached"], found["agent:bot"]) == (4, 2, 3)
    assert sum(count for name, count in found.items() if name.startswith("at:")) == 4


def test_a_store_that_fails_fails_no_query_and_its_counts_come_later(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    world.now_s += FLUSH_EVERY_S
    assert world.texts("alpha") == ["alpha"]
    world.telemetry.fail_with = None
    world.now_s += FLUSH_EVERY_S
    world.search("alpha")

    assert counted(world)["queries"] == 2


def test_a_store_that_is_slow_takes_no_more_than_its_share_of_a_request() -> None:
    store, now_s = MemoryTelemetry(), [0.0]
    ticks = iter(range(100))
    counter = QueryCounter(store, clock=lambda: now_s[0], stopwatch=lambda: next(ticks) * 0.008)
    for tenant in ("a", "b", "c"):
        counter.note(QueryReport("search", tenant, 5.0))

    counter.flush()

    assert store.calls == ["add_counts"] * 2  # a tick before each write: 8 and 16 ms of 20
    counter.flush()
    assert store.calls == ["add_counts"] * 3


def test_queries_stand_in_the_hour_in_which_they_were_asked() -> None:
    store, now_s = MemoryTelemetry(), [3_599.0]
    counter = QueryCounter(store, clock=lambda: now_s[0])
    counter.note(QueryReport("search", "acme", 5.0))
    now_s[0] += FLUSH_EVERY_S
    counter.note(QueryReport("search", "acme", 5.0))

    hours = store.counts("acme", "1970-01-01T00", "1970-01-01T23")

    assert {hour: counts["queries"] for hour, counts in hours.items()} == {"1970-01-01T00": 1, "1970-01-01T01": 1}


def test_no_more_than_twenty_agents_are_named_however_many_there_are() -> None:
    store, now_s = MemoryTelemetry(), [0.0]
    counter = QueryCounter(store, clock=lambda: now_s[0])
    for number in range(100):
        counter.note(QueryReport("search", "acme", 5.0, agent=f"agent-{number}"))
    counter.flush()

    agents = {
        name: count
        for name, count in store.counts("acme", "1970-01-01T00", "1970-01-01T00")["1970-01-01T00"].items()
        if name.startswith("agent:")
    }

    assert (len(agents), agents["agent:other"], sum(agents.values())) == (21, 80, 100)


def test_errors_are_counted_by_component_operation_code_and_stage() -> None:
    store = MemoryTelemetry()
    counter = QueryCounter(store, clock=lambda: 0.0)
    counter.note(QueryReport("ask", "acme", 5.0, failure=Failure("chat", "ask", "GENERATION_ERROR", "generate")))
    refused = Failure("request", "ask", "INVALID_PARAMS", "request", by_caller=True)
    counter.note(QueryReport("ask", "acme", 5.0, failure=refused))
    counter.flush()

    found = store.counts("acme", "1970-01-01T00", "1970-01-01T00")["1970-01-01T00"]

    assert found["error:chat|ask|GENERATION_ERROR|generate"] == 1
    assert found["error:request|ask|INVALID_PARAMS|request"] == 1
    assert found["failed"] == 1  # what the caller can mend is no failure of the service
