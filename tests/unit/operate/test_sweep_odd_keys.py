"""The sweep and keys that are no documents: names that cannot be, and settings files."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.operate.sweeping import SweepReport
from tests.world import TENANT, World


def sweep(world: World) -> SweepReport:
    world.now_s += 1_000
    return world.app.operate.sweep(TENANT, Deadline.after(600))


def test_keys_that_name_no_document_are_counted_and_not_sent(world: World) -> None:
    for key in ("UPPER/a.md", "team/a//b.md", "x"):
        world.documents.put(f"{TENANT}/{key}", b"x", media_type="text/plain")

    report = sweep(world)

    assert report.unusable == 3
    assert world.queue.sent == []


def test_a_lost_event_of_a_settings_file_is_made_up_for_once(world: World) -> None:
    for name in (".ragdrop.json", "team/.ragdrop.json"):
        world.put(name, '{"min_relevance": 0.5}', ingest=False)

    report = sweep(world)
    assert world.queue.sent == [f"{TENANT}/.ragdrop.json", f"{TENANT}/team/.ragdrop.json"]
    world.changed(".ragdrop.json", "team/.ragdrop.json")
    world.queue.sent.clear()
    sweep(world)

    assert world.queue.sent == []
    assert report.objects == 0  # they are no documents


def test_a_lost_delete_of_a_settings_file_is_made_up_for(world: World) -> None:
    world.put(".ragdrop.json", '{"min_relevance": 0.5}')
    world.delete(".ragdrop.json", ingest=False)

    sweep(world)

    assert world.queue.sent == [f"{TENANT}/.ragdrop.json"]


def test_settings_files_are_in_no_counter(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.put("team/.ragdrop.json", '{"min_relevance": 0.5}')

    report = sweep(world)

    assert report.corrected == {"documents": 0, "chunks": 0}
    assert world.search("alpha").total_indexed == 1
