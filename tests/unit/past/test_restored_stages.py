"""What waits in a stage, or was promoted, before the registry is lost, is so after a restore."""

from __future__ import annotations

import json

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.history import STAGE
from ragdrop.errors import DatabaseError, EmbeddingServiceError
from ragdrop.ingest.reconcile_rules import SETTLE_S
from ragdrop.ports.registry import Claim
from tests.unit.operate.test_restore import GOLDEN, ingest, restore, texts, without_registry
from tests.world import World


def promote(world: World, name: str, *, settled: bool = True) -> None:
    world.app.past.stages.promote(world.caller, "team", name, Deadline.after(10))
    if settled:
        world.now_s += SETTLE_S + 1
        ingest(world)(0)


def test_a_stage_waits_again_and_the_version_under_it_answers() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})
    world.put("team/pump.md", "The pump is green.", {STAGE: "spring"})
    world.put("team/new.md", "The pump is new.", {STAGE: "spring"})

    left = without_registry(world)
    report = restore(left)

    assert texts(left) == {"team/pump.md": "The pump is red."}
    assert texts(left, stage="spring") == {"team/pump.md": "The pump is green.", "team/new.md": "The pump is new."}
    assert (report.indexed, report.staged) == (0, 2)
    promote(left, "spring")
    assert texts(left, "pump again") == {"team/pump.md": "The pump is green.", "team/new.md": "The pump is new."}


@pytest.mark.parametrize("settled", [True, False])
def test_what_was_promoted_is_live_even_before_ingest_made_it_so(settled: bool) -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})
    promote(world, "spring", settled=settled)
    world.put("team/pump.md", "The pump is green.", {STAGE: "autumn"})

    left = without_registry(world)
    restore(left)

    assert texts(left) == {"team/pump.md": "The pump is blue."}
    assert texts(left, stage="autumn") == {"team/pump.md": "The pump is green."}


def test_nothing_under_a_waiting_version_answers_that_was_deleted_in_between() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    world.delete("team/pump.md")
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})

    left = without_registry(world)
    restore(left)

    assert texts(left) == {}
    assert left.head("team/pump.md").status is Status.STAGED


def test_the_version_under_a_staged_one_has_the_sidecar_of_its_time() -> None:
    world = World()
    sidecar = "team/pump.md.metadata.json"
    world.documents.modified_at = "2026-01-01T00:00:00Z"
    first = world.put(sidecar, json.dumps({"title": "Old"}), ingest=False)
    world.put("team/pump.md", "The pump is red.")
    world.documents.modified_at = "2026-02-01T00:00:00Z"
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})
    world.documents.modified_at = "2026-03-01T00:00:00Z"
    second = world.put(sidecar, json.dumps({"title": "New"}), ingest=False)
    world.changed("team/pump.md")

    left = without_registry(world)
    restore(left)

    before, after = world.head("team/pump.md"), left.head("team/pump.md")
    assert (before.live_sidecar_version_id, before.sidecar_version_id) == (first, second)
    assert (after.live_sidecar_version_id, after.sidecar_version_id) == (first, second)


def guarded() -> World:
    """A vault with a document, then golden questions, then one version that waits and one that was promoted."""
    world = World()
    world.documents.modified_at = "2026-01-01T00:00:00Z"
    world.put("team/pump.md", "The colour: the pump is red.")
    world.documents.modified_at = "2026-02-01T00:00:00Z"
    world.put("team/.ragdrop.json", json.dumps(GOLDEN))
    world.documents.modified_at = "2026-03-01T00:00:00Z"
    world.put("team/more.md", "The pump drips.")
    promote(world, "waiting")
    world.put("team/pump.md", "The colour: the pump is blue.")
    return world


def test_a_vault_with_golden_questions_lets_nothing_in_that_had_to_wait() -> None:
    world = guarded()
    before = texts(world)
    assert before == {"team/pump.md": "The colour: the pump is red.", "team/more.md": "The pump drips."}

    left = without_registry(world)
    report = restore(left)

    assert texts(left) == before
    assert report.staged == 1


def test_golden_questions_that_were_changed_go_on_since_they_began() -> None:
    world = guarded()
    world.documents.modified_at = "2026-04-01T00:00:00Z"
    world.put("team/.ragdrop.json", json.dumps({"admission": {**GOLDEN["admission"], "gate": 0.5}}))

    left = without_registry(world)

    assert restore(left).staged == 1


def test_golden_questions_that_were_taken_away_hold_nothing_back() -> None:
    world = guarded()
    world.delete("team/.ragdrop.json")
    world.changed("team/pump.md")

    left = without_registry(world)
    restore(left)

    assert texts(left)["team/pump.md"] == "The colour: the pump is blue."


def test_while_a_version_under_a_staged_one_is_at_work_the_message_comes_again() -> None:
    world = World()
    version = world.put("team/pump.md", "The pump is red.", ingest=False)
    claim = Claim(version, None, "first", world.now_s + 60, None, world.now_s)
    world.registry.claim(world.key("team/pump.md"), None, claim)
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"}, ingest=False)

    assert len(world.changed("team/pump.md", message_id="second")) == 1


def test_a_staged_version_that_is_tried_again_does_not_begin_with_a_failed_one_below() -> None:
    world = World()
    world.put("team/pump.md", " ")
    world.embedder.fail_with = EmbeddingServiceError("away", service="embedding")
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"}, ingest=False)
    assert len(world.changed("team/pump.md", message_id="second")) == 1

    world.embedder.fail_with = None
    assert world.changed("team/pump.md", message_id="second", receives=2) == []

    assert world.head("team/pump.md").status is Status.STAGED


def test_a_purge_leaves_no_name_in_the_record() -> None:
    world = World()
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})
    promote(world, "spring")
    record = ".admitted/acme/team.json"
    assert b"pump.md" in (world.documents.get(record) or b"")

    world.app.documents.purge_documents(world.caller, world.key("team/pump.md"), Deadline.after(10))

    assert b"pump.md" not in (world.documents.get(record) or b"")


def test_a_promotion_whose_record_cannot_be_written_does_not_happen() -> None:
    world = World()
    world.put("team/pump.md", "The pump is blue.", {STAGE: "spring"})
    world.documents.fail_with = DatabaseError("S3 is away", service="object_store")

    with pytest.raises(DatabaseError):
        world.app.past.stages.promote(world.caller, "team", "spring", Deadline.after(10))

    assert texts(world) == {}
