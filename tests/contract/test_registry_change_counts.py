"""What every Registry counts: each change of what answers, with the change itself."""

from dataclasses import replace

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts, slot_of
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import StoredSettings
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import (
    FAILURE,
    NOW_S,
    claim_of,
    claimed,
    detail_of,
    indexed,
    now,
    tenant_of,
    tombstoned,
)


def counts(registry: Registry, key: DocumentKey) -> ChangeCounts:
    """The counts of the key's tenant."""
    return registry.change_counts(key.tenant, Deadline.after(30))


def test_a_tenant_without_a_change_has_no_counts(registry: Registry, key: DocumentKey) -> None:
    claimed(registry, key)

    assert counts(registry, key).stamp(key) == ("", 0)


def test_activations_and_deletions_are_counted_in_the_slot_of_their_document(
    registry: Registry, key: DocumentKey
) -> None:
    indexed(registry, key)
    first = counts(registry, key).stamp(key)
    indexed(registry, key)
    tombstoned(registry, key)

    begun, count = counts(registry, key).stamp(key)

    assert (begun, count, first[1]) == (first[0], 3, 1)
    assert dict(counts(registry, key).counts) == {slot_of(key): 3}


def test_what_changes_no_answer_is_not_counted(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    before = counts(registry, key)

    head = claimed(registry, key)
    registry.fail(key, head.revision, FAILURE, keep_live=True)

    assert counts(registry, key) == before


def test_a_failure_that_withdraws_what_was_live_is_counted(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    head = claimed(registry, key)

    registry.fail(key, head.revision, FAILURE, keep_live=False)

    assert counts(registry, key).stamp(key)[1] == 2


def test_a_step_that_lost_is_not_counted(registry: Registry, key: DocumentKey) -> None:
    head = claimed(registry, key)
    claimed(registry, key)

    assert registry.activate(detail_of(key, head.revision), NOW_S) is None
    assert counts(registry, key).stamp(key)[1] == 0


def test_documents_of_both_shards_are_counted_apart(registry: Registry, key: DocumentKey) -> None:
    keys = [DocumentKey(key.tenant, "team", f"{number}.md") for number in range(6)]
    for each in keys:
        indexed(registry, each)

    found = counts(registry, key)

    assert all(found.begun)
    assert sum(found.counts.values()) == len(keys)
    assert all(found.stamp(each)[1] for each in keys)


def test_a_tenant_that_is_forgotten_takes_its_counts_along(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    before = counts(registry, key).stamp(key)
    tombstoned(registry, key)
    registry.forget_document(key)

    registry.forget_tenant(key.tenant)
    assert counts(registry, key).stamp(key) == ("", 0)

    indexed(registry, key)
    assert counts(registry, key).stamp(key) != before


def test_a_change_of_a_settings_file_is_counted_with_it_and_an_older_one_is_not(
    registry: Registry, key: DocumentKey
) -> None:
    registry.create_tenant(tenant_of(key.tenant))
    before = counts(registry, key).of_settings

    registry.keep_settings(key.tenant, "team", StoredSettings({"max_results": 3}, 5))
    after = counts(registry, key).of_settings
    registry.keep_settings(key.tenant, "team", StoredSettings({"max_results": 4}, 4))
    indexed(registry, key)

    assert after != before
    assert counts(registry, key).of_settings == after
    assert counts(registry, key).stamp(key)[1] == 1


def test_a_head_keeps_who_may_read_it_after_its_deletion(registry: Registry, key: DocumentKey) -> None:
    for access in (("hr",), None, ()):
        head = claimed(registry, key)
        detail = detail_of(key, head.revision)
        registry.activate(replace(detail, facts=replace(detail.facts, access=access)), NOW_S)
        assert now(registry, key).access == access

    tombstoned(registry, key)
    assert now(registry, key).access == ()


def test_the_tag_of_a_version_is_live_with_it_and_stays_after_a_deletion(registry: Registry, key: DocumentKey) -> None:
    head = claimed(registry, key, replace(claim_of(), tag="board hr"))
    assert (head.tag, head.live_tag) == ("board hr", None)

    registry.activate(detail_of(key, head.revision), NOW_S)
    assert (now(registry, key).tag, now(registry, key).live_tag) == ("board hr", "board hr")

    claimed(registry, key, claim_of("v2"))
    assert (now(registry, key).tag, now(registry, key).live_tag) == ("", "board hr")
    tombstoned(registry, key)
    assert now(registry, key).live_tag == "board hr"


def test_a_changed_tag_is_counted_and_makes_no_revision(registry: Registry, key: DocumentKey) -> None:
    head = indexed(registry, key)
    before = counts(registry, key).stamp(key)[1]

    assert registry.retag(head, "v1", "hr")

    after = now(registry, key)
    assert (after.tag, after.live_tag, after.revision) == ("hr", "hr", head.revision)
    assert counts(registry, key).stamp(key)[1] == before + 1
    assert not registry.retag(replace(head, revision=head.revision - 1), "v1", "eng")
    assert now(registry, key) == after


def test_a_tag_of_the_claimed_version_leaves_that_of_the_live_one(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    head = claimed(registry, key, claim_of("v2"))

    assert registry.retag(head, "v2", "hr")
    assert (now(registry, key).tag, now(registry, key).live_tag) == ("hr", "")
    registry.activate(detail_of(key, head.revision), NOW_S)

    assert now(registry, key).live_tag == "hr"
    assert not registry.retag(head, "v2", "eng")


def test_a_changed_tag_is_counted_as_a_change_of_rules_too_whatever_the_shard(
    registry: Registry, key: DocumentKey
) -> None:
    heads = [indexed(registry, DocumentKey(key.tenant, "team", f"{number}.md")) for number in range(4)]
    before = counts(registry, key)

    assert all(registry.retag(head, "v1", "hr") for head in heads)

    after = counts(registry, key)
    assert after.settings == before.settings + len(heads)
    assert sum(after.counts.values()) == sum(before.counts.values()) + len(heads)
