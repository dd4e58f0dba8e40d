"""The list of documents as of a moment."""

from __future__ import annotations

from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline, rfc3339
from ragdrop.domain.documents import Page
from ragdrop.domain.tenants import Caller
from ragdrop.errors import InvalidParamsError
from tests.world import World


@pytest.fixture
def world() -> World:
    return World()


def tick(world: World, seconds: float = 10.0) -> str:
    """The time now; then time passes."""
    now = rfc3339(world.now_s, precision="milliseconds")
    world.now_s += seconds
    return now


def listed(world: World, then: str, *, limit: int = 100, vault: str | None = None, prefix: str = "") -> list[str]:
    """What the list says of *then*: all its pages, each within *limit*."""
    found: list[str] = []
    cursor = None
    while True:
        caller = Caller(world.tenant, "reader")
        page = world.app.past.record.documents(caller, then, vault=vault, prefix=prefix, cursor=cursor, limit=limit)
        assert len(page.heads) <= limit
        found += [f"{head.key.vault_path}: {head.title}" for head in page.heads]
        if page.cursor is None:
            return found
        cursor = page.cursor


@pytest.fixture
def then(world: World) -> str:
    """A moment after which one document was replaced, one deleted, one came, and one could not be read again."""
    for name in ("deleted", "failed", "kept", "replaced"):
        world.put(f"team/{name}.md", f"# {name} then\n\nText.")
    then = tick(world)
    world.put("team/replaced.md", "# replaced now\n\nText.")
    world.delete("team/deleted.md")
    world.put("team/came.md", "# came\n\nText.")
    world.put("team/failed.md", "")
    world.now_s += 60
    return then


THEN = ["team/deleted.md: deleted then", "team/failed.md: failed then", "team/kept.md: kept then"]
THEN += ["team/replaced.md: replaced then"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_it_has_what_answered_then_with_the_titles_of_then(world: World, then: str, limit: int) -> None:
    assert listed(world, then, limit=limit) == THEN


def test_now_it_is_what_answers_now(world: World, then: str) -> None:
    now = ["team/came.md: came", "team/kept.md: kept then", "team/replaced.md: replaced now"]
    assert listed(world, tick(world)) == now


def test_what_comes_while_the_list_is_read_is_not_in_it(world: World, then: str) -> None:
    page = world.registry.page

    def comes_first(*args: Any, **named: Any) -> Page:
        world.registry.page = page
        world.put("team/late.md", "# late")
        return page(*args, **named)

    world.registry.page = comes_first

    assert listed(world, then) == THEN


def test_each_version_is_named_so_that_its_text_can_be_read(world: World, then: str) -> None:
    caller = Caller(world.tenant, "reader")
    page = world.app.past.record.documents(caller, then, vault="team", prefix="rep", cursor=None, limit=5)
    [head] = page.heads

    text = world.app.documents.document_service.text(caller, head.key, version_id=head.live_version_id)

    assert text.startswith("# replaced then")


def test_what_was_purged_since_is_not_listed(world: World, then: str) -> None:
    world.app.documents.purge_documents(Caller(world.tenant, "admin"), world.key("team/replaced.md"), Deadline.after(5))

    assert listed(world, then) == THEN[:-1]


def test_a_vault_and_a_prefix_limit_it(world: World) -> None:
    world.put("team/a/1.md", "# one")
    world.put("other/a/2.md", "# two")
    then = tick(world)
    world.delete("team/a/1.md")

    assert listed(world, then, vault="team") == ["team/a/1.md: one"]
    assert listed(world, then, prefix="a/") == ["other/a/2.md: two", "team/a/1.md: one"]
    assert listed(world, then, vault="none") == []


def test_a_key_of_other_vaults_sees_none_of_it(world: World, then: str) -> None:
    caller = Caller(world.tenant, "reader", ("other",))

    page = world.app.past.record.documents(caller, then, vault=None, prefix="", cursor=None, limit=5)

    assert page.heads == []


def test_a_moment_before_the_retention_is_refused(world: World) -> None:
    with pytest.raises(InvalidParamsError, match="30 days"):
        listed(world, "2020-01-01T00:00:00Z")
