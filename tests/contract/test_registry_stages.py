"""What every Registry does with stages: a revision waits beside the live one, and a promotion is one write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.documents import Head, Status
from ragdrop.domain.golden import GoldenOutcome, GoldenRun
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import (
    NOW_S,
    claim_of,
    claimed,
    detail_of,
    indexed,
    new_tenant_name,
    now,
    tenant_of,
    tombstoned,
)


@pytest.fixture
def key(registry: Registry) -> DocumentKey:
    name = new_tenant_name()
    registry.create_tenant(tenant_of(name))
    return DocumentKey(name, "team", "notes/größe + 1 😀.md")


def staged(registry: Registry, key: DocumentKey) -> Head:
    """The head after a claim for stage `spring` and its revision in it."""
    head = claimed(registry, key, replace(claim_of("v2"), stage="spring"))
    assert head.stage == "spring"
    assert registry.put_in_stage(replace(detail_of(key, head.revision), stage="spring"), NOW_S + 1) == head
    return now(registry, key)


def test_what_waits_changes_nothing_that_is_live(registry: Registry, key: DocumentKey) -> None:
    live = indexed(registry, key)
    head = staged(registry, key)

    assert (head.status, head.stage, head.live_revision) == (Status.STAGED, "spring", live.revision)
    assert head.revision == live.revision + 1
    assert (head.version_id, head.live_version_id, head.lease_until_s) == ("v2", "v1", 0.0)
    detail = registry.detail(key, head.revision)
    assert detail is not None
    assert detail.stage == "spring"
    page = registry.page(key.tenant, vault="team", prefix="", status=Status.STAGED, cursor=None, limit=10)
    assert page.heads == [head]
    assert registry.page(key.tenant, vault=None, prefix="", status=None, cursor=None, limit=10).heads == [head]
    assert len(registry.changes_of(key, before_revision=None, limit=10)) == 1


def test_repeated_it_is_no_loss_and_superseded_it_is_one(registry: Registry, key: DocumentKey) -> None:
    head = staged(registry, key)
    detail = replace(detail_of(key, head.revision), stage="spring")

    assert registry.put_in_stage(detail, NOW_S + 2) == head
    claimed(registry, key)
    assert registry.put_in_stage(detail, NOW_S + 3) is None


def test_what_waits_can_go_live(registry: Registry, key: DocumentKey) -> None:
    live = indexed(registry, key)
    head = staged(registry, key)

    before = registry.activate(detail_of(key, head.revision), NOW_S + 5)

    assert before == head
    after = now(registry, key)
    assert (after.status, after.stage, after.live_revision) == (Status.INDEXED, None, head.revision)
    newest = registry.changes_of(key, before_revision=None, limit=1)[0]
    assert (newest.before, newest.after, newest.version_id) == (live.revision, head.revision, "v2")


def test_a_claim_and_a_tombstone_take_it_out_of_its_stage(registry: Registry, key: DocumentKey) -> None:
    staged(registry, key)
    assert claimed(registry, key).stage is None

    staged(registry, key)
    assert (tombstoned(registry, key).status, now(registry, key).stage) == (Status.DELETED, None)


def test_a_stage_is_promoted_once_until_it_is_ended(registry: Registry, key: DocumentKey) -> None:
    assert registry.promote_stage(key.tenant, "team/spring", NOW_S)
    assert not registry.promote_stage(key.tenant, "team/spring", NOW_S + 5)

    found = registry.tenant(key.tenant)
    assert found is not None
    assert found.promoted == {"team/spring": NOW_S}
    registry.end_stage(key.tenant, "team/spring")
    registry.end_stage(key.tenant, "team/spring")
    found = registry.tenant(key.tenant)
    assert found is not None
    assert found.promoted == {}


def test_the_last_run_of_each_vaults_golden_questions_is_stored_until_the_tenant_goes(
    registry: Registry, key: DocumentKey
) -> None:
    asked = GoldenOutcome("Größe 😀?", "a.md", answered=False, dropped=True)
    run = GoldenRun("team", (asked, GoldenOutcome("Who?", "b.md", None)), NOW_S + 0.5, {"release": "1"})
    other = GoldenRun("side", not_measured="EMBEDDING_SERVICE_ERROR")
    for each in (GoldenRun("team"), run, other):
        registry.put_golden_run(key.tenant, each)

    assert registry.golden_runs(key.tenant) == {"team": run, "side": other}
    assert registry.golden_runs(new_tenant_name()) == {}
    assert registry.forget_tenant(key.tenant) == 3
    assert registry.golden_runs(key.tenant) == {}


def test_nothing_joins_a_stage_that_was_promoted(registry: Registry, key: DocumentKey) -> None:
    head = claimed(registry, key, replace(claim_of("v2"), stage="spring"))
    registry.promote_stage(key.tenant, "team/spring", NOW_S)

    with pytest.raises(DatabaseError, match="is being promoted"):
        registry.put_in_stage(replace(detail_of(key, head.revision), stage="spring"), NOW_S + 1)
    assert registry.head(key) == head


def test_no_claim_takes_back_what_was_promoted(registry: Registry, key: DocumentKey) -> None:
    head = staged(registry, key)
    registry.promote_stage(key.tenant, "team/spring", NOW_S + 2)

    assert registry.claim(key, head, claim_of("v3")) is None
    assert now(registry, key) == head

    registry.end_stage(key.tenant, "team/spring")
    assert registry.claim(key, head, claim_of("v3")) is not None
