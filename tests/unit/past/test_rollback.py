"""Rollback: the versions of then come back as new ones, what was not there goes, and nothing is embedded."""

from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError, ObjectStoreError
from ragdrop.past.record import Rollback, WayBack
from tests.world import World


def tick(world: World) -> str:
    now = rfc3339(world.now_s, precision="milliseconds")
    world.now_s += 60.0
    return now


def back(world: World, to: str, **named: Any) -> Rollback:
    """Roll vault `team` back, and let the events arrive."""
    deadline = named.pop("deadline", None) or Deadline.after(60)
    caller = Caller(world.tenant, "writer", label="ops")
    found = world.app.past.roll_back(caller, "team", WayBack(to, **named), deadline)
    if not named.get("dry_run"):
        for step in found.steps:
            world.changed(step.key.vault_path)
    return found


def texts(world: World, text: str = "pump") -> dict[str, str]:
    found = world.search(text, limit=20)
    return {document.key.path: document.text for document in found.documents}


def actions(found: Rollback) -> dict[str, str]:
    return {step.key.path: step.action for step in found.steps}


def test_replaced_deleted_and_new_documents_are_as_they_were(world: World) -> None:
    world.put("team/replaced.md", "The pump is red.")
    world.put("team/deleted.md", "The pump holds 7 litres.")
    world.put("team/same.md", "The pump stands in the cellar.")
    before = texts(world)
    then = tick(world)
    world.put("team/replaced.md", "The pump is blue.")
    world.delete("team/deleted.md")
    world.put("team/new.md", "The pump is new.")
    tick(world)

    found = back(world, then)

    assert texts(world) == before
    assert actions(found) == {"replaced.md": "restore", "deleted.md": "restore", "new.md": "delete"}
    assert (found.documents, found.deletions, found.cursor) == (3, 1, None)


def test_nothing_is_embedded_again(world: World) -> None:
    world.put("team/pump.md", "# Pump\n\nThe pump is red.\n\n" + "More of it. " * 300)
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.put("team/gone.md", "The pump is green.")
    later = tick(world)
    world.delete("team/gone.md")
    tick(world)
    embedded = world.embedder.calls

    back(world, later)
    back(world, then)

    assert world.embedder.calls == embedded
    assert "red" in texts(world)["pump.md"]


def test_the_new_version_says_who_put_it_back_and_what_it_is_a_copy_of(world: World) -> None:
    first = world.put("team/pump.md", "The pump is red.", category="machines")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")

    found = back(world, then)

    stored = world.documents.head(world.key("team/pump.md").s3_key)
    assert stored is not None
    assert stored.metadata == {"category": "machines", "ragdrop-by": "ops", "ragdrop-restored-from": first}
    assert (found.steps[0].version_id, found.steps[0].new_version_id) == (first, stored.version_id)
    assert world.search("pump").documents[0].facts.category == "machines"
    newest = world.registry.changes_of(world.key("team/pump.md"), before_revision=None, limit=1)[0]
    assert newest.written_by == "ops"


def test_a_path_takes_back_that_document_alone(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md.txt", "The pump holds 7 litres.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.put("team/pump.md.txt", "The pump holds 9 litres.")
    tick(world)

    found = back(world, then, path="pump.md")

    assert actions(found) == {"pump.md": "restore"}
    assert texts(world) == {"pump.md": "The pump is red.", "pump.md.txt": "The pump holds 9 litres."}


def test_a_dry_run_says_what_would_be_done_and_does_nothing(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.put("team/new.md", "The pump is new.")
    before, calls = texts(world), len(world.documents.calls)

    found = back(world, then, dry_run=True)

    assert actions(found) == {"pump.md": "restore", "new.md": "delete"}
    assert texts(world) == before
    assert set(world.documents.calls[calls:]) <= {"head"}


def test_a_change_id_keeps_that_change(world: World) -> None:
    for colour in ("red", "blue", "green"):
        world.put("team/pump.md", f"The pump is {colour}.")
        tick(world)
    _, second, _ = world.registry.changes(world.tenant, "team", after="", limit=10)

    back(world, second.id)

    assert texts(world) == {"pump.md": "The pump is blue."}


def test_only_a_prefix_is_taken_back(world: World) -> None:
    for path in ("team/notes/a.md", "team/other/b.md"):
        world.put(path, "The pump is red.")
    then = tick(world)
    for path in ("team/notes/a.md", "team/other/b.md"):
        world.put(path, "The pump is blue.")

    back(world, then, prefix="notes/")

    assert texts(world) == {"notes/a.md": "The pump is red.", "other/b.md": "The pump is blue."}


def test_sidecars_come_back_too(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md.metadata.json", '{"category": "old"}')
    then = tick(world)
    world.put("team/pump.md.metadata.json", '{"category": "new"}')
    world.put("team/plain.md", "The pump is plain.")
    later = tick(world)
    world.put("team/plain.md.metadata.json", '{"category": "late"}')

    back(world, later)
    assert world.head("team/plain.md").live_sidecar_version_id is None
    back(world, then)

    assert [document.facts.category for document in world.search("pump").documents] == ["old"]


def test_it_can_be_rolled_back_itself(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    before = tick(world)
    back(world, then)
    tick(world)

    back(world, before)

    assert texts(world) == {"pump.md": "The pump is blue."}


def test_repeated_it_finds_everything_done(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.put("team/new.md", "The pump is new.")
    back(world, then)
    versions = world.documents.head(world.key("team/pump.md").s3_key)

    again = back(world, then)

    assert set(actions(again).values()) == {"done"}
    assert world.documents.head(world.key("team/pump.md").s3_key) == versions


def test_a_call_that_was_cut_off_continues(world: World) -> None:
    for number in range(20):
        world.put(f"team/{number:02d}.md", f"The pump has number {number}.")
    then = tick(world)
    for number in range(20):
        world.put(f"team/{number:02d}.md", "The pump has no number.")
    world.documents.fail_with = None
    copy, count = world.documents.copy_version, iter(range(100))

    def failing(*args: Any, **named: Any) -> Any:
        if next(count) == 10:
            raise ObjectStoreError("the bucket is down", service="object_store")
        return copy(*args, **named)

    world.documents.copy_version = failing
    with pytest.raises(ObjectStoreError):
        back(world, then)

    found = back(world, then)

    assert {"restore", "done"} == set(actions(found).values())
    assert sorted(texts(world).values())[0] == "The pump has number 0."
    assert len([text for text in texts(world).values() if "number" in text and "no number" not in text]) == 20


def test_a_long_one_comes_in_parts(world: World) -> None:
    then = tick(world)
    for number in range(12):
        world.put(f"team/{number:02d}.md", "The pump is red.")
    short = Deadline.after(5.0)

    first = back(world, then, deadline=short, allow_mass_delete=True)
    rest = back(world, then, cursor=first.cursor, allow_mass_delete=True)

    assert first.steps == []
    assert len(rest.steps) == 12
    assert texts(world) == {}


def test_so_many_deletions_are_refused_unless_they_are_allowed(world: World) -> None:
    then = tick(world)
    for number in range(21):
        world.put(f"team/{number}.md", "The pump is red.")

    with pytest.raises(InvalidParamsError, match="21 of 21 documents"):
        back(world, then)
    assert len(texts(world)) == 20
    assert back(world, then, allow_mass_delete=True).deletions == 21
    assert texts(world) == {}


def test_a_version_that_is_not_stored_any_more_is_reported(world: World) -> None:
    first = world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", "The pump is blue.")
    world.documents.remove_version(world.key("team/pump.md").s3_key, first)

    assert actions(back(world, then)) == {"pump.md": "lost"}
    assert texts(world) == {"pump.md": "The pump is blue."}


def test_a_failed_version_on_top_is_taken_back_too(world: World) -> None:
    world = World(settings={"KEEP_LAST_GOOD": "true"})
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)
    world.put("team/pump.md", b"\x00\x01 no text")
    assert world.head("team/pump.md").status.value == "failed"

    back(world, then)

    assert world.head("team/pump.md").status.value == "indexed"
    assert texts(world) == {"pump.md": "The pump is red."}


def test_another_vault_cannot_be_rolled_back(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    then = tick(world)

    with pytest.raises(InvalidParamsError, match="no vault named"):
        world.app.past.roll_back(Caller(world.tenant, "writer", ("side",)), "team", WayBack(then), Deadline.after(10))


@pytest.mark.parametrize("to", ["2020-01-01T00:00:00Z", "2090-01-01T00:00:00Z", "soon"])
def test_a_time_out_of_the_retention_is_refused(world: World, to: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        back(world, to)
    assert caught.value.details["field"] == "to"
