"""A stage that hangs uses its own share of the time: what answers instead of it still has enough."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.errors import DatabaseError, EmbeddingServiceError
from ragdrop.query.pipeline import FallbackSearch
from testing.memory_chunk_index import MemoryChunkIndex
from testing.models import HashingEmbedder
from tests.fallback_world import BucketDouble
from tests.world import DIMENSION, World

WHOLE_S = 28.5  # what the gateway's 29 s leave


class Time:
    """A clock that whoever hangs moves to the end of his share."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def hang(self, deadline: Deadline) -> None:
        self.now_s += deadline.remaining_s()


class HangingEmbedder(HashingEmbedder):
    """Answers nothing until its time is over."""

    time: Time | None = None

    def query(self, text: Any, space: Any, deadline: Deadline) -> Any:
        if self.time is not None:
            self.time.hang(deadline)
            raise EmbeddingServiceError("did not answer in time", service="embedding")
        return super().query(text, space, deadline)


class HangingIndex(MemoryChunkIndex):
    """Hangs in the calls that `hangs_in` names."""

    time: Time | None = None
    hangs_in: tuple[str, ...] = ()

    def candidates(self, index: Any, queries: Any, deadline: Deadline) -> Any:
        self._hang("candidates", deadline)
        return super().candidates(index, queries, deadline)

    def nearest_of(self, index: Any, wanted: Any, revisions: Any, deadline: Deadline) -> Any:
        self._hang("nearest_of", deadline)
        return super().nearest_of(index, wanted, revisions, deadline)

    def _hang(self, call: str, deadline: Deadline) -> None:
        if self.time is not None and call in self.hangs_in:
            self.time.hang(deadline)
            raise DatabaseError("did not answer in time", service="index")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def world() -> World:
    made = World(index=HangingIndex(), embedder=HangingEmbedder(DIMENSION))
    made.put("team/pump.md", "The pump is red. See [the valve](valve.md).")
    made.put("team/valve.md", "Nothing else is like it.")
    return made


def test_an_embedding_service_that_hangs_leaves_four_fifths_of_the_time(world: World, time: Time) -> None:
    world.embedder.time = time
    found = world.app.query.search(Query("pump"), world.caller, Deadline.after(WHOLE_S, clock=time))

    assert found.fallback_level == 2
    assert time.now_s == pytest.approx(WHOLE_S / 5)


def test_with_embedding_service_and_index_hanging_the_fallback_still_has_most_of_the_time(
    world: World, time: Time
) -> None:
    world.embedder.time = world.index.time = time
    world.index.hangs_in = ("candidates",)
    bucket = BucketDouble()

    chain = FallbackSearch(world.app.query.cached, metrics=world.metrics, bucket=cast("Any", bucket))
    found = chain(Query("pump"), world.caller, Deadline.after(WHOLE_S, clock=time))

    assert found.served_by == "fallback"
    assert bucket.left_s == [pytest.approx(WHOLE_S * 0.6)]


def test_links_that_hang_cost_the_links_alone(world: World, time: Time) -> None:
    world.index.time, world.index.hangs_in = time, ("nearest_of",)
    found = world.app.query.search(Query("pump", limit=1), world.caller, Deadline.after(WHOLE_S, clock=time))

    assert ([one.key.path for one in found.documents], found.linked) == (["pump.md"], [])
    assert found.warnings == ["links could not be followed"]
    assert time.now_s <= 8.0


def test_a_streamed_answer_has_minutes_but_a_stage_still_has_seconds(world: World, time: Time) -> None:
    world.embedder.time = time
    world.app.query.search(Query("pump"), world.caller, Deadline.after(300.0, clock=time))

    assert time.now_s == pytest.approx(8.0)
