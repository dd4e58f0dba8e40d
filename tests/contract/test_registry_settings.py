"""What every Registry does with what settings files say."""

from __future__ import annotations

import pytest

from ragdrop.domain.documents import Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import StoredSettings
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import claim_of, new_tenant_name, tenant_of


@pytest.fixture
def name(registry: Registry) -> str:
    tenant = tenant_of(new_tenant_name())
    registry.create_tenant(tenant)
    return tenant.name


def stored(registry: Registry, name: str) -> dict[str, StoredSettings]:
    tenant = registry.tenant(name)
    assert tenant is not None
    return dict(tenant.settings)


def test_a_new_tenant_has_no_settings(registry: Registry, name: str) -> None:
    assert stored(registry, name) == {}


def test_settings_come_back_as_they_stood_in_the_file(registry: Registry, name: str) -> None:
    own = StoredSettings({"min_relevance": 1.0, "doc_types": ["tool", "ödland"], "keep_last_good": True}, 7, "v1")
    team = StoredSettings({"max_results": 3}, 2)

    assert registry.keep_settings(name, "", own)
    assert registry.keep_settings(name, "team-1", team)

    assert stored(registry, name) == {"": own, "team-1": team}
    assert isinstance(stored(registry, name)[""].values["min_relevance"], float)


def test_an_older_revision_never_replaces_a_newer_one_and_the_same_one_again_does(
    registry: Registry, name: str
) -> None:
    registry.keep_settings(name, "team", StoredSettings({"max_results": 3}, 5, "v5"))

    assert not registry.keep_settings(name, "team", StoredSettings({"max_results": 9}, 4, "v4"))
    assert registry.keep_settings(name, "team", StoredSettings({}, 5))

    assert stored(registry, name) == {"team": StoredSettings({}, 5)}


def test_settings_stay_when_counters_and_indexes_change(registry: Registry, name: str) -> None:
    registry.keep_settings(name, "", StoredSettings({"max_results": 3}, 1))

    registry.add_to_tenant(name, vault="team", documents=1, chunks=1)

    assert stored(registry, name) == {"": StoredSettings({"max_results": 3}, 1)}
    assert [tenant.settings for tenant in registry.tenants() if tenant.name == name] == [stored(registry, name)]


def test_the_head_of_a_tenants_own_settings_file_is_stored_and_listed_like_any(registry: Registry, name: str) -> None:
    key = DocumentKey.parse(f"{name}/.ragdrop.json")
    claimed = registry.claim(key, None, claim_of("v1"))

    assert claimed is not None
    found = registry.head(key)
    assert found is not None
    assert (found.key, found.status) == (key, Status.PENDING)


def test_a_read_that_may_be_a_moment_old_gives_the_tenant_with_its_settings(registry: Registry, name: str) -> None:
    registry.keep_settings(name, "team", StoredSettings({"max_results": 3}, 2))

    assert registry.tenant(name, consistent=False) == registry.tenant(name)
