"""When something is down, a search says so: nothing searched is not nothing found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import ChangeCounts
from ragdrop.domain.retrieval import Query
from ragdrop.errors import CircuitOpenError, DatabaseError, IndexLostError
from testing.memory_registry import MemoryRegistry
from tests.fallback_world import DeadIndex, FallbackWorld
from tests.world import World


class DeadRegistry(MemoryRegistry):
    """A registry whose change counts cannot be read once it is `down`."""

    down = False

    def change_counts(self, *args: Any, **named: Any) -> ChangeCounts:
        if self.down:
            raise DatabaseError("the registry did not answer", service="registry")
        return super().change_counts(*args, **named)


@pytest.fixture
def index() -> DeadIndex:
    return DeadIndex()


@pytest.fixture
def cut(index: DeadIndex) -> World:
    world = World(index=index)
    world.put("team/pump.md", "The pump is red.")
    index.error = DatabaseError("the index did not answer", service="index")
    return world


def test_with_the_index_down_a_search_is_empty_at_level_3_and_does_not_say_that_nothing_was_found(cut: World) -> None:
    found = cut.search("pump")

    assert (found.documents, found.fallback_level, found.served_by, found.degraded) == ([], 3, "none", True)
    assert not found.abstained
    assert found.total_indexed is None


def test_with_the_registry_down_no_hit_can_be_verified_so_it_is_level_3() -> None:
    registry = DeadRegistry()
    world = World(registry=registry)
    world.put("team/pump.md", "The pump is red.")
    registry.down = True

    assert world.search("pump").fallback_level == 3


def test_where_the_bucket_index_is_behind_an_open_breaker_too_it_is_level_4(tmp_path: Path) -> None:
    world = FallbackWorld(tmp_path)
    world.put("team/pump.md", "The pump is red.")
    world.cut(CircuitOpenError("the breaker is open", service="index", retry_after_s=7))
    world.state.fail_with = CircuitOpenError("the breaker is open", service="object_store", retry_after_s=7)
    found = world.search("pump")

    assert (found.fallback_level, found.circuit_breaker_open) == (4, True)


def test_behind_an_open_breaker_of_the_only_index_it_is_level_4(cut: World, index: DeadIndex) -> None:
    index.error = CircuitOpenError("the breaker is open", service="index", retry_after_s=7)
    found = cut.search("pump")

    assert (found.fallback_level, found.served_by, found.circuit_breaker_open) == (4, "none", True)


def test_an_answer_is_an_error_then_and_no_model_is_asked(cut: World) -> None:
    with pytest.raises(DatabaseError):
        cut.app.generate.ask(Question(Query("pump")), cut.caller, Deadline.after(10))

    assert cut.chat.asked == []


def test_without_fallback_an_outage_is_an_error(cut: World) -> None:
    with pytest.raises(DatabaseError):
        cut.search("pump", allow_fallback=False)


@pytest.mark.parametrize(
    "error",
    [
        DatabaseError("the index refused the credentials", service="index", retryable=False),
        DatabaseError("bad request", service="index", retryable=False),
        IndexLostError("an index file is damaged"),
    ],
)
def test_every_way_in_which_the_index_cannot_be_used_falls_back(tmp_path: Path, error: DatabaseError) -> None:
    world = FallbackWorld(tmp_path)
    world.put("team/pump.md", "The pump is red.")
    world.cut(error)

    found = world.search("pump")

    assert (found.fallback_level, found.served_by, found.degraded) == (2, "fallback", True)
    assert [document.key.path for document in found.documents] == ["pump.md"]


def test_the_lost_index_of_one_tenant_opens_no_breaker_for_the_others(cut: World, index: DeadIndex) -> None:
    index.error = IndexLostError("an index file is damaged")
    for number in range(12):
        cut.search(f"pump {number}")

    index.error = None

    assert cut.search("pump").fallback_level == 1


def test_what_waiting_does_not_mend_elsewhere_is_always_an_error(cut: World, index: DeadIndex) -> None:
    index.error = DatabaseError("no such table", service="registry", retryable=False)

    with pytest.raises(DatabaseError):
        cut.search("pump")


def test_when_it_is_back_the_next_search_finds_again(cut: World, index: DeadIndex) -> None:
    cut.search("pump")
    index.error = None

    assert [document.key.path for document in cut.search("pump").documents] == ["pump.md"]
