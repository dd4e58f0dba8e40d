"""The table of what the flags mean (docs/api.md), row by row, over the World; level 4 touches nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, Retrieval
from ragdrop.errors import (
    CircuitOpenError,
    DatabaseError,
    DependencyError,
    EmbeddingServiceError,
    ModelNotFoundError,
    RagdropError,
)
from ragdrop.query.pipeline import FallbackSearch
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_registry import MemoryRegistry
from testing.models import HashingEmbedder
from tests.fallback_world import BucketDouble
from tests.world import DIMENSION, World

UNREACHABLE = {
    name: DatabaseError(f"the {name} could not be reached", service=name) for name in ("index", "registry", "state")
}
EMBEDDING_DOWN = EmbeddingServiceError("the embedding service could not be reached", service="embedding")


class FailingIndex(MemoryChunkIndex):
    """An index whose every search raises `error`, once there is one."""

    error: RagdropError | None = None
    vector_error: DatabaseError | None = None

    def candidates(self, *args: Any, **named: Any) -> Any:
        found = super().candidates(*args, **named)
        if self.error:
            raise self.error
        if self.vector_error:
            for each in found:
                object.__setattr__(each, "vector_error", self.vector_error)
                object.__setattr__(each, "vector", ())
        return found


class FailingRegistry(MemoryRegistry):
    """A registry that answers nothing any more, once it is `down`."""

    down = False

    def named_and_heads(self, *args: Any, **named: Any) -> Any:
        return self._ends(super().named_and_heads, *args, **named)

    def change_counts(self, *args: Any, **named: Any) -> Any:
        return self._ends(super().change_counts, *args, **named)

    def tenant(self, *args: Any, **named: Any) -> Any:
        return self._ends(super().tenant, *args, **named)

    def promoted(self, *args: Any, **named: Any) -> Any:
        return self._ends(super().promoted, *args, **named)

    def _ends(self, method: Any, *args: Any, **named: Any) -> Any:
        found = method(*args, **named)
        if self.down:
            raise UNREACHABLE["registry"]
        return found


@pytest.fixture
def world() -> World:
    """A world of one document, whose index and registry can be made to fail."""
    made = World(index=FailingIndex(), registry=FailingRegistry(), embedder=HashingEmbedder(DIMENSION))
    made.put("team/pump.md", "The pump is red.")
    return made


def opened(world: World, dependency: str) -> None:
    """Let the breaker of *dependency* open."""
    for _ in range(world.app.ports.breakers.rules.threshold):
        with suppress(DependencyError), world.app.ports.breakers.guard(dependency):
            raise DatabaseError("down", service=dependency)


def flags(found: Retrieval) -> tuple[int, bool, str, bool]:
    """Level, breaker, who served it, and whether anything is missing."""
    return found.fallback_level, found.circuit_breaker_open, found.served_by, found.degraded


def touches(world: World) -> tuple[int, int, int]:
    """Calls that reached index, registry and embedding service so far."""
    return len(world.index.calls), len(world.registry.calls), world.embedder.calls


def test_all_is_well_at_level_1(world: World) -> None:
    assert flags(world.search("pump")) == (1, False, "index", False)


@pytest.mark.parametrize(
    "error", [EMBEDDING_DOWN, ModelNotFoundError("no such model", service="embedding", retryable=False)]
)
def test_without_vectors_lexical_search_alone_answer_at_level_2(world: World, error: RagdropError) -> None:
    world.embedder.fail_with = error
    found = world.search("pump")

    assert flags(found) == (2, False, "index", True)
    assert (len(found.documents), found.score_basis) == (1, "lexical")


def test_without_k_nn_lexical_search_alone_answer_at_level_2(world: World) -> None:
    world.index.vector_error = UNREACHABLE["index"]
    found = world.search("pump")

    assert (*flags(found), len(found.documents)) == (2, False, "index", True, 1)


def test_behind_the_breaker_of_the_embedding_service_it_is_level_2_and_the_service_is_left_alone(world: World) -> None:
    world.search("warm")
    opened(world, "embedding")
    before = world.embedder.calls

    assert flags(world.search("pump")) == (2, True, "index", True)
    assert world.embedder.calls == before


def test_with_the_index_down_and_none_beside_it_it_is_level_3(world: World) -> None:
    world.index.error = UNREACHABLE["index"]
    assert flags(world.search("pump")) == (3, False, "none", True)


def test_with_the_registry_down_no_hit_can_be_verified_so_it_is_level_3_even_with_a_bucket_index(world: World) -> None:
    bucket = BucketDouble()
    world.search("warm")
    world.registry.down = True

    found = chain(world, bucket)(Query("pump"), world.caller, Deadline.after(10))

    assert (flags(found), bucket.asked) == ((3, False, "none", True), [])


def test_behind_every_open_breaker_it_is_level_4_and_nothing_is_touched(world: World) -> None:
    world.search("warm")
    opened(world, "index")
    opened(world, "registry")
    before = touches(world)
    found = world.search("pump")

    assert (flags(found), touches(world)) == ((4, True, "none", True), before)
    assert isinstance(found.cause, CircuitOpenError)
    assert found.cause.details["retry_after_s"] == 60


def test_behind_the_breaker_of_the_index_the_question_is_not_embedded_for_it_either(world: World) -> None:
    opened(world, "index")
    before = touches(world)
    world.search("pump")

    assert (touches(world)[0], touches(world)[2]) == (before[0], before[2])


@pytest.mark.parametrize("breaker_open", [False, True])
def test_with_the_index_down_the_bucket_index_answers_at_level_2(world: World, breaker_open: bool) -> None:
    if breaker_open:
        opened(world, "index")
    world.index.error = UNREACHABLE["index"]
    bucket = BucketDouble()
    found = chain(world, bucket)(Query("pump"), world.caller, Deadline.after(10))

    assert flags(found) == (2, breaker_open, "fallback", True)
    assert [query.text for query in bucket.asked] == ["pump"]
    assert found.warnings[0].startswith("answered from the bucket index: ")


@pytest.mark.parametrize(
    ("error", "level"),
    [(UNREACHABLE["state"], 3), (CircuitOpenError("open", service="object_store", retry_after_s=9), 4)],
)
def test_with_index_and_bucket_index_out_of_reach_it_is_level_3_and_4_only_where_nothing_was_touched(
    world: World, error: DependencyError, level: int
) -> None:
    opened(world, "index")
    found = chain(world, BucketDouble(error))(Query("pump"), world.caller, Deadline.after(10))

    assert flags(found) == (level, True, "none", True)


def test_a_wrong_dimension_never_falls_back(world: World) -> None:
    world.embedder.dimension = 8
    with pytest.raises(EmbeddingServiceError):
        world.search("pump")


@pytest.mark.parametrize("dependency", ["index", "registry", "embedding"])
def test_without_fallback_an_open_breaker_is_an_error(world: World, dependency: str) -> None:
    world.search("warm")
    opened(world, dependency)
    with pytest.raises(CircuitOpenError):
        world.search("pump", allow_fallback=False)


@pytest.mark.parametrize("dependency", ["index", "registry", "chat"])
def test_an_answer_behind_an_open_breaker_is_circuit_open_and_the_model_is_left_alone(
    world: World, dependency: str
) -> None:
    world.search("warm")
    opened(world, dependency)
    with pytest.raises(CircuitOpenError) as raised:
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))

    assert raised.value.details["retry_after_s"] > 0
    assert world.chat.asked == []


def test_five_searches_that_fail_open_the_breaker_and_a_minute_later_one_that_does_not_closes_it(world: World) -> None:
    world.index.error = UNREACHABLE["index"]
    seen = [world.search("pump").circuit_breaker_open for _ in range(6)]
    world.index.error = None
    world.now_s += 60

    assert seen == [False] * 5 + [True]
    assert [flags(world.search(text)) for text in ("pump", "red")] == [(1, False, "index", False)] * 2


def test_a_breaker_that_readers_opened_does_not_stop_a_write(world: World) -> None:
    for dependency in ("index", "embedding", "registry"):
        opened(world, dependency)
    world.put("team/valve.md", "The valve is shut.")

    assert world.head("team/valve.md").live_revision is not None


def test_a_tenant_that_was_read_before_serves_on_for_a_minute_without_the_registry(world: World) -> None:
    world.search("warm")
    world.registry.down = True
    world.now_s += 64
    assert world.app.tenants.directory.tenant(world.tenant) is not None

    world.now_s += 2
    with pytest.raises(DatabaseError):
        world.app.tenants.directory.tenant(world.tenant)


def chain(world: World, bucket: BucketDouble) -> FallbackSearch:
    """The world's chain with *bucket* beside its index."""
    return FallbackSearch(world.app.query.cached, metrics=world.metrics, bucket=cast("Any", bucket))
