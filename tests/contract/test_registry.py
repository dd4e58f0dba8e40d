"""What every Registry does with documents: claim, activate, fail, tombstone."""

from dataclasses import replace

import pytest

from ragdrop.domain.documents import Failure, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Checkpoint, Registry
from tests.contract.registry_examples import (
    FAILURE,
    NOW_S,
    claim_of,
    claimed,
    detail_of,
    indexed,
    later,
    new_tenant_name,
    now,
    tenant_of,
    tombstoned,
)


def test_a_document_that_never_was_has_neither_head_nor_detail(registry: Registry, key: DocumentKey) -> None:
    assert registry.head(key) is None
    assert registry.detail(key, 1) is None


def test_a_first_claim_counts_from_milliseconds_since_1970(registry: Registry, key: DocumentKey) -> None:
    head = registry.claim(key, None, claim_of("v7", sequencer="0A"))

    assert head is not None
    assert (head.key, head.revision, head.status) == (key, int(NOW_S * 1000), Status.PENDING)
    assert (head.version_id, head.sidecar_version_id, head.message_id) == ("v7", "side-1", "m1")
    assert (head.lease_until_s, head.sequencer, head.live_revision) == (NOW_S + 360.5, "0A", None)
    assert head.created_at == head.updated_at == "2025-10-09T08:53:20.250Z"
    assert registry.head(key) == head


def test_of_two_first_claims_one_wins(registry: Registry, key: DocumentKey) -> None:
    first = registry.claim(key, None, claim_of("v1", message_id="m1"))

    assert registry.claim(key, None, claim_of("v2", message_id="m2")) is None
    assert registry.head(key) == first


def test_a_claim_that_lost_the_race_changes_nothing(registry: Registry, key: DocumentKey) -> None:
    seen = claimed(registry, key)
    winner = registry.claim(key, seen, claim_of("v2", message_id="m2"))
    assert winner is not None

    assert registry.claim(key, seen, claim_of("v3", message_id="m3")) is None
    assert registry.head(key) == winner
    assert winner.revision == seen.revision + 1


def test_a_claim_repeated_word_for_word_is_no_loss(registry: Registry, key: DocumentKey) -> None:
    claim = claim_of("v2")

    assert registry.claim(key, None, claim) == registry.claim(key, None, claim)
    assert registry.claim(key, None, later(claim, 1)) is None


def test_a_claim_keeps_the_live_revision_and_its_facts(registry: Registry, key: DocumentKey) -> None:
    live = indexed(registry, key)

    head = claimed(registry, key, claim_of("v2", now_s=NOW_S + 9))

    assert (head.status, head.live_revision, head.live_version_id) == (Status.PENDING, live.revision, "v1")
    assert (head.title, head.doc_type, head.promotion_level, head.chunk_count) == ("Pumps", "problem", "critical", 3)
    assert (head.version_id, head.created_at) == ("v2", live.created_at)


def test_a_flip_of_the_revision_seen_does_not_make_a_claim_lose(registry: Registry, key: DocumentKey) -> None:
    seen = claimed(registry, key)
    registry.activate(detail_of(key, seen.revision), NOW_S)

    head = registry.claim(key, seen, claim_of("v2"))

    assert head is not None
    assert head.live_revision == seen.revision


def test_an_event_without_a_sequencer_keeps_the_one_known(registry: Registry, key: DocumentKey) -> None:
    claimed(registry, key, claim_of(sequencer="0055AE"))

    assert claimed(registry, key, claim_of(sequencer=None)).sequencer == "0055AE"
    assert tombstoned(registry, key).sequencer == "0055AE"


def test_a_lease_that_was_given_back_is_over(registry: Registry, key: DocumentKey) -> None:
    head = claimed(registry, key)

    registry.give_back(key, head.revision)

    assert now(registry, key).lease_until_s == 0.0
    assert now(registry, key).status is Status.PENDING


def test_a_lease_of_a_superseded_revision_cannot_be_given_back(registry: Registry, key: DocumentKey) -> None:
    old = claimed(registry, key)
    head = claimed(registry, key, claim_of("v2"))

    registry.give_back(key, old.revision)
    registry.give_back(DocumentKey(key.tenant, "team", "none.md"), 1)

    assert registry.head(key) == head


def test_a_flip_makes_the_revision_answer_and_reports_what_was_before(registry: Registry, key: DocumentKey) -> None:
    head = claimed(registry, key)
    detail = detail_of(key, head.revision)

    before = registry.activate(detail, NOW_S + 5)

    assert before == head
    after = now(registry, key)
    assert (after.status, after.live_revision, after.lease_until_s) == (Status.INDEXED, head.revision, 0.0)
    assert (after.live_version_id, after.live_sidecar_version_id) == ("v1", "side-1")
    assert (after.title, after.doc_type, after.promotion_level, after.chunk_count) == (
        "Pumps",
        "problem",
        "critical",
        3,
    )
    assert registry.detail(key, head.revision) == detail


def test_a_flip_of_a_claim_without_sidecar_has_none_live(registry: Registry, key: DocumentKey) -> None:
    claim = claim_of()
    without = type(claim)("v1", None, claim.message_id, claim.lease_until_s, None, claim.now_s)
    indexed(registry, key)
    head = claimed(registry, key, without)

    registry.activate(detail_of(key, head.revision), NOW_S)

    assert now(registry, key).live_sidecar_version_id is None


def test_a_flip_of_a_superseded_revision_is_refused_and_changes_nothing(registry: Registry, key: DocumentKey) -> None:
    old = claimed(registry, key)
    head = claimed(registry, key, claim_of("v2"))

    assert registry.activate(detail_of(key, old.revision), NOW_S) is None
    assert registry.head(key) == head


def test_a_flip_repeated_is_no_loss(registry: Registry, key: DocumentKey) -> None:
    head = indexed(registry, key)

    assert registry.activate(detail_of(key, head.revision), NOW_S + 1) == head
    assert registry.head(key) == head


def test_a_flip_of_what_was_never_claimed_is_refused(registry: Registry, key: DocumentKey) -> None:
    assert registry.activate(detail_of(key, 1), NOW_S) is None
    assert registry.head(key) is None


def test_a_flip_clears_the_error_of_the_revision_before(registry: Registry, key: DocumentKey) -> None:
    registry.fail(key, claimed(registry, key).revision, FAILURE, keep_live=False)

    assert indexed(registry, key).error is None


def test_a_long_title_is_cut_in_the_head_and_whole_in_the_detail(registry: Registry, key: DocumentKey) -> None:
    head = indexed(registry, key, title="ä" * 500)

    assert head.title == "ä" * 200
    detail = registry.detail(key, head.revision)
    assert detail is not None
    assert detail.facts.title == "ä" * 500


def test_a_tombstone_makes_a_running_revision_lose_its_flip(registry: Registry, key: DocumentKey) -> None:
    running = claimed(registry, key)
    dead = tombstoned(registry, key)

    assert registry.activate(detail_of(key, running.revision), NOW_S) is None
    assert registry.head(key) == dead
    assert (dead.status, dead.revision) == (Status.DELETED, running.revision + 1)


def test_a_tombstone_leaves_nothing_that_answers(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)

    dead = registry.tombstone(key, now(registry, key), "0B", NOW_S)

    assert dead is not None
    assert (dead.live_revision, dead.live_version_id, dead.live_sidecar_version_id) == (None, None, None)
    assert (dead.title, dead.doc_type, dead.promotion_level, dead.chunk_count) == (None, None, "standard", 0)
    assert (dead.version_id, dead.message_id, dead.sequencer) == (None, None, "0B")


@pytest.mark.parametrize("activates", [True, False])
def test_a_tombstone_of_a_head_that_changed_since_is_refused(
    registry: Registry, key: DocumentKey, *, activates: bool
) -> None:
    seen = claimed(registry, key)
    if activates:
        registry.activate(detail_of(key, seen.revision), NOW_S)
    else:
        claimed(registry, key, claim_of("v2"))
    head = registry.head(key)

    assert registry.tombstone(key, seen, None, NOW_S) is None
    assert registry.head(key) == head


def test_a_document_that_comes_back_after_its_tombstone_counts_on(registry: Registry, key: DocumentKey) -> None:
    indexed(registry, key)
    dead = tombstoned(registry, key)

    assert indexed(registry, key).revision == dead.revision + 1


@pytest.mark.parametrize("keep_live", [True, False])
def test_a_failure_withdraws_the_live_revision_unless_it_stays(
    registry: Registry, key: DocumentKey, *, keep_live: bool
) -> None:
    live = indexed(registry, key)
    head = claimed(registry, key, claim_of("v2"))

    before = registry.fail(key, head.revision, FAILURE, keep_live=keep_live)

    assert before == head
    after = now(registry, key)
    assert (after.status, after.error, after.lease_until_s) == (Status.FAILED, FAILURE, 0.0)
    assert (after.live_revision, after.title) == ((live.revision, "Pumps") if keep_live else (None, None))
    assert after.version_id == "v2"


def test_a_failure_of_a_superseded_revision_is_refused_and_changes_nothing(
    registry: Registry, key: DocumentKey
) -> None:
    old = claimed(registry, key)
    head = claimed(registry, key, claim_of("v2"))

    assert registry.fail(key, old.revision, FAILURE, keep_live=False) is None
    assert registry.head(key) == head


def test_a_failure_after_the_flip_is_refused(registry: Registry, key: DocumentKey) -> None:
    head = indexed(registry, key)

    assert registry.fail(key, head.revision, FAILURE, keep_live=False) is None
    assert registry.head(key) == head


def test_a_long_error_is_cut(registry: Registry, key: DocumentKey) -> None:
    registry.fail(
        key, claimed(registry, key).revision, Failure("TIMEOUT", "x" * 900, 5, "2026-01-01T00:00:00Z"), keep_live=True
    )

    assert now(registry, key).error == Failure("TIMEOUT", "x" * 200, 5, "2026-01-01T00:00:00Z")


def test_details_that_never_answered_are_forgotten_and_the_others_stay(registry: Registry, key: DocumentKey) -> None:
    first = indexed(registry, key).revision
    lost = claimed(registry, key).revision
    registry.begin(detail_of(key, lost), Checkpoint(3))
    third = indexed(registry, key).revision

    registry.forget(key, third)
    registry.forget(key, 0)

    assert registry.detail(key, first) is not None
    assert registry.detail(key, lost) is None
    assert registry.detail(key, third) is not None
    assert now(registry, key).live_revision == third


def test_of_two_moves_of_an_index_from_the_same_state_the_second_is_refused(registry: Registry) -> None:
    before = tenant_of(new_tenant_name())
    registry.create_tenant(before)
    next_one = replace(before.active, name=f"{before.active.name}-next")

    assert registry.move_indexes(before, active=before.active, building=next_one, previous=None)
    assert not registry.move_indexes(before, active=next_one, building=None, previous=before.active)

    found = registry.tenant(before.name)
    assert found is not None
    assert (found.active, found.building, found.previous, found.moves) == (before.active, next_one, None, 1)
