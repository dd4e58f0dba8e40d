"""Tags of objects say who may read: from the first revision on, after each change, and never wider than the rules."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Status
from ragdrop.domain.tenants import Caller
from ragdrop.errors import ObjectStoreError
from testing.memory_object_store import MemoryObjectStore
from tests.world import World

HR, ENG = (Caller("acme", "reader", credential="k1", groups=(group,)) for group in ("hr", "eng"))


class UntaggedStore(MemoryObjectStore):
    """A bucket whose tags cannot be read while `refuses` is set; before each reading it calls `before`."""

    refuses: ObjectStoreError | None = None
    before: Callable[[], object] | None = None

    def tags(self, key: str, *, version_id: str | None = None) -> object:  # type: ignore[override]
        if self.before is not None:
            self.before()
        if self.refuses is not None:
            raise self.refuses
        return super().tags(key, version_id=version_id)


@pytest.fixture
def world() -> World:
    return World(documents=UntaggedStore("documents"))


def put(world: World, path: str, text: str, **tags: str) -> None:
    """Put an object with tags, as a PutObject with `x-amz-tagging` does, and let its event arrive."""
    world.put(path, text, ingest=False)
    tag(world, path, **tags)


def tag(world: World, path: str, **tags: str) -> None:
    """Tag the current version and let the event arrive, which has no sequencer."""
    named = {name.replace("_", "-"): value for name, value in tags.items()}
    world.documents.tag(world.key(path).s3_key, named)
    world.changed(path)


def reads(world: World, caller: Caller, path: str) -> bool:
    return world.app.tenants.permissions.allows(caller, world.key(path), world.head(path))


def why(world: World, path: str) -> list[tuple[Sequence[str], str]]:
    """The needs of a document with what says so, as an admin sees them."""
    return list(world.app.documents.document_service.record(world.caller, world.key(path)).access or ())


def test_a_tagged_object_is_read_by_its_groups_from_its_first_revision_on(world: World) -> None:
    put(world, "team/pay.md", "The pump is paid.", ragdrop_access="hr board", team="a")

    assert (reads(world, HR, "team/pay.md"), reads(world, ENG, "team/pay.md")) == (True, False)
    assert why(world, "team/pay.md") == [(("board", "hr"), "tag")]
    tenant = world.registry.tenant("acme")
    assert tenant.restricted == ("team",)


def test_a_changed_tag_counts_at_once_and_indexes_nothing(world: World) -> None:
    put(world, "team/pay.md", "The pump is paid.", ragdrop_access="hr")
    revision, embedded = world.head("team/pay.md").revision, world.embedder.texts_embedded

    tag(world, "team/pay.md", ragdrop_access="eng")
    assert (reads(world, HR, "team/pay.md"), reads(world, ENG, "team/pay.md")) == (False, True)
    tag(world, "team/pay.md")

    assert reads(world, HR, "team/pay.md")
    assert (world.head("team/pay.md").revision, world.embedder.texts_embedded) == (revision, embedded)
    assert world.queue.sent == []


def test_a_tag_narrows_what_rules_and_file_allow_and_never_widens_it(world: World) -> None:
    world.put("team/.ragdrop.json", '{"access": [{"path": "hr/**", "groups": ["hr"], "widen": true}]}')
    put(world, "team/hr/a.md", "The pump.", ragdrop_access="eng")
    put(world, "team/b.md", "---\naccess: [hr]\n---\nThe pump.", ragdrop_access="eng")

    both = Caller("acme", "reader", credential="k2", groups=("eng", "hr"))
    for path in ("team/hr/a.md", "team/b.md"):
        assert [reads(world, each, path) for each in (HR, ENG, both)] == [False, False, True]


@pytest.mark.parametrize("value", ["", "a + b", "hr=+ -", "h" * 101])
def test_a_tag_that_is_no_list_of_groups_denies_and_says_so(world: World, value: str) -> None:
    put(world, "team/a.md", "The pump.", ragdrop_access=value)

    assert not reads(world, HR, "team/a.md")
    assert why(world, "team/a.md") == [((), "tag: not a list of groups")]


def test_tags_that_may_not_be_read_deny_until_they_are(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.put("team/a.md", "The pump.")
    world.documents.refuses = ObjectStoreError("403", service="object_store", retryable=False)
    with caplog.at_level(logging.WARNING):
        world.changed("team/a.md")
        world.put("team/b.md", "The pump.")

    assert [reads(world, HR, path) for path in ("team/a.md", "team/b.md")] == [False, False]
    assert why(world, "team/a.md") == why(world, "team/b.md") == [((), "tag: could not be read")]
    assert world.head("team/b.md").status is Status.INDEXED
    lines = [each.__dict__ for each in caplog.records if each.message.startswith("could not read tags")]
    assert {each["document"] for each in lines} == {world.key(f"team/{name}.md").digest for name in "ab"}
    assert ".md'" not in str(lines)

    world.documents.refuses = None
    world.changed("team/a.md")
    assert reads(world, HR, "team/a.md")


def test_a_version_that_is_removed_before_its_tags_are_read_hides_no_other(world: World) -> None:
    key = world.key("team/a.md")
    world.put("team/a.md", "The pump.")
    newest = world.documents.put(key.s3_key, b"The other pump.", media_type="text/markdown").version_id
    seen: list[bool] = []

    def undo() -> None:
        seen.append(reads(world, HR, "team/a.md"))
        world.documents.remove_version(key.s3_key, newest or "")

    world.documents.before = undo
    world.changed("team/a.md")

    assert (len(seen) > 1, all(seen)) == (True, True)


def test_doctor_names_vaults_with_documents_whose_tags_cannot_be_read(world: World) -> None:
    put(world, "team/a.md", "The pump.", ragdrop_access="hr")
    assert world.app.operate.examine.steps()["permissions"](Deadline.after(10)).grade == "ok"

    tag(world, "team/a.md", ragdrop_access="a + b")
    verdict = world.app.operate.examine.steps()["permissions"](Deadline.after(10))

    assert (verdict.grade, "acme/team: tags of 1 documents" in verdict.detail) == ("failed", True)
    assert "a.md" not in verdict.detail


def test_tags_of_a_bucket_that_does_not_answer_are_read_again_and_deny_at_the_last_receive(world: World) -> None:
    world.put("team/a.md", "The pump.")
    world.documents.refuses = ObjectStoreError("503", service="object_store")

    assert len(world.changed("team/a.md", receives=4)) == 1
    assert reads(world, HR, "team/a.md")
    assert world.changed("team/a.md", receives=5) == []

    assert not reads(world, HR, "team/a.md")


def test_a_new_version_has_the_tags_that_it_was_put_with_and_the_older_ones_hold_until_it_answers(world: World) -> None:
    put(world, "team/a.md", "The pump is red.", ragdrop_access="hr")
    world.put("team/a.md", "The pump is green.", ingest=False)
    world.embedder.fail_with = ObjectStoreError("down", service="embedding")
    world.changed("team/a.md")
    assert not reads(world, ENG, "team/a.md")

    world.embedder.fail_with = None
    world.changed("team/a.md")

    assert reads(world, ENG, "team/a.md")


def test_the_tag_of_a_version_in_a_stage_says_nothing_of_what_is_live(world: World) -> None:
    world.put("team/a.md", "The pump is red.")
    world.put("team/a.md", "The pump is green.", {"ragdrop-stage": "spring"}, ingest=False)
    tag(world, "team/a.md", ragdrop_access="hr")

    assert world.head("team/a.md").status is Status.STAGED
    assert reads(world, ENG, "team/a.md")
    stages = world.app.past.stages
    assert [len(stages.of(caller, "team")) for caller in (ENG, HR)] == [0, 1]


def test_a_deleted_document_keeps_its_tag_for_its_past_and_a_rollback_brings_it_back(world: World) -> None:
    put(world, "team/a.md", "The pump.", ragdrop_access="hr")
    version = world.head("team/a.md").live_version_id
    world.delete("team/a.md")
    assert not reads(world, ENG, "team/a.md")

    world.documents.copy_version(world.key("team/a.md").s3_key, version, metadata={})
    world.changed("team/a.md")

    assert (reads(world, HR, "team/a.md"), reads(world, ENG, "team/a.md")) == (True, False)


def test_a_retry_of_a_failed_document_keeps_its_tag(world: World) -> None:
    world.put("team/a.pdf", b"%PDF-1.7 and no more", ingest=False)
    tag(world, "team/a.pdf", ragdrop_access="hr")
    assert world.head("team/a.pdf").status is Status.FAILED

    world.app.documents.retry_documents(world.caller, world.key("team/a.pdf"))

    assert (reads(world, HR, "team/a.pdf"), reads(world, ENG, "team/a.pdf")) == (True, False)


def test_each_change_of_who_may_read_a_document_is_one_line_without_its_path(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.put("team/secret.md", "The pump is red.")
    with caplog.at_level(logging.WARNING):
        tag(world, "team/secret.md", ragdrop_access="hr")
        tag(world, "team/secret.md", ragdrop_access="hr")
        world.put("team/secret.md", "---\naccess: [board]\n---\nThe pump is green.")

    lines = [each.__dict__ for each in caplog.records if each.message == "who may read a document changed"]
    key = world.key("team/secret.md")
    assert [(each["by"], each["document"]) for each in lines] == [("tag", key.digest), ("file", key.digest)]
    assert not any(word in str(lines) for word in ("secret.md", "pump", "board", "'hr'"))


def test_the_settings_file_of_a_vault_has_no_tags(world: World) -> None:
    world.documents.calls.clear()
    world.put("team/.ragdrop.json", '{"max_results": 3}')

    assert "tags" not in world.documents.calls
