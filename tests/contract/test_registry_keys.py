"""What every Registry does with keys, and with what operators set of a tenant."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import ApiKey, RateLimits, StoredSettings, key_hash
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import indexed, new_tenant_name, tenant_of, tombstoned


def new_key(tenant: str, created_at: str = "2026-01-01T00:00:00Z") -> ApiKey:
    return ApiKey(
        key_hash(uuid4().hex), tenant, "writer", ("team",), created_at=created_at, lifetime_s=3_600, label="sync"
    )


def test_keys_of_a_tenant_are_listed_by_the_time_they_were_made(registry: Registry, tenant: str) -> None:
    newer, older = new_key(tenant, "2026-02-01T00:00:00Z"), new_key(tenant)
    for key in (newer, older, new_key(new_tenant_name()), newer):
        registry.put_api_key(key)

    assert registry.api_keys(tenant) == [older, newer]
    assert registry.api_keys(new_tenant_name()) == []


def test_a_revoked_key_stays_revoked_and_is_still_listed(registry: Registry, tenant: str) -> None:
    key = new_key(tenant)
    registry.put_api_key(key)

    assert registry.revoke_api_key(key.sha256) is True
    assert registry.expire_api_key(key.sha256, 1_800_000_000.5) is True
    assert registry.api_key(key.sha256) == replace(key, revoked=True, expires_at_s=1_800_000_000.5)
    assert registry.api_keys(tenant) == [registry.api_key(key.sha256)]


def test_a_key_that_is_not_there_is_neither_revoked_nor_made_to_expire(registry: Registry) -> None:
    unknown = key_hash(uuid4().hex)

    assert registry.revoke_api_key(unknown) is False
    assert registry.expire_api_key(unknown, 1.0) is False
    assert registry.api_key(unknown) is None


def test_a_tenant_is_disabled_and_enabled_and_nothing_else_of_it_changes(registry: Registry, tenant: str) -> None:
    made = replace(tenant_of(tenant), documents=3, vaults=("team",))
    registry.create_tenant(made)

    assert registry.set_enabled(tenant, enabled=False) is True
    assert registry.tenant(tenant) == replace(made, enabled=False)
    assert registry.set_enabled(tenant, enabled=True) is True
    assert registry.tenant(tenant) == made


def test_limits_of_requests_are_stored_and_taken_away(registry: Registry, tenant: str) -> None:
    made = tenant_of(tenant)
    registry.create_tenant(made)

    assert registry.set_rates(tenant, RateLimits(600, 60)) is True
    assert registry.tenant(tenant) == replace(made, rates=RateLimits(600, 60))
    assert registry.set_rates(tenant, RateLimits(key_per_minute=5)) is True
    assert registry.tenant(tenant) == replace(made, rates=RateLimits(None, 5))
    assert registry.set_rates(tenant, RateLimits()) is True
    assert registry.tenant(tenant) == made


def test_a_tenant_can_be_made_with_limits(registry: Registry, tenant: str) -> None:
    made = replace(tenant_of(tenant), rates=RateLimits(10))
    registry.create_tenant(made)

    assert registry.tenant(tenant) == made


def test_an_unknown_tenant_is_neither_switched_nor_bounded(registry: Registry, tenant: str) -> None:
    assert registry.set_enabled(tenant, enabled=False) is False
    assert registry.set_rates(tenant, RateLimits(1)) is False
    assert registry.tenant(tenant) is None


def test_a_forgotten_tenant_leaves_neither_keys_settings_folders_nor_pointers(registry: Registry, tenant: str) -> None:
    other = new_tenant_name()
    for name in (tenant, other):
        registry.create_tenant(tenant_of(name))
        registry.put_api_key(new_key(name))
        registry.keep_settings(name, "team", StoredSettings({"max_results": 3}, 1))
        registry.note_folder(name, "team/a")
    [key] = registry.api_keys(tenant)

    assert registry.forget_tenant(tenant) == 5  # key, settings, their count, folders, the tenant itself

    assert registry.tenant(tenant) is None
    assert tenant not in [each.name for each in registry.tenants()]
    assert registry.api_key(key.sha256) is None
    assert registry.api_keys(tenant) == []
    assert registry.folders(tenant) == frozenset()
    assert registry.promoted(tenant, Deadline.after(5)) == []
    assert registry.tenant(other) is not None
    assert len(registry.api_keys(other)) == 1
    assert registry.forget_tenant(tenant) == 0


def test_a_tenant_that_comes_again_has_nothing_of_the_one_before(registry: Registry, tenant: str) -> None:
    registry.create_tenant(tenant_of(tenant))
    registry.keep_settings(tenant, "", StoredSettings({"max_results": 3}, 1))
    key = DocumentKey(tenant, "team", "a.md")
    indexed(registry, key)
    tombstoned(registry, key)
    registry.forget_document(key)
    registry.forget_tenant(tenant)

    registry.create_tenant(tenant_of(tenant))

    assert registry.tenant(tenant) == tenant_of(tenant)
    assert registry.page(tenant, vault=None, prefix="", status=None, cursor=None, limit=5).heads == []
