"""What every Registry does with pointers: names and promoted documents, never too few, removed when nothing answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import MAX_PATHS_OF_A_NAME, Detail, Heads, Name, Promoted, PromotionLevel
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.registry import Registry
from tests.contract.registry_examples import FAILURE, NOW_S, claimed, detail_of, new_tenant_name, now, tombstoned


@pytest.fixture
def key() -> DocumentKey:
    return DocumentKey(new_tenant_name(), "team", "notes/Größe + 1 😀.md")


def soon() -> Deadline:
    return Deadline.after(10)


def promoted(key: DocumentKey, revision: int, level: PromotionLevel) -> Detail:
    detail = detail_of(key, revision)
    return replace(detail, facts=replace(detail.facts, promotion_level=level))


def activated(registry: Registry, key: DocumentKey, level: PromotionLevel = "standard") -> None:
    detail = promoted(key, claimed(registry, key).revision, level)
    registry.point(detail)
    assert registry.activate(detail, NOW_S) is not None


def paths(registry: Registry, key: DocumentKey, name: str = "grösse + 1 😀") -> tuple[str, ...]:
    wanted = Name(key.tenant, key.vault, name)
    return registry.named_and_heads([wanted], [], soon())[0].get(wanted, ())


def test_a_promoted_document_is_listed_by_vault_and_path_within_its_tenant(
    registry: Registry, key: DocumentKey
) -> None:
    other = key._replace(vault="alpha")
    activated(registry, key, "critical")
    activated(registry, other, "important")
    activated(registry, key._replace(path="plain.md"))
    activated(registry, key._replace(tenant=new_tenant_name()), "critical")

    assert registry.promoted(key.tenant, soon()) == [Promoted(other, "important"), Promoted(key, "critical")]


@pytest.mark.parametrize("known", [True, False])
def test_a_name_stays_until_the_last_revision_that_was_noted_is_gone(
    registry: Registry, key: DocumentKey, known: bool
) -> None:
    first = claimed(registry, key)
    registry.point(promoted(key, first.revision, "standard"), known=known)  # nothing is noted yet: it is, all the same
    registry.point(promoted(key, first.revision + 1, "standard"), known=known)
    tombstoned = registry.tombstone(key, first, None, NOW_S)
    assert tombstoned is not None
    later = claimed(registry, key)
    registry.point(promoted(key, later.revision, "standard"), known=known)

    registry.unpoint(tombstoned)

    assert paths(registry, key) == (key.path,)


def test_a_document_that_is_standard_again_leaves_the_list(registry: Registry, key: DocumentKey) -> None:
    activated(registry, key, "critical")
    activated(registry, key)
    registry.unpoint(now(registry, key))

    assert registry.promoted(key.tenant, soon()) == []
    assert paths(registry, key) == (key.path,)


def test_a_clean_up_that_looked_too_early_leaves_a_later_revisions_pointer(
    registry: Registry, key: DocumentKey
) -> None:
    activated(registry, key, "critical")
    activated(registry, key)
    seen = now(registry, key)
    registry.point(promoted(key, claimed(registry, key).revision, "critical"))

    registry.unpoint(seen)

    assert registry.promoted(key.tenant, soon()) == [Promoted(key, "critical")]


def test_a_document_that_comes_back_keeps_its_name_though_a_clean_up_of_its_death_is_late(
    registry: Registry, key: DocumentKey
) -> None:
    activated(registry, key)
    dead = tombstoned(registry, key)
    activated(registry, key)

    registry.unpoint(dead)

    assert paths(registry, key) == (key.path,)


def test_a_pointer_of_an_older_revision_does_not_replace_a_newer_one(registry: Registry, key: DocumentKey) -> None:
    registry.point(promoted(key, 9, "critical"))
    registry.point(promoted(key, 8, "important"))

    assert registry.promoted(key.tenant, soon()) == [Promoted(key, "critical")]


def test_of_a_deleted_or_withdrawn_document_no_pointer_stays(registry: Registry, key: DocumentKey) -> None:
    other = key._replace(path="other/größe + 1 😀.txt")
    activated(registry, key, "critical")
    activated(registry, other, "critical")
    assert paths(registry, key) == (key.path, other.path)

    registry.unpoint(tombstoned(registry, key))
    registry.fail(other, claimed(registry, other).revision, FAILURE, keep_live=False)
    registry.unpoint(now(registry, other))

    assert registry.promoted(key.tenant, soon()) == []
    assert paths(registry, key) == ()


def test_a_pending_replacement_takes_no_pointer_away(registry: Registry, key: DocumentKey) -> None:
    activated(registry, key, "critical")
    claimed(registry, key)

    registry.unpoint(now(registry, key))

    assert registry.promoted(key.tenant, soon()) == [Promoted(key, "critical")]
    assert paths(registry, key) == (key.path,)


def test_a_purge_takes_the_pointers_along(registry: Registry, key: DocumentKey) -> None:
    activated(registry, key, "critical")
    tombstoned(registry, key)
    registry.forget_document(key)

    assert registry.promoted(key.tenant, soon()) == []
    assert paths(registry, key) == ()


def test_many_names_are_read_at_once_and_one_without_documents_leads_to_nothing(
    registry: Registry, key: DocumentKey
) -> None:
    activated(registry, key)
    activated(registry, key._replace(path="PK.md"))
    names = [Name(key.tenant, key.vault, name) for name in ("grösse + 1 😀", "pk", "nothing")]

    found = registry.named_and_heads(names, [], soon())[0]
    assert found == {names[0]: (key.path,), names[1]: ("PK.md",), names[2]: ()}
    assert registry.named_and_heads([], [], soon()) == ({}, Heads({}))
    with pytest.raises(ValueError, match="at most 100"):
        registry.named_and_heads([replace(names[0], name=str(number)) for number in range(100)], [key], soon())


def test_names_and_heads_are_read_together(registry: Registry, key: DocumentKey) -> None:
    activated(registry, key)
    absent, name = key._replace(path="absent.md"), Name(key.tenant, key.vault, "grösse + 1 😀")

    paths_by_name, heads = registry.named_and_heads([name], [key, absent], soon())

    assert paths_by_name == {name: (key.path,)}
    assert heads == registry.heads([key, absent], soon())
    assert set(heads.found) == {key}


def test_a_name_has_room_for_twenty_paths_and_a_path_that_goes_makes_room(registry: Registry, key: DocumentKey) -> None:
    keys = [key._replace(path=f"{number:02d}/README.md") for number in range(MAX_PATHS_OF_A_NAME + 1)]
    for each in keys:
        activated(registry, each)
    assert paths(registry, key, "readme") == tuple(each.path for each in keys[:-1])

    registry.unpoint(tombstoned(registry, keys[0]))
    activated(registry, keys[-1])
    activated(registry, keys[-1])

    assert paths(registry, key, "readme") == tuple(each.path for each in keys[1:])
