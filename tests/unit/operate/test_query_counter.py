"""Every query is added to its tenant's hour before its reply leaves, and no failure of that fails a query."""

from __future__ import annotations

import asyncio
from concurrent.futures import wait
from threading import Event

import pytest
from starlette.types import Message, Receive, Scope, Send

from ragdrop.api.middleware import WaitForWrites
from ragdrop.errors import DatabaseError
from ragdrop.operate.observe import RETRY_S, QueryCounter
from ragdrop.ports.telemetry import Counts, QueryFailure, QueryReport
from ragdrop.resilience.timing import before_reply, collected_writes
from testing.memory_telemetry import MemoryTelemetry
from tests.world import World

HOUR = "2027-01-15T08"  # of the world's clock


def counted(world: World) -> dict[str, int]:
    return dict(world.telemetry.counts(world.tenant, HOUR, HOUR).get(HOUR, {}))


def test_every_query_is_counted_when_it_ends_without_a_later_one(world: World) -> None:
    world.put("team/a.md", "alpha")
    for text in ("alpha", "beta", "alpha"):
        world.search(text, agent="bot")

    found = counted(world)

    assert (found["queries"], found["cached"], found["agent:bot"]) == (3, 1, 3)
    assert sum(count for name, count in found.items() if name.startswith("at:")) == 3


def test_queries_that_end_during_a_write_share_the_next_one() -> None:
    store = MemoryTelemetry()
    may_end, began = Event(), Event()

    class Slow:
        def add_counts(self, tenant: str, hour: str, counts: Counts) -> None:
            began.set()
            assert may_end.wait(10)
            store.add_counts(tenant, hour, counts)

    counter = QueryCounter(Slow(), clock=lambda: 0.0)  # type: ignore[arg-type]
    with collected_writes() as begun:
        counter.note(QueryReport("search", "acme", 5.0))
        assert began.wait(10)
        for _ in range(5):
            counter.note(QueryReport("search", "acme", 5.0))
        may_end.set()
        wait(begun)

    assert store.calls == ["add_counts"] * 2
    assert store.counts("acme", "1970-01-01T00", "1970-01-01T00")["1970-01-01T00"]["queries"] == 6


def test_a_store_that_fails_fails_no_query_is_left_alone_and_its_counts_come_later(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.telemetry.fail_with = DatabaseError("down", service="telemetry")
    assert world.texts("alpha") == ["alpha"]
    world.search("alpha")
    assert world.telemetry.calls.count("add_counts") == 1
    world.telemetry.fail_with = None
    world.now_s += RETRY_S
    world.search("alpha")

    assert counted(world)["queries"] == 3


def test_a_store_that_is_slow_takes_no_more_than_its_share_of_a_request() -> None:
    store = MemoryTelemetry()
    ticks = iter(range(100))
    counter = QueryCounter(store, clock=lambda: 0.0, stopwatch=lambda: next(ticks) * 0.008)
    store.fail_with = DatabaseError("down", service="telemetry")
    for tenant in ("a", "b", "c"):
        counter.note(QueryReport("search", tenant, 5.0))
    store.fail_with = None
    store.calls.clear()
    ticks = iter(range(100))

    counter.flush()

    assert store.calls == ["add_counts"] * 2  # a tick before each write: 8 and 16 ms of 20
    counter.flush()
    assert store.calls == ["add_counts"] * 3


def test_queries_stand_in_the_hour_in_which_they_were_asked() -> None:
    store, now_s = MemoryTelemetry(), [3_599.0]
    counter = QueryCounter(store, clock=lambda: now_s[0])
    counter.note(QueryReport("search", "acme", 5.0))
    now_s[0] += 2
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
    counter.note(QueryReport("ask", "acme", 5.0, failure=QueryFailure("chat", "ask", "GENERATION_ERROR", "generate")))
    refused = QueryFailure("request", "ask", "INVALID_PARAMS", "request", by_caller=True)
    counter.note(QueryReport("ask", "acme", 5.0, failure=refused))
    counter.flush()

    found = store.counts("acme", "1970-01-01T00", "1970-01-01T00")["1970-01-01T00"]

    assert found["error:chat|ask|GENERATION_ERROR|generate"] == 1
    assert found["error:request|ask|INVALID_PARAMS|request"] == 1
    assert found["failed"] == 1  # what the caller can mend is no failure of the service


@pytest.mark.parametrize("fails", [False, True])
def test_the_end_of_a_response_waits_for_its_write_and_the_start_does_not(*, fails: bool) -> None:
    order: list[str] = []
    started = Event()

    def write() -> None:
        assert started.wait(10)
        order.append("written")
        if fails:
            raise KeyError("broken")

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        before_reply(write)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        started.set()
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Message) -> None:
        order.append("end" if message["type"].endswith("body") and not message.get("more_body") else "part")

    async def receive() -> Message:
        return {"type": "http.request"}

    asyncio.run(WaitForWrites(app)({"type": "http"}, receive, send))

    assert order == ["part", "part", "written", "end"]
