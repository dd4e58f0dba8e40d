"""Purge: nothing of a document is left anywhere, and its neighbours are untouched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from ragdrop.documents.purge import Purged
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import SIDECAR_SUFFIX
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.fallback_world import FallbackWorld
from tests.world import World


def purge(world: World, path: str, caller: Caller | None = None) -> Purged:
    return world.app.documents.purge_documents(caller or world.caller, world.key(path), Deadline.after(10))


def test_every_version_text_chunk_and_item_goes_and_is_counted(world: World) -> None:
    world.put("team/a.md", "The first words.")
    world.put("team/a.md", "The pump is red.")
    world.put("team/a.md.metadata.json", '{"title": "Beside"}')
    state = len(world.state.keys())

    purged = purge(world, "team/a.md")

    assert (purged.versions, purged.chunks, purged.registry_items) == (4, 1, 9)  # two versions, a marker, the sidecar
    assert purged.derived >= state > 0
    assert (world.documents.keys(), world.state.keys(), world.chunk_count()) == ([], [], 0)
    assert world.registry.head(world.key("team/a.md")) is None
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    assert (tenant.documents, tenant.chunks) == (0, 0)


class PutAgain(MemoryObjectStore):
    """A bucket in which somebody puts a document again once its versions are gone."""

    again: Callable[[], object] | None = None

    def purge(self, key: str) -> int:
        gone = super().purge(key)
        if self.again is not None and key.endswith(SIDECAR_SUFFIX):
            self.again()
        return gone


def test_a_version_that_is_put_while_the_purge_runs_stays() -> None:
    world = World(documents=PutAgain())
    world.put("team/a.md", "The first words.")
    world.documents.again = lambda: world.put("team/a.md", "The pump is red.")

    assert purge(world, "team/a.md").versions == 2  # a version and the delete marker

    assert world.texts("pump") == ["The pump is red."]
    assert world.texts("first words") == ["The pump is red."]


def test_of_two_versions_that_are_put_while_the_purge_runs_the_live_one_stays() -> None:
    world = World(documents=PutAgain())
    world.put("team/a.md", "The first words.")

    def again() -> None:
        world.put("team/a.md", "The pump is red.")
        world.documents.put("acme/team/a.md", b"The pump is blue.", media_type="text/markdown")  # its event is late

    world.documents.again = again
    purge(world, "team/a.md")

    assert world.texts("pump") == ["The pump is red."]


def test_of_a_version_that_is_put_and_deleted_while_the_purge_runs_nothing_is_left() -> None:
    world = World(documents=PutAgain())
    world.put("team/a.md", "The first words.")

    def again() -> None:
        world.put("team/a.md", "The pump is red.")
        world.delete("team/a.md")

    world.documents.again = again
    purge(world, "team/a.md")

    assert world.registry.head(world.key("team/a.md")) is None
    assert (world.state.keys(), world.chunk_count()) == ([], 0)


def test_the_segments_of_the_bucket_index_hold_nothing_of_it_any_more(tmp_path: Path) -> None:
    state, manifests = MemoryObjectStore("state"), MemoryManifests()
    index = BucketChunkIndex(state, manifests, tmp_path, max_bytes=1 << 30)
    world = World(index=index, state=state, manifests=manifests)
    for path in ("team/a.md", "team/b.md"):
        world.put(path, f"{path} tells of the xylophone.")
    assert sum(b"a.md tells of the xylophone" in body for body in bodies(state)) == 1

    assert purge(world, "team/a.md").chunks == 1

    assert not any(b"a.md" in body for body in bodies(state))
    assert world.texts("xylophone") == ["team/b.md tells of the xylophone."]


def test_of_a_tenant_in_opensearch_the_bucket_index_beside_it_holds_nothing_of_it_either(tmp_path: Path) -> None:
    world = FallbackWorld(tmp_path)
    for path in ("team/a.md", "team/b.md"):
        world.put(path, f"{path} tells of the xylophone.")

    assert purge(world, "team/a.md").chunks == 1  # those of the index that answers

    assert not any(b"a.md" in body for body in bodies(world.state))
    world.cut()
    assert world.texts("xylophone") == ["team/b.md tells of the xylophone."]


def bodies(state: MemoryObjectStore) -> list[bytes]:
    """What the bucket holds under every key."""
    return [state.get(key) or b"" for key in state.keys()]  # noqa: SIM118 - no dictionary


def test_documents_whose_names_begin_alike_or_whose_text_is_the_same_stay(world: World) -> None:
    for path in ("team/a.md", "team/a.md.bak.md", "team/twin.md"):
        world.put(path, "The same words.")

    purge(world, "team/a.md")

    assert world.documents.keys() == ["acme/team/a.md.bak.md", "acme/team/twin.md"]
    assert world.texts("words") == ["The same words.", "The same words."]


def test_a_document_that_was_deleted_before_can_be_purged(world: World) -> None:
    world.put("team/a.md", "Words.")
    world.delete("team/a.md")

    assert purge(world, "team/a.md").versions >= 2
    assert world.state.keys() == []


def test_a_purged_document_can_be_put_again(world: World) -> None:
    world.put("team/a.md", "Old words.")
    purge(world, "team/a.md")
    world.changed("team/a.md")  # the events of the versions that went
    world.now_s += 1

    world.put("team/a.md", "New words.")

    assert world.texts("words") == ["New words."]


def test_what_never_was_is_not_found_and_nothing_is_removed_out_of_scope(world: World) -> None:
    world.put("team/a.md", "Words.")
    with pytest.raises(DocumentNotFoundError):
        purge(world, "team/none.md")
    with pytest.raises(DocumentNotFoundError):
        purge(world, "team/a.md", Caller(world.tenant, "admin", ("hr",)))
    assert world.texts("words") == ["Words."]
