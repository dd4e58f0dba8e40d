"""Stages: indexed beside what is live, unseen, then live all at once or never."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Page, Status
from ragdrop.domain.history import STAGE
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, DocumentNotFoundError, InvalidParamsError
from ragdrop.ingest.reconcile_rules import SETTLE_S
from ragdrop.past.stages import Promotion
from tests.unit.past.test_as_of import made
from tests.world import World


@pytest.fixture(params=["memory", "bucket"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return made(request.param, tmp_path)


def stage(world: World, path: str, text: str, name: str = "spring") -> str:
    """Put a version that waits in a stage."""
    return world.put(path, text, {STAGE: name})


def texts(world: World, text: str = "pump", **fields: Any) -> dict[str, str]:
    """What a search finds by path; each question another one, so that none is answered from memory."""
    world.asked = getattr(world, "asked", 0) + 1  # type: ignore[attr-defined]
    found = world.search(f"{text} {world.asked}", limit=20, **fields)  # type: ignore[attr-defined]
    return {document.key.path: document.text for document in [*found.critical, *found.documents]}


def promote(world: World, name: str = "spring") -> Promotion:
    return world.app.past.stages.promote(world.caller, "team", name, Deadline.after(10))


def settled(world: World) -> None:
    """A minute later ingest hears of what waits, as the queue brings it."""
    world.now_s += SETTLE_S + 1
    keys, world.queue.sent = list(world.queue.sent), []
    world.app.tenants.directory.forget(world.tenant)
    for key in keys:
        assert world.changed(key.partition("/")[2]) == []


def test_what_waits_is_seen_by_nobody_but_those_who_name_the_stage(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    version = stage(world, "team/pump.md", "The pump is blue.")
    stage(world, "team/new.md", "The pump is new.")

    assert texts(world) == {"pump.md": "The pump is red."}
    assert texts(world, stage="spring") == {"pump.md": "The pump is blue.", "new.md": "The pump is new."}
    assert texts(world, stage="other") == texts(world)
    head = world.head("team/pump.md")
    assert (head.status, head.stage, head.version_id) == (Status.STAGED, "spring", version)
    found = world.search("pump", stage="spring").documents
    assert version in {document.facts.version_id for document in found}


def test_promoted_it_counts_for_every_search_at_once_and_goes_live_a_minute_later(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    stage(world, "team/new.md", "The pump is new.")
    calls = world.embedder.calls

    promoted = promote(world)

    assert promoted.documents == 2
    after = {"pump.md": "The pump is blue.", "new.md": "The pump is new."}
    assert texts(world) == after
    assert world.head("team/pump.md").status is Status.STAGED
    settled(world)
    assert world.head("team/pump.md").status is Status.INDEXED
    assert texts(world) == after
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    assert tenant.promoted == {}
    assert tenant.documents == 2
    assert world.embedder.texts_embedded >= calls


def test_no_answer_is_half_of_a_stage_while_it_goes_live(world: World) -> None:
    for number in range(6):
        world.put(f"team/{number}.md", f"The pump {number} is old.")
    for number in range(6):
        stage(world, f"team/{number}.md", f"The pump {number} is new.")
    assert {"old" in text for text in texts(world).values()} == {True}

    promote(world)
    world.now_s += SETTLE_S + 1
    world.app.tenants.directory.forget(world.tenant)
    for number in range(6):
        found = texts(world)
        assert len(found) == 6
        assert {"new" in text for text in found.values()} == {True}, number
        world.changed(f"team/{number}.md")
    assert {"new" in text for text in texts(world).values()} == {True}


def test_ingest_waits_until_every_environment_knows_of_the_promotion(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    promote(world)
    world.now_s += 10

    assert len(world.changed("team/pump.md")) == 1
    assert world.head("team/pump.md").status is Status.STAGED


def test_a_later_version_wins_over_what_waits(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    world.put("team/pump.md", "The pump is green.")

    assert texts(world) == texts(world, stage="spring") == {"pump.md": "The pump is green."}
    with pytest.raises(InvalidParamsError, match="nothing waits"):
        promote(world)


def test_a_deleted_document_waits_no_more(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    promote(world)
    world.delete("team/pump.md")

    assert texts(world) == {}


def test_a_version_put_after_the_promotion_waits_for_its_end(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    promote(world)

    world.put("team/late.md", "The pump is late.", {STAGE: "spring"}, ingest=False)
    assert len(world.changed("team/late.md")) == 1
    assert "late.md" not in texts(world)
    settled(world)
    world.changed("team/late.md")

    assert "late.md" not in texts(world)
    assert world.head("team/late.md").status is Status.STAGED


def test_no_promotion_ends_in_its_first_minute_though_the_list_of_what_waits_is_behind(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    promote(world)
    page = world.registry.page
    world.registry.page = lambda *_, **__: Page([], None)

    world.put("team/late.md", "The pump is late.", {STAGE: "spring"}, ingest=False)
    world.changed("team/late.md")
    world.registry.page = page
    settled(world)

    assert world.head("team/pump.md").status is Status.INDEXED


def test_what_joined_while_a_stage_was_promoted_goes_live_with_the_next_promotion(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    promoted_at_s = world.now_s
    promote_stage = world.registry.promote_stage

    def joined_meanwhile(tenant: str, name: str, _now_s: float) -> bool:
        world.now_s += 1
        stage(world, "team/late.md", "The pump is late.")
        return promote_stage(tenant, name, promoted_at_s)

    world.registry.promote_stage = joined_meanwhile
    promote(world)
    world.registry.promote_stage = promote_stage
    settled(world)
    assert "late.md" not in texts(world)

    promote(world)
    settled(world)

    assert texts(world) == {"pump.md": "The pump is blue.", "late.md": "The pump is late."}


def test_a_promoted_document_is_read_as_searches_show_it(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    key = DocumentKey(world.tenant, "team", "pump.md")
    before = world.app.documents.document_service.text(world.caller, key)
    promote(world)

    assert (before.strip(), world.app.documents.document_service.text(world.caller, key).strip()) == (
        "The pump is red.",
        "The pump is blue.",
    )


def test_who_may_not_read_a_promoted_version_reads_neither(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "---\naccess: [board]\n---\nThe pump is blue.")
    key = DocumentKey(world.tenant, "team", "pump.md")
    reader = Caller(world.tenant, "reader", groups=("crew",))
    assert "red" in world.app.documents.document_service.text(reader, key)
    promote(world)

    with pytest.raises(DocumentNotFoundError):
        world.app.documents.document_service.text(reader, key)


def test_who_has_not_heard_of_a_promotions_end_lets_nothing_in_that_joined_later(world: World) -> None:
    stage(world, "team/pump.md", "The pump is blue.")
    promote(world)
    settled(world)
    promotion_s = world.now_s - SETTLE_S - 1
    stage(world, "team/late.md", "The pump is late.")
    tenant = world.app.tenants.directory.tenant(world.tenant, fresh=True)
    assert tenant is not None
    tenant.promoted["team/spring"] = promotion_s  # type: ignore[index]  # what an older reading of the item says

    assert "late.md" not in texts(world)
    assert world.changed("team/late.md") == []
    assert world.head("team/late.md").status is Status.STAGED


def test_discarded_versions_go_and_what_was_live_stays(world: World) -> None:
    first = world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")
    stage(world, "team/new.md", "The pump is new.")
    calls = world.embedder.calls

    assert world.app.past.stages.discard(world.caller, "team", "spring") == 2
    settled(world)

    assert texts(world) == texts(world, stage="spring") == {"pump.md": "The pump is red."}
    current = world.documents.head(world.key("team/pump.md").s3_key)
    assert current is not None
    assert current.version_id == first
    assert world.documents.head(world.key("team/new.md").s3_key) is None
    assert world.head("team/pump.md").status is Status.INDEXED
    assert world.embedder.calls == calls + 2  # of the two questions


def test_stages_of_a_vault_are_listed(world: World) -> None:
    stage(world, "team/a.md", "The pump is blue.")
    stage(world, "team/b.md", "The pump is blue too.", "autumn")

    found = world.app.past.stages.of(world.caller, "team")

    assert [(each.name, len(each.waiting), each.pending, each.promoted) for each in found] == [
        ("autumn", 1, 0, False),
        ("spring", 1, 0, False),
    ]


GOLDEN = {
    "admission": {
        "questions": [
            {"question": "colour of the pump", "text": "pump is red"},
            {"question": "litres of the pump", "document": "litres.md"},
        ],
        "gate": 1.0,
    }
}


def guarded(world: World) -> None:
    """A vault with documents, then with golden questions."""
    world.put("team/pump.md", "The colour: the pump is red.")
    world.put("team/litres.md", "The pump holds 7 litres.")
    world.put("team/.ragdrop.json", json.dumps(GOLDEN))
    assert world.head("team/.ragdrop.json").error is None


def test_a_vault_with_golden_questions_lets_a_file_wait(world: World) -> None:
    guarded(world)

    world.put("team/new.md", "The pump is new.")

    assert "new.md" not in texts(world)
    assert (world.head("team/new.md").status, world.head("team/new.md").stage) == (Status.STAGED, "waiting")
    listed = world.app.documents.document_service.page(
        world.caller, vault="team", prefix="", status=Status.STAGED, cursor=None, limit=10
    )
    assert [head.key.path for head in listed.heads] == ["new.md"]


def test_a_stage_that_breaks_golden_questions_is_refused_and_says_which(world: World) -> None:
    guarded(world)
    world.put("team/pump.md", "The colour: the pump is blue.")

    with pytest.raises(ConflictError, match="1 of 2 golden questions") as caught:
        promote(world, "waiting")

    assert caught.value.details["failed"] == [
        {"question": "colour of the pump", "expected": "pump is red", "live": True}
    ]
    assert texts(world)["pump.md"].endswith("red.")


def test_a_stage_that_passes_is_promoted(world: World) -> None:
    guarded(world)
    world.put("team/more.md", "The tap drips.")

    promoted = promote(world, "waiting")

    assert [check.staged for check in promoted.checks] == [True, True]
    assert "more.md" in texts(world, "tap drips")


def test_a_purge_removes_what_waits(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    stage(world, "team/pump.md", "The pump is blue.")

    world.app.documents.purge_documents(world.caller, world.key("team/pump.md"), Deadline.after(10))

    assert texts(world, stage="spring") == {}
    assert [name for name in world.state.keys() if name.startswith(("revisions/", "texts/"))] == []  # noqa: SIM118
    assert world.registry.head(world.key("team/pump.md")) is None


def test_a_stage_of_another_vault_can_be_neither_seen_nor_promoted(world: World) -> None:
    stage(world, "team/pump.md", "The pump is blue.")
    scoped = Caller(world.tenant, "admin", ("side",))

    for work in (world.app.past.stages.of, lambda who, vault: world.app.past.stages.discard(who, vault, "spring")):
        with pytest.raises(InvalidParamsError, match="no vault named"):
            work(scoped, "team")


def test_critical_documents_and_links_are_those_of_the_stage(world: World) -> None:
    world.put("team/book.md", "# Book\n\nSee [[Guide]].")
    stage(world, "team/guide.md", "---\npromotion_level: critical\n---\n# Guide\n\nTurn the wheel.")

    assert world.search("book").critical == []
    assert [document.key.path for document in world.search("book", stage="spring").critical] == ["guide.md"]
