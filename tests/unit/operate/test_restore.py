"""Restore: with the document bucket alone everything answers as before; what waited waits, what was deleted is gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ConflictError, InvalidParamsError
from ragdrop.operate.restore import RestoreReport
from ragdrop.ports.message_queue import Change
from tests.unit.past.test_as_of import made
from tests.world import TENANT, World

GOLDEN = {"admission": {"questions": [{"question": "colour of the pump", "text": "pump is red"}], "gate": 1.0}}


def without_registry(world: World, *, with_state: bool = True) -> World:
    """What is left of *world* once its registry and its index are lost, and perhaps its state bucket."""
    kept = {"documents": world.documents} | ({"state": world.state} if with_state else {})
    left = World("elsewhere", **kept)
    left.tenant, left.caller, left.now_s = world.tenant, Caller(world.tenant, "admin"), world.now_s + 3_600
    return left


def ingest(world: World) -> Callable[[float], None]:
    """Lets ingest look at all that was sent while a restore waits."""

    def wait(seconds: float) -> None:
        world.now_s += seconds
        sent, world.queue.sent = world.queue.sent, []
        for key in sent:
            world.deliver(world.message(Change(key)))
        for delivery in world.handed_over():
            world.deliver(delivery)

    return wait


def restore(world: World, *, name: str = TENANT, wait: Callable[[float], None] | None = None) -> RestoreReport:
    return world.app.operate.restore(name, lambda _done, _of: None, wait=wait or ingest(world))


def texts(world: World, text: str = "pump", **fields: Any) -> dict[str, str]:
    """What a search finds by path."""
    world.app.tenants.directory.forget(world.tenant)
    found = world.search(text, limit=20, **fields)
    return {document.key.vault_path: document.text for document in [*found.critical, *found.documents]}


def test_documents_come_back_without_the_registry_and_nothing_is_embedded_again() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    world.put("team/tap.md", "The tap drips beside the pump.")
    before = texts(world)

    left = without_registry(world)
    report = restore(left)

    assert left.embedder.texts_embedded == 0
    assert texts(left) == before
    assert (report.created, report.indexed, report.embedded, report.reused) == (True, 2, 0, 2)
    assert report.keys == 0


def test_documents_come_back_without_the_state_bucket_too_and_are_embedded_again() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    before = texts(world)

    left = without_registry(world, with_state=False)
    report = restore(left)

    assert texts(left) == before
    assert (report.indexed, report.embedded, report.reused) == (1, 1, 0)


def test_a_tenant_that_was_reindexed_finds_its_vectors_under_the_name_of_that_index(tmp_path: Path) -> None:
    world = made("bucket", tmp_path / "before")
    world.put("team/pump.md", "The pump is red.")
    reindex = world.app.operate.reindex
    reindex.run(TENANT, world.app.ports.settings.seed_index(), again=True)
    reindex.drop_previous(TENANT)
    world.app.tenants.directory.forget(TENANT)
    world.put("team/tap.md", "The tap drips.")

    left = without_registry(world)
    report = restore(left)
    again = left.app.operate.reindex.run(TENANT, left.app.ports.settings.seed_index(), again=True)

    assert (report.embedded, report.reused) == (0, 2)
    assert again is not None
    assert again.to_index != again.from_index


def test_vectors_of_old_documents_survive_a_sweep_that_comes_before_ingest() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")  # state and documents are of a year before the world's own time
    left = without_registry(world)

    def late(seconds: float) -> None:
        left.app.operate.sweep(TENANT, Deadline.after(600))
        ingest(left)(seconds)

    assert restore(left, wait=late).reused == 1


def test_what_was_deleted_or_rolled_back_stays_so() -> None:
    world = World()
    world.put("team/gone.md", "The pump is gone.")
    world.delete("team/gone.md")
    first = world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md", "The pump is blue.")
    world.documents.copy_version(world.key("team/pump.md").s3_key, first, metadata={})
    world.changed("team/pump.md")

    left = without_registry(world)
    report = restore(left)

    assert texts(left) == {"team/pump.md": "The pump is red."}
    assert (report.indexed, report.deleted) == (1, 1)


def test_settings_are_in_force_before_documents_and_the_last_valid_file_is() -> None:
    world = World()
    world.put("team/.ragdrop.json", json.dumps(GOLDEN))
    world.put("team/.ragdrop.json", "{not json")

    left = without_registry(world)
    report = restore(left)

    tenant = left.registry.tenant(TENANT)
    assert tenant is not None
    assert tenant.settings_of("team")["golden_questions"]
    assert dict(report.failed) == {"INVALID_SETTINGS": 1}
    assert left.head("team/.ragdrop.json").status is Status.FAILED


def test_where_a_vault_keeps_the_last_good_version_it_answers_under_one_that_fails() -> None:
    world = World(settings={"KEEP_LAST_GOOD": "true"})
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md", " ")

    left = without_registry(world)
    left = World("elsewhere", documents=left.documents, state=left.state, settings={"KEEP_LAST_GOOD": "true"})
    left.tenant, left.caller = TENANT, Caller(TENANT, "admin")
    report = restore(left)

    assert texts(left) == {"team/pump.md": "The pump is red."}
    assert dict(report.failed) == {"EMPTY_DOCUMENT": 1}


def test_a_restore_that_was_killed_continues() -> None:
    world = World()
    for number in range(5):
        world.put(f"team/{number}.md", f"The pump has number {number}.")
    left = without_registry(world)

    def killed(seconds: float) -> None:
        left.queue.sent = left.queue.sent[:2]
        ingest(left)(seconds)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        restore(left, wait=killed)
    report = restore(left)

    assert (report.created, report.indexed) == (False, 5)
    assert restore(left).indexed == 5


def test_one_killed_before_the_settings_were_known_creates_the_tenant_once_more() -> None:
    world = World()
    world.put("team/.ragdrop.json", json.dumps(GOLDEN))
    left = without_registry(world)
    left.app.operate.operator.create_tenant(TENANT, enabled=False)

    assert restore(left).created


def test_messages_that_were_lost_are_sent_again() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    left = without_registry(world)
    waits = 0

    def forgetful(seconds: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 1:
            left.queue.sent = []
        ingest(left)(seconds)

    assert restore(left, wait=forgetful).indexed == 1


def test_a_tenant_that_an_operator_disabled_is_not_touched() -> None:
    world = World()
    world.put("team/pump.md", "The pump is red.")
    world.registry.set_enabled(TENANT, enabled=False)

    with pytest.raises(ConflictError, match="is disabled"):
        restore(world)


def test_a_name_that_the_bucket_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidParamsError, match="no documents of a tenant"):
        restore(World(), name="nobody")


def test_the_bucket_names_its_tenants() -> None:
    world = World()
    world.put("team/.ragdrop.json", json.dumps(GOLDEN))
    world.documents.put("loose.txt", b"x", media_type="text/plain")

    assert world.app.operate.restore.names() == [TENANT]


def test_what_is_gone_from_the_bucket_in_great_number_is_refused() -> None:
    world = World()
    for number in range(30):
        world.put(f"team/{number}.md", f"Text {number}.")
    for number in range(25):
        world.documents.purge(world.key(f"team/{number}.md").s3_key)

    with pytest.raises(ConflictError, match="25 documents of vault team are not in the bucket"):
        restore(world)
