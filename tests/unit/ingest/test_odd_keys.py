"""Objects whose keys cannot name a document: a failed record with the reason, gone again with the object."""

from __future__ import annotations

import pytest

from ragdrop.domain.documents import Status
from ragdrop.domain.keys import DocumentKey
from ragdrop.ports.message_queue import Change
from tests.world import TENANT, World

LONG = "x" * (1_024 - len(f"{TENANT}/team/"))


def changed(world: World, key: str) -> None:
    assert world.deliver(world.message(Change(key))) == []


def put(world: World, path: str, body: bytes = b"The pump is red.") -> DocumentKey:
    key = DocumentKey(TENANT, "team", path)
    world.documents.put(key.s3_key, body, media_type="text/plain")
    changed(world, key.s3_key)
    return key


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("notes//b.md", "has an empty, '.' or '..' segment"),
        ("/b.md", "has an empty, '.' or '..' segment"),
        ("notes/../b.md", "has an empty, '.' or '..' segment"),
        ("./b.md", "has an empty, '.' or '..' segment"),
        ("a\x00b.md", "has control characters"),
        ("a\nb.md", "has control characters"),
        ("notes/b.md/", "names a folder, not a document"),
        (LONG, "the key has 1024 bytes, at most 900 are allowed"),
    ],
)
def test_an_object_that_cannot_be_a_document_leaves_a_failed_record_with_the_reason(
    world: World, path: str, reason: str
) -> None:
    key = put(world, path)

    page = world.registry.page(TENANT, vault="team", prefix="", status=Status.FAILED, cursor=None, limit=10)
    [head] = page.heads
    assert head.key == key
    assert head.error is not None
    assert head.error.code == "INVALID_KEY"
    assert reason in head.error.message
    assert world.search("pump").documents == []


def test_the_record_goes_when_the_object_is_deleted(world: World) -> None:
    key = put(world, "notes//b.md")

    world.documents.delete(key.s3_key)
    changed(world, key.s3_key)

    head = world.registry.head(key)
    assert head is not None
    assert head.status is Status.DELETED


def test_an_empty_object_that_is_a_folder_leaves_no_record(world: World) -> None:
    key = put(world, "notes/", b"")

    assert world.registry.head(key) is None


def test_an_object_beside_an_odd_one_keeps_its_own_record(world: World) -> None:
    put(world, "notes//b.md")
    world.put("team/notes/b.md", "The pump is blue.")

    assert world.texts("pump") == ["The pump is blue."]
