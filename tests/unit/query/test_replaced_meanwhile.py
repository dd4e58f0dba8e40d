"""A document that is replaced while a search runs: one of its versions is found, never none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ragdrop.app import compose
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from testing.memory_chunk_index import MemoryChunkIndex
from tests.world import World


class Between(MemoryChunkIndex):
    """An index after whose next search, or before it, something happens."""

    before: Callable[[], Any] | None = None
    after: Callable[[], Any] | None = None

    def candidates(self, *args: Any) -> Any:
        """The chunks, and what happens around."""
        before, self.before = self.before, None
        if before is not None:
            before()
        found = super().candidates(*args)
        after, self.after = self.after, None
        if after is not None:
            after()
        return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("stage", [None, "spring"])
def test_a_document_that_is_replaced_while_a_search_runs_is_found(when: str, stage: str | None, *, warm: bool) -> None:
    index = Between()
    world = World(index=index)
    world.put("team/a.md", "The pump is red.")
    if warm:
        world.search("pump first", stage=stage)

    setattr(index, when, lambda: world.put("team/a.md", "The pump is blue."))

    assert world.texts("pump again", stage=stage)


def test_a_document_that_is_replaced_while_another_is_looked_for_again_is_found() -> None:
    index = Between()
    world = World(index=index)
    world.put("team/a.md", "The pump is red.")
    world.put("team/b.md", "The pump of the cellar is red.")
    world.search("pump first")

    def replace_both() -> None:
        world.put("team/a.md", "The pump is blue.")
        index.before = lambda: world.put("team/b.md", "The pump of the cellar is blue.")

    index.before = replace_both

    assert len(world.texts("pump again")) == 2


def test_a_search_without_superseded_hits_asks_the_index_once() -> None:
    index = Between()
    world = World(index=index)
    world.put("team/a.md", "The pump is red.")
    index.calls.clear()

    world.search("pump")

    assert index.calls.count("candidates") == 1


def test_an_environment_that_knows_a_tenant_from_before_its_first_document_finds_it_behind_a_moved_index() -> None:
    world = World()
    reader = compose(world.app.ports)
    ask = partial(reader.query.search, caller=world.caller, deadline=Deadline.after(10))
    assert ask(Query("pump first")).documents == []

    world.put("team/a.md", "The pump is red.")
    reindex, tenant = world.app.operate.reindex, world.registry.tenant(world.tenant)
    reindex.run(world.tenant, tenant.active, again=True)
    reindex.drop_previous(world.tenant)

    assert len(ask(Query("pump again")).documents) == 1
