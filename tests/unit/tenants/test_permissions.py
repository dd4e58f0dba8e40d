"""What checking permissions asks of the registry, and what it logs."""

from __future__ import annotations

import logging

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import Caller
from tests.world import World

RULE = '{"access": [{"path": "hr/**", "groups": ["hr"]}]}'
READER, ADMIN = Caller("acme", "reader", credential="k1"), Caller("acme", "admin")


@pytest.fixture
def world() -> World:
    made = World(settings={"CACHE_TTL_S": "0"})
    made.put("team/.ragdrop.json", RULE)
    made.put("team/hr/pay.md", "The pump is paid.")
    made.put("team/a.md", "The pump is red.")
    return made


def calls(world: World, caller: Caller) -> list[str]:
    """What one search of *caller* asks of the registry."""
    world.registry.calls.clear()
    world.app.query.search(Query("pump"), caller, Deadline.after(10))
    return sorted(world.registry.calls)


def test_a_search_of_a_reader_asks_the_registry_for_no_more_than_one_of_an_admin(world: World) -> None:
    for caller in (READER, ADMIN):
        calls(world, caller)

    assert calls(world, READER) == calls(world, ADMIN)


def test_rules_are_read_again_where_they_changed_and_only_then(world: World) -> None:
    calls(world, READER)
    world.put("team/.ragdrop.json", RULE.replace('"hr"]', '"hr", "eng"]'))

    first, second = (calls(world, READER).count("tenant") for _ in range(2))
    assert first > second == 0


def test_a_refusal_is_logged_without_the_path(world: World, caplog: pytest.LogCaptureFixture) -> None:
    permissions, key = world.app.tenants.permissions, world.key("team/hr/pay.md")
    with caplog.at_level(logging.INFO):
        assert not permissions.allows(READER, key, world.head("team/hr/pay.md"))

    [record] = [each for each in caplog.records if "refused" in each.message]
    assert (record.__dict__["credential"], record.__dict__["document"]) == ("k1", key.digest)
    assert record.__dict__["by"] == ["rule"]
    assert not any(word in str(record.__dict__) for word in ("pay.md", "hr/", "paid"))


def test_a_refusal_by_the_scope_of_a_key_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    other = Caller("acme", "reader", ("side",), credential="k2")
    with caplog.at_level(logging.INFO):
        assert not world.app.tenants.permissions.allows(other, world.key("team/a.md"), world.head("team/a.md"))

    [record] = [each for each in caplog.records if "refused" in each.message]
    assert (record.__dict__["credential"], record.__dict__["by"]) == ("k2", ["vault"])


def test_nothing_is_logged_of_what_a_search_leaves_out(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        calls(world, READER)

    assert [each for each in caplog.records if "refused" in each.message] == []


def test_a_change_of_rules_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        world.put("team/.ragdrop.json", '{"access": [{"path": "**", "groups": 7}]}')
        world.put("team/.ragdrop.json", '{"access": [{"path": "**", "groups": 7}]}')

    [record] = [each for each in caplog.records if each.message == "rules of access changed"]
    assert (record.__dict__["rules"], len(record.__dict__["problems"])) == (1, 1)
