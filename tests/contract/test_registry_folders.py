"""What every Registry does with the folders of a tenant."""

from __future__ import annotations

from ragdrop.ports.registry import MAX_FOLDERS, Registry
from tests.contract.registry_examples import new_tenant_name


def test_folders_are_noted_once_and_a_tenant_knows_its_own_only(registry: Registry) -> None:
    tenant, other = new_tenant_name(), new_tenant_name()
    for folder in ("team/a", "team/b", "team/a"):
        registry.note_folder(tenant, folder)

    assert registry.folders(tenant) == {"team/a", "team/b"}
    assert registry.folders(other) == frozenset()


def test_beyond_the_bound_no_folder_is_noted(registry: Registry) -> None:
    tenant = new_tenant_name()
    for number in range(MAX_FOLDERS + 2):
        registry.note_folder(tenant, f"team/{number}")

    assert len(registry.folders(tenant)) == MAX_FOLDERS
