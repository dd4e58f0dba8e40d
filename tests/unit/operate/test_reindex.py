"""Reindex: a new index beside the old one, no gap, no mix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Page
from ragdrop.domain.history import STAGE
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.errors import ConflictError, DatabaseError, EmbeddingServiceError, ObjectStoreError
from tests.world import TENANT, World

SOON = Deadline.after(86_400)  # made as the tests are collected, which may be long before they run
TEXT = "\n\n".join(f"Paragraph {n} tells of the lighthouse keeper and the tide at mark {n}." for n in range(40))


def tenant_of(world: World) -> Tenant:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant


def smaller_chunks(world: World) -> ActiveIndex:
    return replace(tenant_of(world).active, chunking=ChunkingPlan(64, 0, 64, 0))


def fill(world: World, count: int = 5) -> None:
    for n in range(count):
        world.put(f"team/{n}.md", f"# Log {n}\n\n{TEXT}")


def look_again(world: World) -> None:
    """Let the seconds pass after which every reader has seen a switch."""
    world.now_s += 10


def test_after_a_reindex_queries_answer_from_chunks_of_the_new_size(world: World) -> None:
    fill(world)
    before = max(len(text) for text in world.texts("lighthouse keeper"))

    report = world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    look_again(world)
    assert report is not None
    assert (report.documents, report.copied) == (5, 5)
    assert max(len(text) for text in world.texts("lighthouse keeper")) < before
    assert tenant_of(world).active.name == report.to_index


def test_what_waits_in_a_stage_is_in_the_new_index_and_is_promoted_there(world: World) -> None:
    world.put("team/valve.md", "The valve is red.")
    world.put("team/valve.md", "The valve is blue.", {"ragdrop-stage": "spring"})
    world.put("team/zebra.md", "The zebra is new.", {"ragdrop-stage": "spring"})
    staged = {"The valve is blue.", "The zebra is new."}

    world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    look_again(world)
    assert set(world.texts("valve zebra")) == {"The valve is red."}
    assert set(world.texts("valve zebra", stage="spring", vaults=("team",))) == staged
    world.app.past.stages.promote(world.caller, "team", "spring", SOON)
    look_again(world)
    assert set(world.texts("valve zebra")) == staged


def test_an_index_of_the_same_make_is_left_alone(world: World) -> None:
    fill(world)

    assert world.app.operate.reindex.run(TENANT, replace(tenant_of(world).active, name="bucket-v1-other")) is None


def test_an_index_of_another_kind_is_another_make(world: World) -> None:
    fill(world)
    opensearch = replace(tenant_of(world).active, name="ragdrop-v1-hashing-64-1")

    report = world.app.operate.reindex.run(TENANT, opensearch)

    assert report is not None
    assert (report.from_index, report.to_index) == ("bucket-v1-hashing-64-1", "ragdrop-v1-hashing-64-2")
    assert tenant_of(world).active.engine == "opensearch"


def test_an_index_without_titles_in_its_vectors_keeps_to_that_until_it_is_reindexed(world: World) -> None:
    now = tenant_of(world)
    world.registry.move_indexes(now, active=replace(now.active, titled=False), building=None, previous=None)
    look_again(world)
    world.put("team/sailing.md", "---\ntitle: Sailing\n---\nA short note about the tide.")
    without = world.embedder.texts_embedded

    report = world.app.operate.reindex.run(TENANT, replace(tenant_of(world).active, titled=True))

    assert report is not None
    assert tenant_of(world).active.titled
    assert world.embedder.texts_embedded == without + 1


def test_vectors_of_unchanged_texts_are_not_computed_again(world: World) -> None:
    world.put("team/a.md", "A short note about the tide.")
    embedded = world.embedder.texts_embedded

    world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    assert world.embedder.texts_embedded == embedded


def test_a_document_that_changes_while_the_copy_runs_has_its_new_text_after_the_switch(world: World) -> None:
    fill(world)
    seen: list[int] = []

    def change_one(done: int, total: int) -> None:
        if not seen:
            world.put("team/0.md", "The lighthouse was sold.")
            world.put("team/new.md", "A new lighthouse note.")
            world.delete("team/4.md")
        seen.append(done)

    world.app.operate.reindex.run(TENANT, smaller_chunks(world), change_one)

    look_again(world)
    texts = world.texts("lighthouse", limit=20)
    assert "The lighthouse was sold." in texts
    assert "A new lighthouse note." in texts
    assert not any("Log 0" in text or "Log 4" in text for text in texts)


def test_an_ingest_that_began_before_the_reindex_still_reaches_the_new_index(world: World) -> None:
    world.put("team/a.md", "The tide is high.", ingest=False)
    refresh = world.index.refresh

    def begin_first(*args: object) -> None:
        world.index.refresh = refresh
        world.app.operate.reindex.begin(TENANT, smaller_chunks(world))
        refresh(*args)

    world.index.refresh = begin_first
    world.changed("team/a.md")

    world.app.operate.reindex.run(TENANT, smaller_chunks(world))
    look_again(world)
    assert world.texts("tide") == ["The tide is high."]


@pytest.mark.parametrize("stage", [None, "spring"])
def test_an_ingest_that_failed_behind_its_last_write_reaches_the_new_index_when_its_message_comes_again(
    world: World, stage: str | None
) -> None:
    [message] = cut_off_behind_a_switch(world, stage, waits_s=0)

    assert world.deliver(message) == []

    look_again(world)
    assert world.texts("tide", stage=stage) == ["The tide is high."]


@pytest.mark.parametrize("stage", [None, "spring"])
def test_a_document_is_found_though_its_worker_is_cut_off_behind_its_last_write_after_a_switch(
    world: World, stage: str | None
) -> None:
    cut_off_behind_a_switch(world, stage, waits_s=10)

    assert world.texts("tide", stage=stage) == ["The tide is high."]


def cut_off_behind_a_switch(world: World, stage: str | None, *, waits_s: float) -> Any:
    """Index a document while a reindex switches; the worker is cut off once it is live, or waits in *stage*."""
    world.put("team/a.md", "The tide is high.", {STAGE: stage} if stage else {}, ingest=False)
    refresh, name = world.index.refresh, "activate" if stage is None else "put_in_stage"
    write = getattr(world.registry, name)

    def switch_first(*args: object) -> None:
        world.index.refresh = refresh
        world.app.operate.reindex.run(TENANT, smaller_chunks(world))
        world.now_s += waits_s
        refresh(*args)

    def cut_off_behind(*args: object) -> object:
        world.state.fail_with = ObjectStoreError("S3 is down", service="object_store")
        return write(*args)

    world.index.refresh = switch_first
    setattr(world.registry, name, cut_off_behind)
    messages = world.changed("team/a.md")
    world.state.fail_with = None
    setattr(world.registry, name, write)
    return messages


def test_one_that_was_cut_off_continues_where_it_was(world: World) -> None:
    fill(world)

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    world.app.operate.reindex.page_size = 1
    with pytest.raises(KeyboardInterrupt):
        world.app.operate.reindex.run(TENANT, smaller_chunks(world), stop)
    assert len(world.texts("lighthouse keeper")) > 0
    report = world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    assert report is not None
    assert (report.documents, report.copied) == (5, 2)


def test_a_rollback_gives_the_old_answers_with_what_changed_since(world: World) -> None:
    fill(world)
    old = world.texts("lighthouse keeper", limit=1)
    world.app.operate.reindex.run(TENANT, smaller_chunks(world))
    world.put("team/late.md", "The zebra came late.")

    world.app.operate.reindex.rollback(TENANT)

    look_again(world)
    assert world.texts("lighthouse keeper", limit=1) == old
    assert "The zebra came late." in world.texts("zebra")


def test_dropping_the_old_index_ends_double_writing(world: World) -> None:
    fill(world)
    world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    removed = world.app.operate.reindex.drop_previous(TENANT)

    assert removed > 0
    assert len(tenant_of(world).targets) == 1
    with pytest.raises(ConflictError):
        world.app.operate.reindex.rollback(TENANT)


def test_an_index_stays_current_until_no_search_can_be_at_work_on_it(world: World) -> None:
    fill(world)
    reindex = world.app.operate.reindex
    reindex.run(TENANT, smaller_chunks(world))
    old = tenant_of(world).previous
    assert old is not None
    part, seen = tenant_of(world).part_of(old), []
    reindex.wait = lambda seconds: seen.append((seconds, tenant_of(world).previous, world.index.count(part, SOON)))

    reindex.drop_previous(TENANT)

    [(waited_s, previous, chunks)] = seen
    assert (waited_s >= 29 + 6, previous) == (True, old)
    assert chunks
    assert world.index.count(part, SOON) == 0


def test_a_document_that_the_listing_does_not_show_yet_reaches_the_new_index(world: World) -> None:
    fill(world, 2)
    page, reindex = world.registry.page, world.app.operate.reindex
    world.registry.page = lambda *_args, **_named: Page([], None)  # a second behind

    def a_second_passes(_seconds: float) -> None:
        world.registry.page = page

    reindex.wait = a_second_passes
    report = reindex.run(TENANT, smaller_chunks(world))

    assert report is not None
    assert report.documents == 2


def test_a_document_that_no_list_shows_as_its_state_changes_reaches_the_new_index(world: World) -> None:
    world.put("team/a.md", "The tide is high.")
    world.put("team/a.md", "The tide is low.", {STAGE: "spring"})
    page, reindex, waits = world.registry.page, world.app.operate.reindex, list[float]()

    def moved(*args: Any, **named: Any) -> Page:  # from a state that is read later to one that was read already
        is_current = len(waits) == 2  # a list is a second behind, before the first copy and before the last one
        return page(*args, **named) if named["status"] and is_current else Page([], None)

    world.registry.page, reindex.wait = moved, waits.append
    reindex.run(TENANT, smaller_chunks(world))
    world.registry.page = page

    look_again(world)
    assert world.texts("tide") == ["The tide is high."]
    assert world.texts("tide", stage="spring") == ["The tide is low."]


def test_a_reader_that_still_knows_the_dropped_index_looks_up_the_new_one(world: World) -> None:
    fill(world)
    assert world.texts("lighthouse keeper")
    world.app.operate.reindex.run(TENANT, smaller_chunks(world))
    world.app.operate.reindex.drop_previous(TENANT)

    assert world.texts("tide at the lighthouse")  # within the seconds for which the tenant's item is cached


def test_a_failure_on_the_way_leaves_the_old_index_answering(world: World) -> None:
    fill(world)
    old = world.texts("lighthouse keeper", limit=1)
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")

    with pytest.raises(EmbeddingServiceError):
        world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    world.embedder.fail_with = None
    look_again(world)
    assert world.texts("lighthouse keeper", limit=1) == old


def test_an_index_that_lost_chunks_is_not_switched_to(world: World) -> None:
    fill(world)
    tenant = world.app.operate.reindex.begin(TENANT, smaller_chunks(world))
    assert tenant is not None
    assert tenant.building is not None
    part = tenant.part_of(tenant.building)
    count = world.index.count

    def one_too_few(ref: object, deadline: object) -> int:
        found = count(ref, deadline)
        return found - 1 if ref == part else found

    world.index.count = one_too_few

    with pytest.raises(DatabaseError, match="chunks"):
        world.app.operate.reindex.run(TENANT, smaller_chunks(world))
    assert tenant_of(world).active.name == tenant.active.name


def test_two_different_reindexes_of_one_tenant_are_refused(world: World) -> None:
    fill(world, 1)
    world.app.operate.reindex.begin(TENANT, smaller_chunks(world))

    with pytest.raises(ConflictError, match="under way"):
        world.app.operate.reindex.begin(TENANT, replace(smaller_chunks(world), chunking=ChunkingPlan(128, 0, 128, 0)))

    assert world.app.operate.reindex.abort(TENANT) == 0
    assert tenant_of(world).building is None


def test_a_large_tenant_gets_a_routing_value_for_each_so_many_chunks(world: World) -> None:
    fill(world)
    chunks = tenant_of(world).chunks
    world.app.operate.reindex.route_chunks = chunks // 2

    world.app.operate.reindex.run(TENANT, smaller_chunks(world))

    assert tenant_of(world).active.routes in {2, 3}
