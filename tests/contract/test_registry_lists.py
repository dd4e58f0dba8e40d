"""What every Registry does with many documents at once, and with tenants and keys."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Page, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import ApiKey
from ragdrop.errors import InvalidParamsError
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import FAILURE, claimed, indexed, new_tenant_name, now, tenant_of, tombstoned


def page(
    registry: Registry,
    tenant: str,
    *,
    vault: str | None = None,
    prefix: str = "",
    status: Status | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page:
    return registry.page(tenant, vault=vault, prefix=prefix, status=status, cursor=cursor, limit=limit)


def paths(found: Page) -> list[str]:
    return [head.key.vault_path for head in found.heads]


def fill(registry: Registry, tenant: str, *names: str) -> None:
    for name in names:
        vault, path = name.split("/", 1)
        claimed(registry, DocumentKey(tenant, vault, path))


def test_a_list_is_in_order_of_vault_and_path_over_all_statuses(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/b.md", "team/a/z.md", "team/a.md", "ops/ü.md", "ops/z.md")
    indexed(registry, DocumentKey(tenant, "team", "c.md"))
    key = DocumentKey(tenant, "ops", "broken.md")
    registry.fail(key, claimed(registry, key).revision, FAILURE, keep_live=False)

    found = page(registry, tenant)

    assert paths(found) == [
        "ops/broken.md",
        "ops/z.md",
        "ops/ü.md",
        "team/a.md",
        "team/a/z.md",
        "team/b.md",
        "team/c.md",
    ]
    assert found.cursor is None
    assert found.heads[0].error == FAILURE


def test_a_list_leaves_out_the_deleted_unless_they_are_asked_for(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md", "team/b.md")
    tombstoned(registry, DocumentKey(tenant, "team", "a.md"))

    assert paths(page(registry, tenant)) == ["team/b.md"]
    assert paths(page(registry, tenant, status=Status.DELETED)) == ["team/a.md"]


def test_a_list_by_status_holds_that_status_only(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md")
    indexed(registry, DocumentKey(tenant, "team", "b.md"))

    assert paths(page(registry, tenant, status=Status.PENDING)) == ["team/a.md"]
    assert paths(page(registry, tenant, status=Status.INDEXED)) == ["team/b.md"]
    assert paths(page(registry, tenant, status=Status.FAILED)) == []


def test_a_list_of_a_vault_does_not_hold_its_namesakes(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md", "team-b/a.md", "tea/a.md")

    assert paths(page(registry, tenant, vault="team")) == ["team/a.md"]
    assert paths(page(registry, tenant, vault="none")) == []


def test_a_prefix_holds_within_the_vault_or_within_every_vault(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "ops/notes/a.md", "ops/x.md", "team/a.md", "team/notes/b.md", "team/notesx.md")

    assert paths(page(registry, tenant, vault="team", prefix="notes/")) == ["team/notes/b.md"]
    assert paths(page(registry, tenant, prefix="notes/")) == ["ops/notes/a.md", "team/notes/b.md"]


def test_pages_hold_every_document_once(registry: Registry, tenant: str) -> None:
    names = [f"{vault}/{number:02d}.md" for vault in ("ops", "team") for number in range(9)]
    fill(registry, tenant, *names)
    for number in range(0, 9, 2):
        indexed(registry, DocumentKey(tenant, "ops", f"{number:02d}.md"))
    seen: list[str] = []
    cursor = None
    for _ in range(9):
        found = page(registry, tenant, cursor=cursor, limit=4)
        seen += paths(found)
        cursor = found.cursor
        if cursor is None:
            break

    assert seen == names


def test_a_full_last_page_has_no_cursor(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md", "team/b.md")

    assert page(registry, tenant, limit=2).cursor is None
    assert page(registry, tenant, limit=1).cursor is not None


def test_a_cursor_continues_where_its_document_was_though_it_is_gone(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md", "team/b.md", "team/c.md")
    cursor = page(registry, tenant, vault="team", prefix="", limit=2).cursor
    tombstoned(registry, DocumentKey(tenant, "team", "b.md"))

    assert paths(page(registry, tenant, vault="team", prefix="", cursor=cursor)) == ["team/c.md"]


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "no cursor", "ü", "e30", "bnVsbA", "MTI", base64.urlsafe_b64encode(b'{"after":"a","of":"b"}').decode()],
)
def test_a_cursor_that_was_never_given_out_is_refused(registry: Registry, tenant: str, cursor: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        page(registry, tenant, cursor=cursor)
    assert caught.value.details["field"] == "cursor"


def test_a_cursor_of_another_tenant_or_filter_is_refused(registry: Registry, tenant: str) -> None:
    fill(registry, tenant, "team/a.md", "team/b.md")
    cursor = page(registry, tenant, limit=1).cursor
    assert cursor is not None

    with pytest.raises(InvalidParamsError):
        page(registry, new_tenant_name(), cursor=cursor)
    with pytest.raises(InvalidParamsError):
        page(registry, tenant, vault="team", cursor=cursor)


def test_a_list_never_holds_another_tenants_documents(registry: Registry, tenant: str) -> None:
    fill(registry, new_tenant_name(), "team/a.md")
    fill(registry, tenant + "-b", "team/b.md")

    assert paths(page(registry, tenant)) == []


def test_heads_of_many_documents_are_read_at_once_each_once(registry: Registry, tenant: str) -> None:
    key = DocumentKey(tenant, "team", "notes/größe + 1 😀.md")
    head = indexed(registry, key)
    other = DocumentKey(tenant, "team", "b.md")
    claimed(registry, other)
    never = DocumentKey(tenant, "team", "never.md")

    found = registry.heads([key, other, key, never], Deadline.after(5))

    assert found.found == {key: head, other: now(registry, other)}
    assert found.unread == frozenset()


def test_heads_of_nothing_are_nothing(registry: Registry) -> None:
    assert registry.heads([], Deadline.after(5)).found == {}


def test_more_than_a_hundred_heads_are_refused(registry: Registry, tenant: str) -> None:
    keys = [DocumentKey(tenant, "team", f"{number}.md") for number in range(101)]

    assert registry.heads(keys[:100], Deadline.after(5)).found == {}
    with pytest.raises(ValueError, match="at most 100"):
        registry.heads(keys, Deadline.after(5))


def test_a_tenant_is_found_as_it_was_made(registry: Registry, tenant: str) -> None:
    made = replace(tenant_of(tenant), enabled=False, vaults=("ops", "team"))

    assert registry.tenant(tenant) is None
    assert registry.create_tenant(made) is True
    assert registry.tenant(tenant) == made


def test_a_second_tenant_of_a_name_is_refused_and_changes_nothing(registry: Registry, tenant: str) -> None:
    registry.create_tenant(tenant_of(tenant))

    assert registry.create_tenant(replace(tenant_of(tenant), enabled=False)) is False
    assert registry.tenant(tenant) == tenant_of(tenant)


def test_all_tenants_are_listed_once_by_name(registry: Registry, tenant: str) -> None:
    for name in (tenant + "-b", tenant + "-a", tenant + "-b"):
        registry.create_tenant(tenant_of(name))

    names = [found.name for found in registry.tenants() if found.name.startswith(tenant)]
    assert names == [tenant + "-a", tenant + "-b"]


def test_counters_add_up_and_note_vaults_and_doc_types(registry: Registry, tenant: str) -> None:
    registry.create_tenant(tenant_of(tenant))

    registry.add_to_tenant(tenant, vault="team", documents=2, chunks=10)
    registry.add_to_tenant(tenant, vault="ops", documents=-1, chunks=-4, doc_type="a/b")
    registry.add_to_tenant(tenant, vault="team", documents=0, chunks=0)

    found = registry.tenant(tenant)
    assert found is not None
    assert (found.documents, found.chunks, found.generation, found.vaults) == (1, 6, 3, ("ops", "team"))
    assert found.doc_types == ("ops/a/b",)


def test_counters_of_an_unknown_tenant_are_not_made(registry: Registry, tenant: str) -> None:
    registry.add_to_tenant(tenant, vault="team", documents=1, chunks=1)

    assert registry.tenant(tenant) is None


@pytest.mark.parametrize("expires_at_s", [None, 1_760_000_000.5, 1_760_000_000.0])
def test_a_key_is_found_by_its_hash_and_can_be_written_again(
    registry: Registry, tenant: str, expires_at_s: float | None
) -> None:
    key = ApiKey(
        f"hash-of-{tenant}", tenant, "writer", ("team", "ops"), expires_at_s, created_at="2026-01-01T00:00:00Z"
    )

    assert registry.api_key(key.sha256) is None
    registry.put_api_key(key)
    assert registry.api_key(key.sha256) == key
    registry.put_api_key(replace(key, revoked=True))
    assert registry.api_key(key.sha256) == replace(key, revoked=True)
