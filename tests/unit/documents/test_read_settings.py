"""The text of a settings file, which is applied and never indexed."""

from __future__ import annotations

import pytest

from ragdrop.domain.tenants import Caller, Role
from ragdrop.errors import DocumentNotFoundError
from tests.world import World

BODY = '{"golden_questions": [{"question": "Who?", "document": "a.md"}]}'


@pytest.fixture
def world() -> World:
    world = World()
    world.put("team/.ragdrop.json", BODY)
    return world


def text(world: World, role: Role, *vaults: str) -> str:
    """What a key of *role* reads of the settings of vault `team`."""
    caller = Caller(world.tenant, role, vaults)
    return world.app.documents.document_service.text(caller, world.key("team/.ragdrop.json"))


def test_an_admin_reads_what_is_in_the_bucket_even_where_it_was_refused(world: World) -> None:
    assert text(world, "admin") == BODY
    world.put("team/.ragdrop.json", '{"colour": "red"}')
    assert text(world, "admin") == '{"colour": "red"}'


@pytest.mark.parametrize(("role", "vaults"), [("reader", ()), ("writer", ()), ("admin", ("other",))])
def test_who_may_not_change_rules_of_access_reads_none_of_it(world: World, role: Role, vaults: tuple[str, ...]) -> None:
    with pytest.raises(DocumentNotFoundError):
        text(world, role, *vaults)


def test_of_settings_that_are_gone_nothing_is_read(world: World) -> None:
    world.delete("team/.ragdrop.json")

    with pytest.raises(DocumentNotFoundError):
        text(world, "admin")
