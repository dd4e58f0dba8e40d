"""A document that is put again while it is deleted over HTTP: the delete is about what was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragdrop.domain.documents import Status
from ragdrop.errors import DatabaseError
from ragdrop.ports.message_queue import Change
from tests.world import World


def before_the_tombstone(world: World, happens: Callable[[], Any]) -> None:
    """Let something happen once the delete has looked into the bucket, before it reads the registry."""
    head = world.documents.head

    def looked(*args: Any) -> Any:
        world.documents.head = head
        found = head(*args)
        happens()
        return found

    world.documents.head = looked


def delete(world: World) -> None:
    world.app.documents.document_service.delete(world.caller, world.key("team/a.md"))


def arrive(world: World) -> None:
    """What was sent to ingest arrives."""
    sent, world.queue.sent = world.queue.sent, []
    for key in sent:
        world.deliver(world.message(Change(key)))


def test_a_version_that_answers_by_then_stays(world: World) -> None:
    world.put("team/a.md", "The pump is red.")
    world.delete("team/a.md", ingest=False)
    before_the_tombstone(world, lambda: world.put("team/a.md", "The pump is blue."))

    delete(world)

    arrive(world)
    assert world.texts("pump") == ["The pump is blue."]


def test_a_version_that_is_being_indexed_by_then_is_indexed_again(world: World) -> None:
    world.put("team/a.md", "The pump is red.")
    world.delete("team/a.md", ingest=False)

    def claimed() -> None:
        world.index.fail_with = DatabaseError("the index is down", service="index")
        world.put("team/a.md", "The pump is blue.")
        world.index.fail_with = None

    before_the_tombstone(world, claimed)

    delete(world)

    assert world.head("team/a.md").status is Status.DELETED
    arrive(world)
    assert world.texts("pump") == ["The pump is blue."]
