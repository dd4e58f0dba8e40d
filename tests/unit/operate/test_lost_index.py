"""An index that lost documents: the search says so, the fallback answers, and the sweep writes everything back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError
from testing.memory_chunk_index import MemoryChunkIndex
from tests.fallback_world import FallbackWorld
from tests.world import World


@pytest.fixture
def lost(world: World) -> World:
    """Two documents, and an index that was emptied behind ragdrop's back."""
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    world.index.drop(index_of(world), Deadline.after(10))
    return world


@pytest.fixture
def beside(tmp_path: Path) -> FallbackWorld:
    """Two documents in an OpenSearch and in the bucket index beside it."""
    world = FallbackWorld(tmp_path)
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    return world


def index_of(world: World) -> IndexRef:
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    return tenant.index


class DamagedIndex(MemoryChunkIndex):
    """An index whose counts are right while its content is damaged, until it is dropped."""

    damaged = False

    def verify(self, index: IndexRef, deadline: Deadline) -> None:
        if self.damaged:
            raise IndexLostError("an index file is damaged")
        super().verify(index, deadline)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        self.damaged = False
        return super().drop(index, deadline)


def lose(world: World, path: str) -> None:
    """Remove a live document's chunks behind ragdrop's back."""
    before = (world.head(path).live_revision or 0) + 1
    world.index.remove(index_of(world), world.key(path), before_revision=before, deadline=Deadline.after(10))


def sweep(world: World) -> None:
    assert world.app.operate.sweep_tenants(Deadline.after(600)).failures == {}


def test_an_empty_opensearch_of_a_tenant_with_documents_falls_back_to_the_bucket_index(beside: FallbackWorld) -> None:
    beside.opensearch.drop(beside.ref(), Deadline.after(10))

    found = beside.search("pump")

    assert (found.fallback_level, found.served_by, found.degraded) == (2, "fallback", True)
    assert found.documents[0].key.path == "pump.md"


def test_the_sweep_writes_an_empty_opensearch_back_and_leaves_the_fallback_alone(beside: FallbackWorld) -> None:
    beside.opensearch.drop(beside.ref(), Deadline.after(10))
    segments = beside.segments()

    sweep(beside)

    assert beside.opensearch.count(beside.ref(), Deadline.after(10)) == 2
    assert len(beside.segments()) >= len(segments)
    assert beside.bucket.count(beside.ref(), Deadline.after(10)) == 2


def test_the_sweep_fills_a_fallback_that_holds_nothing_and_embeds_nothing(beside: FallbackWorld) -> None:
    beside.bucket.drop(beside.ref(), Deadline.after(10))
    embedded = beside.embedder.texts_embedded

    sweep(beside)

    beside.cut()
    assert sorted(beside.paths("pump valve")) == ["pump.md", "valve.md"]
    assert beside.embedder.texts_embedded <= embedded + 1  # the question


def test_the_sweep_writes_a_damaged_segment_of_the_fallback_again(beside: FallbackWorld) -> None:
    first = beside.segments()[0]
    beside.state.put(first, b"garbage", media_type="x")

    sweep(beside)

    beside.cut()
    assert sorted(beside.paths("pump valve")) == ["pump.md", "valve.md"]
    assert beside.metrics.total("IndexLosses") == 1


def test_without_fallback_nothing_searched_is_not_nothing_found(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.index.drop(index_of(world), Deadline.after(10))

    assert world.search("pump").fallback_level == 3
    with pytest.raises(IndexLostError):
        world.app.generate.ask(Question(Query("pump")), world.caller, Deadline.after(10))


def test_without_fallback_a_lost_index_is_an_error(lost: World) -> None:
    with pytest.raises(IndexLostError, match="none of the 2 documents"):
        lost.search("pump", allow_fallback=False)


def test_a_filter_that_matches_nothing_is_no_loss(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")

    found = world.search("pump", tags=("nowhere",))

    assert (found.documents, found.fallback_level, found.degraded) == ([], 1, False)


def test_a_tenant_whose_last_document_was_deleted_has_lost_nothing(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.delete("team/pump.md")

    assert world.search("pump").fallback_level == 1


def test_health_says_that_the_index_holds_nothing(lost: World) -> None:
    index = lost.app.operate.check_health(tenant=lost.tenant).dependencies["index"]

    assert (index.status, index.detail) == (
        "unavailable",
        "it holds none of the 2 documents; the sweep rebuilds it",
    )


def test_the_sweep_writes_everything_back_and_embeds_nothing(lost: World) -> None:
    embedded = lost.embedder.texts_embedded

    sweep(lost)

    assert lost.embedder.texts_embedded == embedded
    assert lost.search("pump").fallback_level == 1
    assert lost.search("valve").documents[0].key.path == "valve.md"


def test_the_sweep_writes_back_what_is_missing_alone(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    head = world.head("team/pump.md")
    world.index.remove(
        index_of(world), head.key, before_revision=(head.live_revision or 0) + 1, deadline=Deadline.after(10)
    )
    world.put("team/valve.md", "The valve is blue.")
    assert world.search("valve").fallback_level == 1  # the index is not empty: only the sweep can see the loss

    sweep(world)

    assert set(world.texts("pump", min_relevance=0)) == {"The pump is red.", "The valve is blue."}
    assert world.chunk_count() == 2


def test_a_whole_index_is_left_alone(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.index.calls.clear()

    sweep(world)

    assert "upsert" not in world.index.calls


def test_health_says_that_the_index_holds_a_part_of_the_chunks(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    lose(world, "team/pump.md")

    index = world.app.operate.check_health(tenant=world.tenant).dependencies["index"]

    assert (index.status, index.detail) == ("degraded", "it holds 1 of at least 2 chunks; the sweep rebuilds it")


def test_the_sweep_rebuilds_an_index_that_is_damaged_though_its_count_is_right() -> None:
    index = DamagedIndex()
    world = World(index=index)
    world.put("team/pump.md", "The pump is red.")
    index.damaged = True

    sweep(world)

    assert (index.damaged, world.chunk_count()) == (False, 1)
    assert world.metrics.total("IndexLosses") == 1


def test_the_sweep_reports_no_loss_where_only_a_counter_is_too_high(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.registry.add_to_tenant(world.tenant, vault="team", documents=1, chunks=3)

    sweep(world)

    assert world.metrics.total("IndexLosses") == 0


def test_the_sweep_reports_a_partial_loss_once(world: World) -> None:
    for name in ("pump", "valve", "gauge"):
        world.put(f"team/{name}.md", f"The {name} is red.")
    lose(world, "team/pump.md")
    lose(world, "team/valve.md")

    sweep(world)

    assert (world.metrics.total("IndexLosses"), world.chunk_count()) == (1, 3)


def test_a_counter_that_is_too_high_makes_no_empty_index_a_lost_one(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.delete("team/pump.md")
    world.registry.add_to_tenant(world.tenant, vault="team", documents=1, chunks=3)

    assert world.search("pump").fallback_level == 1
