"""The sweep and keys that are no documents: names that cannot be, and settings files."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.operate.sweep import SweepReport
from ragdrop.ports.message_queue import Change
from tests.world import TENANT, World


def sweep(world: World) -> SweepReport:
    world.now_s += 1_000
    return world.app.operate.sweep(TENANT, Deadline.after(600))


def put(world: World, key: str, body: bytes = b"x") -> None:
    world.documents.put(f"{TENANT}/{key}", body, media_type="text/plain")


def test_keys_that_lie_in_no_vault_are_counted_and_named_and_not_sent(world: World) -> None:
    for key in ("UPPER/a.md", "x"):
        put(world, key)

    report = sweep(world)

    assert (report.unusable, report.unusable_names) == (2, ["UPPER/a.md", "x"])
    assert world.queue.sent == []


def test_an_odd_key_whose_event_was_lost_is_sent_once_and_named_by_every_sweep(world: World) -> None:
    put(world, "team/a//b.md")
    put(world, "team/a//b.md.metadata.json", b"{}")

    assert sweep(world).unusable_names == ["team/a//b.md"]
    assert world.queue.sent == [f"{TENANT}/team/a//b.md"]
    world.deliver(world.message(Change(world.queue.sent.pop())))
    assert sweep(world).unusable_names == ["team/a//b.md"]
    assert world.queue.sent == []


def test_folders_that_a_console_makes_are_no_keys_to_tell_of(world: World) -> None:
    for key in ("team/", "team/notes/"):
        put(world, key, b"")

    report = sweep(world)

    assert (report.unusable, world.queue.sent) == (0, [])


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
