"""What every Registry records of the past: each change of what answers, with the change itself."""

from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import first_id
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import (
    FAILURE,
    NOW_S,
    claim_of,
    claimed,
    detail_of,
    indexed,
    new_tenant_name,
    now,
    tombstoned,
)


def test_an_activation_is_recorded_with_what_answered_before(registry: Registry, key: DocumentKey) -> None:
    first = indexed(registry, key)
    second = claimed(registry, key, claim_of("v2"))
    registry.activate(replace(detail_of(key, second.revision), written_by="sync"), NOW_S + 1)

    newest, oldest = registry.changes_of(key, before_revision=None, limit=10)

    assert (oldest.kind, oldest.before, oldest.after, oldest.before_version_id) == (
        "activated",
        None,
        first.revision,
        None,
    )
    assert (newest.before, newest.after, newest.revision) == (first.revision, second.revision, second.revision)
    assert (newest.version_id, newest.before_version_id, newest.sidecar_version_id) == ("v2", "v1", "side-1")
    assert (newest.size_bytes, newest.written_by, newest.at_ms) == (99, "sync", round((NOW_S + 1) * 1_000))
    assert registry.changes(key.tenant, key.vault, after="", limit=10) == [oldest, newest]


def test_a_deletion_and_a_failure_are_recorded(registry: Registry, key: DocumentKey) -> None:
    live = indexed(registry, key)
    failing = claimed(registry, key, claim_of("v2"))
    registry.fail(key, failing.revision, FAILURE, keep_live=True)
    registry.tombstone(key, now(registry, key), None, NOW_S + 90_000_000, by="ops")

    deletion, failure, _ = registry.changes_of(key, before_revision=None, limit=10)

    assert (failure.kind, failure.before, failure.after) == ("failed", live.revision, live.revision)
    assert (deletion.kind, deletion.before, deletion.after) == ("deleted", live.revision, None)
    assert (deletion.before_version_id, deletion.version_id, deletion.written_by) == ("v1", None, "ops")
    assert registry.detail(key, deletion.revision) is None


def test_a_withdrawal_leaves_nothing(registry: Registry, key: DocumentKey) -> None:
    live = indexed(registry, key)
    registry.fail(key, claimed(registry, key).revision, FAILURE, keep_live=False)

    newest = registry.changes_of(key, before_revision=None, limit=1)[0]

    assert (newest.before, newest.after) == (live.revision, None)


def test_a_step_that_lost_is_not_recorded(registry: Registry, key: DocumentKey) -> None:
    old = claimed(registry, key)
    seen = now(registry, key)
    claimed(registry, key, claim_of("v2"))

    registry.activate(detail_of(key, old.revision), NOW_S)
    registry.fail(key, old.revision, FAILURE, keep_live=False)
    registry.tombstone(key, seen, None, NOW_S)

    assert registry.changes_of(key, before_revision=None, limit=10) == []
    assert registry.changes(key.tenant, key.vault, after="", limit=10) == []


def test_a_step_repeated_is_recorded_once(registry: Registry, key: DocumentKey) -> None:
    head = indexed(registry, key)
    registry.activate(detail_of(key, head.revision), NOW_S + 5)

    assert len(registry.changes_of(key, before_revision=None, limit=10)) == 1


def test_changes_of_a_document_never_go_back_in_time(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    later = claimed(registry, key, claim_of("v2", now_s=NOW_S + 60))
    registry.activate(detail_of(key, later.revision), NOW_S - 60)  # a clock that is behind

    newest, oldest = registry.changes_of(key, before_revision=None, limit=10)

    assert newest.at_ms >= oldest.at_ms
    assert newest.id > oldest.id


def test_changes_of_a_vault_are_read_behind_an_id_and_in_order(registry: Registry, key: DocumentKey) -> None:
    keys = [DocumentKey(key.tenant, vault, f"{n}.md") for vault in ("team", "side") for n in range(3)]
    for seconds, each in enumerate(keys):
        head = claimed(registry, each)
        registry.activate(detail_of(each, head.revision), NOW_S + seconds)

    first, second = registry.changes(key.tenant, "team", after="", limit=2)
    rest = registry.changes(key.tenant, "team", after=second.id, limit=10)

    assert [change.key.path for change in (first, second, *rest)] == ["0.md", "1.md", "2.md"]
    since = registry.changes(key.tenant, "team", after=first_id(round((NOW_S + 1) * 1_000)), limit=10)
    assert [change.key.path for change in since] == ["1.md", "2.md"]
    back = registry.changes(key.tenant, "team", after="", before="", limit=2)
    earlier = registry.changes(key.tenant, "team", after="", before=back[-1].id, limit=10)
    assert [change.key.path for change in (*back, *earlier)] == ["2.md", "1.md", "0.md"]
    assert registry.changes(key.tenant, "team", after=first.id, before=second.id, limit=10) == []
    assert registry.changes(key.tenant, "none", after="", limit=10) == []
    assert registry.changes(new_tenant_name(), "team", after="", limit=10) == []


def test_changes_of_a_document_are_read_below_a_revision(registry: Registry, key: DocumentKey) -> None:
    revisions = [indexed(registry, key).revision for _ in range(4)]

    found = registry.changes_of(key, before_revision=revisions[3], limit=2)

    assert [change.revision for change in found] == [revisions[2], revisions[1]]


def test_details_of_revisions_that_were_replaced_are_read_together(registry: Registry, key: DocumentKey) -> None:
    first = indexed(registry, key, title="First")
    second = indexed(registry, key, title="Second")
    dead = tombstoned(registry, key)

    found = registry.details([(key, head.revision) for head in (first, second, dead)], Deadline.after(10))

    assert sorted(detail.facts.title for detail in found) == ["First", "Second"]
    assert registry.details([], Deadline.after(10)) == []


def test_a_purge_forgets_every_change(registry: Registry, key: DocumentKey) -> None:
    other = DocumentKey(key.tenant, key.vault, "other.md")
    indexed(registry, key)
    indexed(registry, other)
    tombstoned(registry, key)

    registry.forget_document(key)

    assert registry.changes_of(key, before_revision=None, limit=10) == []
    assert [change.key for change in registry.changes(key.tenant, key.vault, after="", limit=10)] == [other]
