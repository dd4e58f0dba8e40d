"""Derived state: kept while a revision may answer and 30 days after, then removed by the sweep, some at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Head, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.operate.leftovers import DERIVED_AGE_S, DerivedRevision, RemovedDerived, RemoveDerived, expired
from tests.world import TENANT, World

DAY_S = 86_400.0
HEAD = Head(DocumentKey(TENANT, "team", "a.md"), Status.INDEXED, 3, live_revision=3, updated_at="1970-01-01T00:00:00Z")


@pytest.fixture
def world() -> World:
    made = World()
    tell_the_time(made)
    return made


def tell_the_time(world: World) -> None:
    """Let what is written from now on have the world's time."""
    world.state.modified_at = datetime.fromtimestamp(world.now_s, UTC).isoformat()


def later(world: World, days: float) -> None:
    world.now_s += days * DAY_S
    tell_the_time(world)


def remover(world: World, *, at_once: int = 100) -> RemoveDerived:
    return RemoveDerived(
        state=world.state,
        documents=world.documents,
        registry=world.registry,
        revisions=world.app.ports.revisions,
        age_s=DERIVED_AGE_S,
        clock=lambda: world.now_s,
        max_looked_at=at_once,
    )


def remove(world: World, *, after: str = "", dry_run: bool = False, at_once: int = 100) -> RemovedDerived:
    return remover(world, at_once=at_once)(TENANT, Deadline.after(600), after=after, dry_run=dry_run)


def stored(world: World) -> int:
    """Revisions of which something is in the state bucket."""
    names = [name for name in world.state.keys() if name.startswith("revisions/")]  # noqa: SIM118 - no dict
    return len({name.rsplit("/", 1)[0].removesuffix("/chunks") for name in names})


def test_what_is_live_is_stored_however_old_it_is(world: World) -> None:
    world.put("team/a.md", "alpha")
    later(world, 400)

    assert remove(world).revisions == 0
    assert stored(world) == 1


def test_a_replaced_revision_goes_30_days_after_it_was_replaced(world: World) -> None:
    world.put("team/a.md", "alpha one")
    later(world, 400)
    world.put("team/a.md", "alpha two")
    later(world, 29)
    assert remove(world).revisions == 0

    later(world, 1)
    removed = remove(world)

    assert (removed.revisions, stored(world)) == (1, 1)
    assert world.texts("alpha") == ["alpha two"]


def test_a_deleted_document_goes_30_days_after_its_delete(world: World) -> None:
    world.put("team/a.md", "alpha")
    later(world, 400)
    world.delete("team/a.md")
    later(world, 29)
    assert remove(world).revisions == 0

    later(world, 1)
    assert remove(world).revisions == 1
    assert stored(world) == 0


def test_a_document_restored_within_30_days_answers_again_and_embeds_nothing(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.delete("team/a.md")
    later(world, 29)
    remove(world)
    embedded = world.embedder.texts_embedded
    top = world.documents.newest(f"{TENANT}/team/a.md")
    assert top is not None
    world.documents.remove_version(f"{TENANT}/team/a.md", top[0])
    world.changed("team/a.md")

    assert world.embedder.texts_embedded == embedded
    assert world.texts("alpha") == ["alpha"]


def test_a_dry_run_counts_and_removes_nothing(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.delete("team/a.md")
    later(world, 30)

    found = remove(world, dry_run=True)

    assert (found.revisions, stored(world)) == (1, 1)
    assert found.objects == remove(world).objects > 0


def test_a_run_looks_at_some_documents_and_the_next_ones_go_on_behind_them(world: World) -> None:
    for number in range(5):
        world.put(f"team/{number}.md", f"note {number}")
        world.delete(f"team/{number}.md")
    later(world, 30)

    after, left = "", []
    for _ in range(3):
        after = remove(world, after=after, at_once=2).after
        left.append(stored(world))

    assert left == [3, 1, 0]
    assert after == ""


def test_the_sweep_removes_and_reports_what_expired(world: World) -> None:
    world.put("team/a.md", "alpha")
    world.delete("team/a.md")
    later(world, 30)

    report = world.app.operate.sweep(TENANT, Deadline.after(600))

    assert (report.expired, stored(world)) == (1, 0)
    assert report.expired_objects == 3


def test_a_revision_of_which_nobody_noted_the_document_is_left_alone(world: World) -> None:
    world.state.put(f"revisions/{TENANT}/digest/{1:016d}/text", b"x", media_type="text/plain")
    later(world, 400)

    assert remove(world).revisions == 0


def test_the_pending_revision_is_stored() -> None:
    head = replace(HEAD, status=Status.PENDING, revision=4)

    found = expired([DerivedRevision(number, 0.0, True) for number in (2, 3, 4)], head, now_s=100.0, age_s=50.0)

    assert [each.revision for each in found] == [2]


def test_an_attempt_that_was_never_whole_replaces_nothing() -> None:
    tries = [DerivedRevision(1, 0.0, True), DerivedRevision(2, 10.0, False), DerivedRevision(3, 90.0, True)]

    assert expired(tries, HEAD, now_s=100.0, age_s=50.0) == []
    assert [each.revision for each in expired(tries, HEAD, now_s=140.0, age_s=50.0)] == [1, 2]
