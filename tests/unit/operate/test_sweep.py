"""The sweep: what differs between bucket, registry and index is looked at again; nothing is removed by mistake."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import InvalidParamsError
from ragdrop.operate.sweep import SweepReport
from ragdrop.ports.message_queue import Change
from ragdrop.ports.object_store import ListedObject
from ragdrop.ports.registry import Claim
from testing.memory_object_store import MemoryObjectStore
from tests.world import TENANT, World

DAY_S = 86_400


class HalfBlind(MemoryObjectStore):
    """A bucket whose listing leaves out what it is told to; every other answer is right."""

    def __init__(self) -> None:
        super().__init__()
        self.unlisted: set[str] = set()

    def entries(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        return (each for each in super().entries(prefix, start_after=start_after) if each.key not in self.unlisted)


def sweep(world: World, *, left_s: float = 600, later_s: float = 1_000, **options: Any) -> SweepReport:
    world.now_s += later_s
    return world.app.operate.sweep(TENANT, Deadline.after(left_s), **options)


def settle(world: World) -> None:
    """Let ingest look at all that was sent."""
    sent, world.queue.sent = world.queue.sent, []
    for key in sent:
        assert world.deliver(world.message(Change(key))) == []


def filled(count: int, **parts: Any) -> World:
    world = World(**parts)
    for number in range(count):
        world.put(f"team/{number:03}.md", f"Text {number}.")
    return world


def test_what_agrees_is_left_alone() -> None:
    world = filled(3)

    report = sweep(world)

    assert (report.objects, report.vaults, report.finished) == (3, 1, True)
    assert set(report.found.values()) == {0}
    assert world.queue.sent == []
    assert report.corrected == {"documents": 0, "chunks": 0}


def test_lost_events_of_a_put_an_overwrite_and_a_delete_are_repaired(world: World) -> None:
    world.put("team/changed.md", "Old.")
    world.put("team/gone.md", "Gone.")
    world.put("team/new.md", "New.", ingest=False)
    world.put("team/changed.md", "Changed.", ingest=False)
    world.delete("team/gone.md", ingest=False)

    report = sweep(world)
    settle(world)

    assert report.found == {"new": 1, "changed": 1, "gone": 1, "stuck": 0}
    assert sorted(world.texts("new changed gone")) == ["Changed.", "New."]


def test_a_lost_event_of_a_sidecar_is_repaired(world: World) -> None:
    world.put("team/a.md", "Words.")
    world.put("team/a.md-neighbour.md", "Others.")
    world.put("team/a.md.metadata.json", '{"title": "Beside"}', ingest=False)

    assert sweep(world).found["changed"] == 1
    settle(world)
    assert world.head("team/a.md").title == "Beside"


def test_a_document_whose_message_was_lost_midway_is_rechecked(world: World) -> None:
    world.put("team/a.md", "Words.", ingest=False)
    head = world.registry.claim(world.key("team/a.md"), None, _claim(world, "team/a.md"))
    assert head is not None

    assert sweep(world).found["stuck"] == 1
    settle(world)
    assert world.texts("words") == ["Words."]


def _claim(world: World, path: str) -> Any:
    stored = world.documents.head(world.key(path).s3_key)
    assert stored is not None
    return Claim(stored.version_id, None, "lost", world.now_s + 360, None, world.now_s)


def test_a_recorded_failure_is_no_difference(world: World) -> None:
    world.put("team/empty.md", "")

    assert world.head("team/empty.md").status == "failed"
    assert set(sweep(world).found.values()) == {0}


def test_a_change_of_the_last_quarter_of_an_hour_is_left_for_the_next_sweep(world: World) -> None:
    world.documents.modified_at = "2027-01-15T08:00:00Z"  # the world's own time
    world.put("team/a.md", "New.", ingest=False)

    first, second = sweep(world, later_s=600), sweep(world, later_s=600)

    assert (first.recent, first.found["new"]) == (1, 0)
    assert second.found["new"] == 1


def test_with_its_document_items_gone_a_sweep_brings_the_registry_back_whole() -> None:
    world = filled(5)
    world.put("other/b.md", "Elsewhere.")
    for path in (*(f"team/{number:03}.md" for number in range(5)), "other/b.md"):
        world.registry.forget_document(world.key(path))
    assert world.texts("text elsewhere") == []

    assert sweep(world).found["new"] == 6
    settle(world)
    sweep(world)

    assert len(world.texts("text elsewhere", limit=20)) == 6
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert (tenant.documents, tenant.chunks) == (6, world.chunk_count())


def test_a_listing_that_misses_half_of_a_vault_makes_the_sweep_refuse_loudly(caplog: pytest.LogCaptureFixture) -> None:
    bucket = HalfBlind()
    world = filled(100, documents=bucket)
    bucket.unlisted = {f"{TENANT}/team/{number:03}.md" for number in range(50)}

    with caplog.at_level(logging.ERROR):
        report = sweep(world)

    assert [(each.vault, each.gone, each.known) for each in report.refused] == [("team", 50, 100)]
    assert world.queue.sent == []
    assert "refused" in caplog.text


def test_with_leave_a_mass_delete_is_reported_and_ingest_asks_the_bucket_itself() -> None:
    bucket = HalfBlind()
    world = filled(100, documents=bucket)
    bucket.unlisted = {f"{TENANT}/team/{number:03}.md" for number in range(50)}

    report = sweep(world, allow_mass_delete=True)
    settle(world)

    assert (report.refused, report.found["gone"]) == ([], 50)
    assert world.registry.page(TENANT, vault=None, prefix="", status=None, cursor=None, limit=200).heads[99]


def test_losses_of_several_sweeps_in_a_day_count_together() -> None:
    world = filled(100)
    for number in range(15):
        world.documents.delete(f"{TENANT}/team/{number:03}.md")
    assert sweep(world).refused == []
    settle(world)
    for number in range(15, 30):
        world.documents.delete(f"{TENANT}/team/{number:03}.md")

    [refusal] = sweep(world).refused

    assert (refusal.gone, refusal.known) == (30, 100)
    assert sweep(world, later_s=DAY_S).refused == []


def test_another_vault_is_swept_although_one_is_refused() -> None:
    world = filled(30)
    world.put("zoo/new.md", "New.", ingest=False)
    for number in range(25):
        world.documents.delete(f"{TENANT}/team/{number:03}.md")

    report = sweep(world)

    assert len(report.refused) == 1
    assert world.queue.sent == [f"{TENANT}/zoo/new.md"]


def test_a_dry_run_reports_all_and_changes_nothing(world: World) -> None:
    world.put("team/a.md", "Words.")
    world.put("team/b.md", "New.", ingest=False)
    world.registry.add_to_tenant(TENANT, vault="team", documents=7, chunks=7)
    _leave_an_orphan(world, "team/a.md")
    before = (world.chunk_count(), world.registry.tenant(TENANT), len(world.state.keys()))

    report = sweep(world, dry_run=True, later_s=2 * DAY_S)

    assert (report.found["new"], report.names["new"], report.orphans) == (1, ["team/b.md"], 1)
    assert report.corrected == {"documents": -7, "chunks": -7}
    assert world.queue.sent == []
    assert before == (world.chunk_count(), world.registry.tenant(TENANT), len(world.state.keys()))


def test_counters_that_are_wrong_are_corrected() -> None:
    world = filled(4)
    world.registry.add_to_tenant(TENANT, vault="team", documents=-2, chunks=11)

    assert sweep(world).corrected == {"documents": 2, "chunks": -11}
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    assert (tenant.documents, tenant.chunks) == (4, 4)


def _leave_an_orphan(world: World, path: str) -> None:
    """Chunks of a revision that was claimed, written and lost, as after a crash before the clean-up."""
    before = world.head(path)
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    part = tenant.index
    held = world.index._stored(part)
    orphans = [replace(each, revision=before.revision - 1) for each in held if each.key == before.key]
    world.index.upsert(part, orphans, Deadline.after(10))


def test_orphans_are_removed_once_they_are_a_day_old_and_what_is_live_stays(world: World) -> None:
    world.put("team/a.md", "Words.")
    _leave_an_orphan(world, "team/a.md")

    assert sweep(world).orphans == 0
    report = sweep(world, later_s=DAY_S)

    assert (report.orphans, report.orphan_chunks) == (1, 1)
    assert world.chunk_count() == 1
    assert world.texts("words") == ["Words."]


def test_chunks_of_a_revision_still_being_written_are_no_orphans(world: World) -> None:
    world.put("team/a.md", "Words.")
    head = world.registry.claim(world.key("team/a.md"), world.head("team/a.md"), _claim(world, "team/a.md"))
    assert head is not None
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    [chunk] = world.index._stored(tenant.index)
    world.index.upsert(tenant.index, [replace(chunk, revision=head.revision)], Deadline.after(10))

    sweep(world, later_s=2 * DAY_S)

    assert world.chunk_count() == 2


def test_a_sweep_that_was_cut_off_continues_behind_the_last_vault(world: World) -> None:
    for vault in ("aa", "bb", "cc"):
        for number in range(3):
            world.put(f"{vault}/{number}.md", "Words.")
    reads = iter([600.0] * 7)
    first = world.app.operate.sweep(TENANT, _Waning(reads))
    world.put("bb/new.md", "New.", ingest=False)
    world.put("cc/new.md", "New.", ingest=False)
    world.registry.calls.clear()

    second = sweep(world)

    assert (first.finished, first.vaults) == (False, 2)
    assert (second.finished, second.vaults, second.names["new"]) == (True, 1, ["cc/new.md"])
    assert sweep(world).names["new"] == ["bb/new.md", "cc/new.md"]
    assert second.corrected == {"documents": 0, "chunks": 0}


class _Waning(Deadline):
    """A deadline with these seconds left, reading by reading, then none."""

    def __init__(self, left_s: Iterator[float]) -> None:
        super().__init__(0.0)
        self._left_s = left_s

    def remaining_s(self) -> float:
        return next(self._left_s, 0.0)


def test_an_unknown_tenant_is_refused(world: World) -> None:
    with pytest.raises(InvalidParamsError):
        world.app.operate.sweep("nobody", Deadline.after(60))
