"""An index that lost documents: the search says so, the fallback answers, and the sweep writes everything back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.answers import Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError
from ragdrop.ports.indexes import SOME_BYTES, BytesToRead
from testing.memory_chunk_index import MemoryChunkIndex
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
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

    is_damaged = False

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:
        if self.is_damaged:
            raise IndexLostError("an index file is damaged")
        return super().verify(index, deadline, reading)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        self.is_damaged = False
        return super().drop(index, deadline)


def lose(world: World, path: str) -> None:
    """Remove a live document's chunks behind ragdrop's back."""
    before = (world.head(path).live_revision or 0) + 1
    world.index.remove(index_of(world), world.key(path), before_revision=before, deadline=Deadline.after(10))


def sweep(world: World) -> None:
    assert world.app.operate.sweep_tenants(Deadline.after(600)).failures == {}


@pytest.fixture
def bucket(tmp_path: Path) -> World:
    """Two documents in the bucket index, in a segment each."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    index = BucketChunkIndex(state, manifests, tmp_path / "copies", max_bytes=1 << 30)
    world = World(index=index, state=state, manifests=manifests)
    world.put("team/pump.md", "The pump is red.")
    world.put("team/valve.md", "The valve is blue.")
    return world


def all_segments_gone(world: World) -> None:
    for each in list(world.state.entries("index/")):
        world.state.purge(each.key)


def one_byte_overwritten(world: World) -> None:
    first = next(iter(world.state.entries("index/"))).key
    body = bytearray(world.state.get(first) or b"")
    body[len(body) // 2] ^= 1
    world.state.put(first, bytes(body), media_type="x")


def cut_short(world: World) -> None:
    first = next(iter(world.state.entries("index/"))).key
    world.state.put(first, (world.state.get(first) or b"")[:-9], media_type="x")


def manifest_gone(world: World) -> None:
    world.app.ports.manifests.delete(world.tenant, index_of(world).name)


def manifest_garbage(world: World) -> None:
    manifest_gone(world)
    world.app.ports.manifests.write(world.tenant, index_of(world).name, "garbage", 9, 0)


LOSSES = (all_segments_gone, one_byte_overwritten, cut_short, manifest_gone, manifest_garbage)


@pytest.mark.parametrize("lose_some", LOSSES)
def test_what_the_bucket_index_lost_is_found_every_ten_minutes_and_written_back_without_embedding(
    bucket: World, lose_some: Callable[[World], None]
) -> None:
    embedded = bucket.embedder.texts_embedded
    lose_some(bucket)

    assert bucket.app.operate.sweep_tenants.check_indexes(Deadline.after(600)) == {}

    assert bucket.embedder.texts_embedded == embedded
    assert set(bucket.texts("pump valve", min_relevance=0)) == {"The pump is red.", "The valve is blue."}
    assert bucket.app.operate.check_health(tenant=bucket.tenant).dependencies["index"].status == "healthy"


def test_a_byte_that_decays_under_an_unchanged_etag_is_found_by_the_hourly_sweep(bucket: World) -> None:
    first = next(iter(bucket.state.entries("index/"))).key
    bucket.state.decay(first, len(bucket.state.get(first) or b"") // 2)

    done = bucket.app.operate.sweep_tenants(Deadline.after(600))

    assert [report.rebuilt for report in done.reports] == [1]
    assert "is damaged" in done.reports[0].index_fault
    assert bucket.chunk_count() == 2


def test_a_check_of_a_whole_index_lists_it_once_and_reads_nothing_of_it(bucket: World) -> None:
    bucket.state.calls.clear()

    bucket.app.operate.sweep_tenants.check_indexes(Deadline.after(600))

    assert bucket.state.calls == ["entries"]


def test_a_document_whose_stored_text_is_gone_too_leaves_the_index_not_whole(bucket: World) -> None:
    all_segments_gone(bucket)
    bucket.state.delete_prefix("revisions/")

    report = bucket.app.operate.sweep_tenants.one(bucket.tenant, Deadline.after(600))

    assert (report.rebuilt, report.index_whole) == (0, False)


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

    assert (index.status, index.detail) == ("unavailable", "it holds none of the 2 documents; the sweep rebuilds it")


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
    index.is_damaged = True

    sweep(world)

    assert (index.is_damaged, world.chunk_count()) == (False, 1)
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


def test_what_waits_in_a_stage_is_written_back_too(world: World) -> None:
    world.put("team/pump.md", "The pump is red.")
    world.put("team/pump.md", "The pump is green.", {"ragdrop-stage": "spring"})
    world.put("team/valve.md", "The valve waits.", {"ragdrop-stage": "spring"})
    world.index.drop(index_of(world), Deadline.after(10))

    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    rebuilt = world.app.operate.rebuild_index(tenant, Deadline.after(60))

    assert (rebuilt.documents, rebuilt.whole) == (3, True)
    assert world.texts("pump", vaults=("team",)) == ["The pump is red."]
    staged = world.texts("pump valve", stage="spring", vaults=("team",))
    assert sorted(staged) == ["The pump is green.", "The valve waits."]
