"""Snapshots are written when a tenant changed, by increments, within bounds, and hold nothing that was purged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.ports.snapshots import snapshot_name
from testing.memory_registry import MemoryRegistry
from tests.snapshot_world import Snapshots
from tests.world import World


@pytest.fixture
def world(tmp_path: Path) -> Snapshots:
    made = Snapshots(tmp_path)
    made.put("team/pump.md", "# Pumps\n\nThe pump is red.\n")
    made.put("team/valve.md", "# Valves\n\nThe valve is blue.\n")
    return made


def test_a_change_is_an_increment_and_the_object_is_replaced(world: Snapshots) -> None:
    first = world.write()
    world.put("team/pump.md", "The pump is green now.")
    world.delete("team/valve.md")
    world.put("team/lamp.md", "The lamp is new.")

    second = world.write()

    assert (first.anew, first.added, first.removed) == (True, 2, 0)
    assert (second.anew, second.added, second.removed) == (False, 2, 2)
    assert (second.snapshot.documents, second.snapshot.coverage) == (2, 1.0)
    assert [entry.key for entry in world.state.entries("snapshots/")] == [snapshot_name(world.tenant)]
    world.cut()
    assert sorted(world.paths("pump lamp valve colour")) == ["lamp.md", "pump.md"]


def test_a_full_one_begins_anew(world: Snapshots) -> None:
    world.write()

    again = world.write(anew=True)

    assert (again.anew, again.added) == (True, 2)


def test_it_is_due_when_the_tenant_changed(world: Snapshots) -> None:
    def due() -> bool:
        tenant = world.registry.tenant(world.tenant)
        assert tenant is not None
        return world.app.operate.write_snapshot.is_due(tenant)

    assert due()
    world.write()
    assert not due()
    world.put("team/lamp.md", "The lamp is new.")
    assert due()


def test_the_sweep_writes_what_is_due_and_nothing_else(world: Snapshots) -> None:
    world.now_s += 1_000
    world.app.operate.sweep_tenants(Deadline.after(900))
    etag = world.state.head(snapshot_name(world.tenant))
    world.app.operate.sweep_tenants(Deadline.after(900))

    assert etag is not None
    assert world.state.head(snapshot_name(world.tenant)) == etag


def test_a_tenant_with_too_many_chunks_keeps_the_critical_the_important_and_the_latest(tmp_path: Path) -> None:
    world = Snapshots(tmp_path)
    world.put("team/old.md", "An old lamp.")
    world.now_s += 60
    world.put("team/rule.md", "---\npromotion_level: critical\n---\n\nA critical lamp.\n")
    world.put("team/note.md", "---\npromotion_level: important\n---\n\nAn important lamp.\n")
    world.now_s += 60
    world.put("team/new.md", "A new lamp.")

    written = world.bounded(chunks=3)(world.tenant, Deadline.after(600))

    assert (written.snapshot.documents, written.snapshot.coverage) == (3, 0.75)
    world.cut()
    found = world.search("lamp", limit=20, include_critical=False)
    assert sorted(document.key.path for document in found.documents) == ["new.md", "note.md", "rule.md"]
    assert found.snapshot_coverage == 0.75
    assert "the snapshot holds 75% of the chunks" in found.warnings


def test_a_file_that_would_be_too_large_leaves_the_last_ones_out(tmp_path: Path) -> None:
    world = Snapshots(tmp_path)
    for number in range(8):
        world.now_s += 60
        world.put(f"team/{number}.md", f"Lamp {number}. " + "Words about it. " * 200)
    whole = world.write().snapshot

    written = world.bounded(size_bytes=whole.size_bytes * 3 // 4)(world.tenant, Deadline.after(600), anew=True)

    assert 0 < written.snapshot.documents < 8
    assert written.snapshot.size_bytes <= whole.size_bytes
    world.cut()
    assert "7.md" in world.paths("lamp", limit=20)
    assert "0.md" not in world.paths("lamp", limit=20)


def test_when_the_time_is_over_the_next_run_goes_on(world: Snapshots) -> None:
    first = world.write(left_s=10.0)

    assert (first.added, first.snapshot.finished) == (0, False)
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    assert world.app.operate.write_snapshot.is_due(tenant)
    assert world.write().added == 2


def test_a_purged_document_is_in_no_snapshot(world: Snapshots) -> None:
    world.write()
    world.cut()
    world.paths("pump")
    held = world.app.ports.snapshot_folder / world.tenant
    assert len(list(held.iterdir())) == 1

    purged = world.app.documents.purge_documents(world.caller, world.key("team/pump.md"), Deadline.after(10))
    world.now_s += 61

    assert purged.snapshots == 1
    assert world.state.head(snapshot_name(world.tenant)) is None
    assert world.search("pump").fallback_level == 3
    assert list(held.iterdir()) == []


class BuryWhilePublishing(MemoryRegistry):
    """A registry that buries a document when the heads are read for the first time after `armed`."""

    armed: World | None = None

    def heads(self, *args: Any, **named: Any) -> Any:
        if self.armed:
            world, self.armed = self.armed, None
            world.app.documents.purge_documents(world.caller, world.key("team/pump.md"), Deadline.after(10))
        return super().heads(*args, **named)


def test_a_document_purged_while_the_snapshot_is_written_is_not_left_in_it(tmp_path: Path) -> None:
    registry = BuryWhilePublishing()
    world = Snapshots(tmp_path, registry=registry)
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    registry.armed = world

    written = world.write()

    assert written.snapshot.documents == 1
    world.cut()
    assert world.paths("pump valve") == ["valve.md"]


def test_a_damaged_object_is_not_searched_and_the_next_snapshot_is_made_anew(world: Snapshots) -> None:
    world.write()
    name = snapshot_name(world.tenant)
    stored, body = world.state.head(name), world.state.get(name)
    assert stored is not None
    assert body is not None
    world.state.put(name, body[:-9] + b"xxxxxxxxx", media_type="x", metadata=stored.metadata)
    world.cut()

    assert world.search("pump").fallback_level == 3
    world.cut_off.error = None
    assert world.write().anew
    world.cut()
    assert world.search("pump").fallback_level == 2
