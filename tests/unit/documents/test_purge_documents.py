"""Purge: nothing of a document is left anywhere, and its neighbours are untouched."""

from __future__ import annotations

import pytest

from ragdrop.documents.purge import Purged
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError
from tests.world import World


def purge(world: World, path: str, caller: Caller | None = None) -> Purged:
    return world.app.documents.purge_documents(caller or world.caller, world.key(path), Deadline.after(10))


def test_every_version_text_chunk_and_item_goes_and_is_counted(world: World) -> None:
    world.put("team/a.md", "The first words.")
    world.put("team/a.md", "The pump is red.")
    world.put("team/a.md.metadata.json", '{"title": "Beside"}')
    state = len(world.state.keys())

    purged = purge(world, "team/a.md")

    assert (purged.versions, purged.chunks, purged.registry_items) == (4, 1, 2)  # two versions, a marker, the sidecar
    assert purged.derived >= state > 0
    assert (world.documents.keys(), world.state.keys(), world.chunk_count()) == ([], [], 0)
    assert world.registry.head(world.key("team/a.md")) is None
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    assert (tenant.documents, tenant.chunks) == (0, 0)


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


def test_a_purged_document_can_be_put_anew(world: World) -> None:
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
