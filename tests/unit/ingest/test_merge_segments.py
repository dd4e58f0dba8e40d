"""Merges: batches ask for them by messages, a batch does them, and what can never answer again is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Heads, Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, EmbeddingServiceError, ObjectStoreError, QueueError
from ragdrop.ingest.reconcile import MERGE_S
from ragdrop.ports.message_queue import Delivery, MergeRequest
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry
from tests.fallback_world import FallbackWorld
from tests.world import TENANT, World

MERGE_ABOVE = 3


class HalfBlind(MemoryRegistry):
    """A registry that cannot read the heads of some documents, or none at all once `down`."""

    unread: frozenset[DocumentKey] = frozenset()
    down = False

    def heads(self, keys: Sequence[DocumentKey], deadline: Deadline) -> Heads:
        if self.down:
            raise DatabaseError("the registry did not answer", service="registry")
        found = super().heads(keys, deadline).found
        return Heads({key: head for key, head in found.items() if key not in self.unread}, self.unread)


@pytest.fixture
def registry() -> HalfBlind:
    return HalfBlind()


@pytest.fixture
def world(tmp_path: Path, registry: HalfBlind) -> World:
    """A world over a bucket index in which more than three segments are too many."""
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    index = BucketChunkIndex(state, manifests, tmp_path, max_bytes=1 << 30, merge_above=MERGE_ABOVE)
    return World(index=index, bucket_index=index, state=state, manifests=manifests, registry=registry)


def fill(world: World, count: int = MERGE_ABOVE + 1) -> None:
    for number in range(count):
        world.put(f"team/{number}.md", f"Pump {number}.")


def index_of(world: World) -> IndexRef:
    tenant = world.registry.tenant(TENANT)
    assert tenant is not None
    return tenant.index


def asked(tenant: str = TENANT, index: str = "bucket-v1-hashing-64-1") -> Delivery:
    """The message of a merge."""
    return Delivery("merge", "receipt-merge", 1, (), merge=MergeRequest(tenant, index))


def live_segments(world: World) -> int:
    """How many segments a question meets."""
    keys = [each.key for each in world.state.entries("index/")]
    retired = sum(key.endswith(".retired") for key in keys)
    return int(sum(key.endswith(".seg") for key in keys) - retired)


def test_a_batch_that_makes_too_many_segments_asks_for_a_merge_once(world: World) -> None:
    fill(world, MERGE_ABOVE)
    few = list(world.queue.merges)
    world.put("team/one-more.md", "Pump.")

    assert few == []
    assert world.queue.merges == [MergeRequest(TENANT, index_of(world).name)]


def test_a_merge_makes_fewer_segments_and_every_document_still_answers(world: World) -> None:
    fill(world)
    before = live_segments(world)

    assert world.deliver(asked()) == []

    assert (before, live_segments(world)) == (MERGE_ABOVE + 1, 1)
    assert sorted(world.texts("pump", limit=20)) == [f"Pump {number}." for number in range(MERGE_ABOVE + 1)]


def test_a_merge_drops_revisions_that_were_replaced_and_documents_that_were_deleted(world: World) -> None:
    fill(world, 3)
    world.put("team/0.md", "Valve 0.")
    world.delete("team/1.md")
    before = world.chunk_count()

    world.deliver(asked())

    assert (before, world.chunk_count()) == (4, 2)
    assert sorted(world.texts("pump valve", limit=20, min_relevance=0)) == ["Pump 2.", "Valve 0."]


def test_where_there_is_nothing_to_merge_the_message_is_acknowledged(world: World) -> None:
    fill(world, 1)

    assert world.deliver(asked()) == []
    assert live_segments(world) == 1


@pytest.mark.parametrize("merge", [asked(tenant="nobody"), asked(index="bucket-v1-other-64-9")])
def test_a_merge_of_an_unknown_tenant_or_index_is_acknowledged(world: World, merge: Delivery) -> None:
    fill(world)

    assert world.deliver(merge) == []
    assert live_segments(world) == MERGE_ABOVE + 1


def test_a_merge_of_a_disabled_tenant_is_acknowledged(world: World) -> None:
    fill(world)
    world.app.operate.operator.set_enabled(TENANT, enabled=False)

    assert world.deliver(asked()) == []
    assert live_segments(world) == MERGE_ABOVE + 1


def test_a_merge_that_fails_comes_again_and_changes_nothing(world: World) -> None:
    fill(world)
    world.state.fail_with = ObjectStoreError("down", service="object_store")

    assert world.deliver(asked()) == [asked()]
    world.state.fail_with = None
    assert live_segments(world) == MERGE_ABOVE + 1
    assert len(world.texts("pump", limit=20)) == MERGE_ABOVE + 1

    assert world.deliver(asked()) == []
    assert live_segments(world) == 1


def test_a_merge_for_which_no_time_is_left_comes_again(world: World) -> None:
    fill(world)

    assert world.deliver(asked(), left_s=0.0) == [asked()]
    assert live_segments(world) == MERGE_ABOVE + 1


def test_a_merge_that_fails_leaves_the_documents_of_its_batch_unharmed(world: World, registry: HalfBlind) -> None:
    fill(world)
    world.put("team/new.md", "A new pump.", ingest=False)
    registry.down = True
    message = world.message(world.change("team/new.md"))

    assert world.deliver(message, asked()) == [asked()]
    assert world.head("team/new.md").live_revision is not None


def test_a_merge_that_cannot_be_asked_for_fails_no_document(world: World) -> None:
    world.queue.merge = _refuse
    fill(world)

    assert len(world.texts("pump", limit=20)) == MERGE_ABOVE + 1


def test_the_bucket_index_beside_an_opensearch_is_merged_too(tmp_path: Path) -> None:
    world = FallbackWorld(tmp_path)
    fill(world, 8)

    assert world.queue.merges == [MergeRequest(TENANT, world.ref().name)]
    world.deliver(asked(index=world.ref().name))

    world.cut()
    assert live_segments(world) < 8
    assert len(world.texts("pump", limit=20)) == 8


def test_what_is_below_a_live_revision_is_dead_and_what_is_live_or_newer_is_not(world: World) -> None:
    world.put("team/a.md", "Pump.")
    live = world.head("team/a.md").live_revision or 0
    key = world.key("team/a.md")

    assert dead(world, (key, live - 1), (key, live), (key, live + 1)) == {(key, live - 1)}


def test_a_first_revision_that_is_pending_is_not_dead(world: World) -> None:
    world.embedder.fail_with = EmbeddingServiceError("down", service="embedding")
    world.put("team/a.md", "Pump.")
    head = world.head("team/a.md")

    assert (head.status, dead(world, (head.key, head.revision))) == (Status.PENDING, set())


def test_a_revision_of_a_document_that_the_registry_does_not_know_is_not_dead(world: World) -> None:
    assert dead(world, (world.key("team/unknown.md"), 7)) == set()


def test_every_revision_of_a_deleted_document_is_dead(world: World) -> None:
    world.put("team/a.md", "Pump.")
    revision = world.head("team/a.md").live_revision or 0
    world.delete("team/a.md")
    key = world.key("team/a.md")

    assert dead(world, (key, revision)) == {(key, revision)}


def test_a_revision_whose_head_cannot_be_read_is_not_dead(world: World, registry: HalfBlind) -> None:
    world.put("team/a.md", "Pump.")
    key, live = world.key("team/a.md"), world.head("team/a.md").live_revision or 0
    registry.unread = frozenset({key})

    assert dead(world, (key, live - 1)) == set()


def dead(world: World, *revisions: tuple[DocumentKey, int]) -> set[tuple[DocumentKey, int]]:
    return world.app.ingest.merge_segments.dead(revisions, Deadline.after(10))


def _refuse(_wanted: MergeRequest) -> None:
    raise QueueError("down", service="queue")


def test_a_merge_after_documents_waits_for_an_invocation_with_time_for_the_largest(world: World) -> None:
    fill(world)
    world.put("team/new.md", "A new pump.", ingest=False)

    assert world.deliver(world.message(world.change("team/new.md")), asked(), left_s=MERGE_S - 1) == [asked()]
    assert world.head("team/new.md").live_revision is not None
    assert world.deliver(asked(), left_s=MERGE_S - 1) == []
