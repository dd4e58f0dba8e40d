"""The sweep and keys that are no documents: names that cannot be, and settings files."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.sweep_report import Report
from tests.world import TENANT, World


def sweep(world: World) -> Report:
    world.now_s += 1_000
    return world.app.sweep(TENANT, Deadline.after(600))


def test_keys_that_name_no_document_are_counted_and_not_sent(world: World) -> None:
    for key in ("UPPER/a.md", "team/a//b.md", "x"):
        world.documents.put(f"{TENANT}/{key}", b"x", media_type="text/plain")

    report = sweep(world)

    assert report.unusable == 3
    assert world.queue.sent == []


def test_a_settings_file_of_today_is_looked_at_again_and_an_old_one_is_not(world: World) -> None:
    world.documents.put(f"{TENANT}/team/.ragdrop.json", b"{}", media_type="application/json")
    world.documents.modified_at = "2027-01-15T08:00:00Z"
    world.documents.put(f"{TENANT}/.ragdrop.json", b"{}", media_type="application/json")

    sweep(world)

    assert world.queue.sent == [f"{TENANT}/.ragdrop.json"]
