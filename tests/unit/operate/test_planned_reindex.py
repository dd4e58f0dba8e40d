"""A planned reindex: items of a ledger, done once each by any worker, however often workers die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Page
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.errors import DatabaseError, EmbeddingServiceError
from ragdrop.ingest.reconcile_rules import SETTLE_S
from ragdrop.operate.planned_reindex import PlannedReindex
from ragdrop.ports.message_queue import Delivery, WorkRequest
from testing.models import HashingEmbedder
from tests.world import DIMENSION, TENANT, World

FILES = 9
TEXT = "\n\n".join(f"Paragraph {n} tells of the lighthouse keeper and the tide at mark {n}." for n in range(8))
LEASE_S = 360.0


class Killed(BaseException):
    """A worker's process ended."""


class CountedEmbedder(HashingEmbedder):
    """Counts how often it embedded each text."""

    def __init__(self) -> None:
        super().__init__(dimension=DIMENSION)
        self.counts: Counter[str] = Counter()

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> Any:
        self.counts.update(texts)
        return super().passages(texts, space, deadline)


class Fatal:
    """Ends the process at the call number `at` of all that it wraps: before it takes effect, or behind it."""

    def __init__(self) -> None:
        self.calls, self.at, self.behind, self.last = 0, -1, False, ""

    def around(self, wrapped: Any) -> Any:
        return _Calls(wrapped, self)

    def called(self, name: str, call: Callable[[], Any]) -> Any:
        self.calls += 1
        is_last = self.calls == self.at
        if is_last:
            self.last = name
        if is_last and not self.behind:
            raise Killed(name)
        found = call()
        if is_last:
            raise Killed(name)
        return found


class _Calls:
    def __init__(self, wrapped: Any, fatal: Fatal) -> None:
        self._wrapped, self._fatal = wrapped, fatal

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        if not callable(found):
            return found
        return lambda *args, **named: self._fatal.called(name, lambda: found(*args, **named))


def tenant_of(world: World) -> Tenant:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant


def smaller_chunks(world: World) -> ActiveIndex:
    return replace(tenant_of(world).active, chunking=ChunkingPlan(32, 0, 32, 0))


@pytest.fixture
def embedder() -> CountedEmbedder:
    return CountedEmbedder()


@pytest.fixture
def world(embedder: CountedEmbedder) -> World:
    made = World(embedder=embedder)
    for n in range(FILES):
        made.put(f"team/{n}.md", f"# Log {n}\n\n{TEXT.replace('tide', f'tide{n}')}")
    made.put("team/0.md", "# Log 0\n\nThe staged keeper.", {"ragdrop-stage": "spring"})
    embedder.counts.clear()
    return made


class Workers:
    """Deliver the messages of plans to ingest; one whose worker dies comes again."""

    def __init__(self, world: World, fatal: Fatal | None = None) -> None:
        self.world, self.fatal = world, fatal
        self.planned: PlannedReindex = replace(
            world.app.ingest.planned_reindex, item_documents=2, clock=lambda: world.now_s, wait=self.wait
        )
        world.app.ingest.__dict__["planned_reindex"] = self.planned
        self.killed: list[str] = []
        self._number = 0

    def run(self) -> Any:
        return self.planned.run(TENANT, smaller_chunks(self.world), lambda _done, _of: None)

    def wait(self, _seconds: float) -> None:
        self.world.now_s += 2.0
        waiting, self.world.queue.works = self.world.queue.works, []
        for request in waiting:
            self.deliver(request)

    def deliver(self, request: WorkRequest) -> None:
        for receives in range(1, 5):
            self._number += 1
            delivery = Delivery(f"work-{self._number}", "receipt", receives, (), work=request)
            try:
                if not self.world.deliver(delivery):
                    return
            except Killed as exc:
                self.killed.append(str(exc))
            self.world.now_s += LEASE_S + 1


def test_a_plan_does_what_a_reindex_does_and_leaves_nothing_behind(world: World, embedder: CountedEmbedder) -> None:
    workers = Workers(world)

    report = workers.run()

    world.now_s += 10
    assert (report.documents, report.copied) == (FILES, FILES)
    assert tenant_of(world).active.name == report.to_index
    assert len(world.texts("lighthouse keeper", limit=20)) > FILES
    staged = world.texts("staged keeper", stage="spring", vaults=("team",))
    assert staged[0].endswith("The staged keeper.")
    assert set(embedder.counts.values()) == {1}
    assert workers.planned.ledger.summary(TENANT, report.to_index) is None
    assert list(world.state.entries(f"index/{TENANT}/{report.to_index}/work/")) == []


def test_what_no_list_shows_as_its_state_changes_reaches_the_new_index(world: World) -> None:
    page = world.registry.page

    def moved(*args: Any, **named: Any) -> Page:
        found = page(*args, **named)
        shown = [head for head in found.heads if named["status"] or head.key.path != "0.md"]
        return replace(found, heads=shown)

    world.registry.page = moved
    Workers(world).run()
    world.registry.page = page

    world.now_s += 10
    assert any("tide0 at" in text for text in world.texts("tide0", limit=20))
    assert world.texts("staged keeper", stage="spring")[0].endswith("The staged keeper.")


def test_what_no_list_shows_as_it_goes_live_meanwhile_reaches_the_new_index(world: World) -> None:
    world.app.past.stages.promote(world.caller, "team", "spring", Deadline.after(10))
    world.now_s += SETTLE_S + 1
    page, events = world.registry.page, ["team/0.md"]

    def moved(*args: Any, **named: Any) -> Page:  # from a state that is read later to one that was read already
        if events:
            world.changed(events.pop())
        found = page(*args, **named)
        return replace(found, heads=[head for head in found.heads if head.key.path != "0.md"])

    world.registry.page = moved
    Workers(world).run()
    world.registry.page = page

    world.now_s += 10
    assert any("The staged keeper." in text for text in world.texts("staged keeper", limit=20))


def test_however_a_worker_dies_ledger_index_and_registry_agree(embedder: CountedEmbedder) -> None:
    at, deaths = 1, 0
    while True:
        world, fatal, counted = crashing_world()
        fatal.behind, fatal.at = at % 2 == 0, fatal.calls + at
        workers = Workers(world)

        report = run_over_deaths(workers)

        fatal.at = -1
        deaths += len(workers.killed)
        ledger = world.work_ledger
        assert set(ledger.ever_finished.values()) == {1}
        assert report.documents == FILES
        documents = [world.head(f"team/{n}.md") for n in range(FILES)]
        chunks = sum(
            world.app.ports.revisions.chunk_count(head.key, head.live_revision or 0, report.to_index) or 0
            for head in documents
        )
        assert (report.chunks, world.chunk_count()) == (chunks, chunks)
        again = {text for text, count in counted.counts.items() if count > 1}
        assert not again or workers.killed in (["passages"], ["put"]), "the answer of the model was not stored yet"
        if not workers.killed:
            break
        at += 7
    assert deaths >= 20


def crashing_world() -> tuple[World, Fatal, CountedEmbedder]:
    plain, fatal, counted = World(), Fatal(), CountedEmbedder()
    world = World(
        embedder=fatal.around(counted),
        state=fatal.around(plain.state),
        registry=fatal.around(plain.registry),
        index=fatal.around(plain.index),
        work_ledger=plain.work_ledger,
    )
    for n in range(FILES):
        world.put(f"team/{n}.md", f"# Log {n}\n\n{TEXT.replace('tide', f'tide{n}')}")
    counted.counts.clear()
    return world, fatal, counted


def run_over_deaths(workers: Workers) -> Any:
    while True:
        try:
            return workers.run()
        except Killed as exc:  # the command itself
            workers.killed.append(str(exc))


def test_the_same_command_continues_a_plan_that_was_cut_off(world: World) -> None:
    workers = Workers(world)

    def stop(done: int, _of: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.planned.run(TENANT, smaller_chunks(world), stop)
    status = workers.planned.status(tenant_of(world))
    report = workers.run()

    assert status is not None
    assert status.counts.documents >= 2
    assert report.documents == FILES


def test_an_item_whose_message_was_lost_is_sent_again(world: World) -> None:
    workers = Workers(world)
    lost = iter([True, False])
    deliver = workers.deliver
    workers.deliver = lambda request: None if request.number == 1 and next(lost, False) else deliver(request)

    assert workers.run().documents == FILES


def test_two_workers_with_one_item_do_it_once(world: World, embedder: CountedEmbedder) -> None:
    workers = Workers(world)
    tenant = workers.planned.reindex.begin(TENANT, smaller_chunks(world))
    assert tenant is not None
    assert tenant.building is not None
    name = tenant.building.name
    workers.planned.ledger.begin(TENANT, name, 0.0)
    workers.planned(WorkRequest(TENANT, name), "lister", Deadline.after(60))
    taken = workers.planned.ledger.claim(TENANT, name, 0, "one", now_s=world.now_s, until_s=world.now_s + 60)

    first = workers.planned(WorkRequest(TENANT, name, 0), "two", Deadline.after(60))
    world.now_s += 61
    second = workers.planned(WorkRequest(TENANT, name, 0), "two", Deadline.after(60))
    third = workers.planned(WorkRequest(TENANT, name, 0), "three", Deadline.after(60))

    assert taken is not None
    assert (first, second, third) == (False, True, True)
    assert set(embedder.counts.values()) == {1}


def test_where_time_runs_out_another_message_continues_the_item(world: World) -> None:
    workers = Workers(world)
    tenant = workers.planned.reindex.begin(TENANT, smaller_chunks(world))
    assert tenant is not None
    assert tenant.building is not None
    name = tenant.building.name
    workers.planned.ledger.begin(TENANT, name, 0.0)
    workers.planned(WorkRequest(TENANT, name), "lister", Deadline.after(60))
    world.queue.works.clear()

    workers.planned(WorkRequest(TENANT, name, 0), "one", Deadline.after(20))

    assert world.queue.works == [WorkRequest(TENANT, name, 0)]
    assert workers.planned.ledger.claim(TENANT, name, 0, "two", now_s=world.now_s, until_s=world.now_s) is not None


def test_items_that_cannot_be_done_end_the_command_and_not_the_old_index(world: World) -> None:
    before = tenant_of(world).active.name
    workers = Workers(world)
    world.app.ingest.__dict__["planned_reindex"] = workers.planned = replace(workers.planned, embedder=Down())

    with pytest.raises(DatabaseError, match="5 items of the plan"):
        workers.run()

    assert tenant_of(world).active.name == before


class Down(HashingEmbedder):
    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> Any:
        raise EmbeddingServiceError("down", service="embedding")


def test_an_aborted_plan_is_forgotten(world: World) -> None:
    workers = Workers(world)

    def stop(done: int, _of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.planned.run(TENANT, smaller_chunks(world), stop)
    tenant = tenant_of(world)
    workers.planned.abort(tenant)

    assert workers.planned.status(tenant) is None
