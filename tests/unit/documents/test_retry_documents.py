"""Retry: a document that failed is looked at again, whatever it failed of."""

from __future__ import annotations

import pytest

from ragdrop.domain.tenants import Caller
from ragdrop.errors import DocumentNotFoundError, EmbeddingServiceError
from ragdrop.ports.message_queue import Change
from tests.world import World


class DownEmbedder:
    """An embedding service that never answers."""

    def passages(self, *_: object) -> list[object]:
        raise EmbeddingServiceError("down", service="embedding")


def failed_by_a_dependency(world: World) -> None:
    """A document that was given up on the fifth receive."""
    working, world.app.ingest.write_chunks._embedder = world.app.ingest.write_chunks._embedder, DownEmbedder()  # type: ignore[assignment]
    world.put("team/a.md", "The pump is red.", ingest=False)
    world.changed("team/a.md", receives=5)
    world.app.ingest.write_chunks._embedder = working
    assert world.head("team/a.md").status == "failed"


def test_what_is_given_up_on_may_be_moved_to_the_dead_letters_at_once(world: World) -> None:
    failed_by_a_dependency(world)

    assert [delay_s for _, delay_s in world.queue.delays] == [0]


def test_a_failed_document_is_pending_at_once_and_indexed_when_its_message_arrives(world: World) -> None:
    failed_by_a_dependency(world)

    tried = world.app.documents.retry_documents(world.caller, world.key("team/a.md"))

    assert (tried.status, world.head("team/a.md").status, world.head("team/a.md").error) == ("pending", "pending", None)
    assert world.queue.sent == ["acme/team/a.md"]
    world.deliver(world.message(Change(world.queue.sent[0])))
    assert world.head("team/a.md").status == "indexed"
    assert world.texts("pump") == ["The pump is red."]


def test_a_document_that_still_fails_says_so_again(world: World) -> None:
    world.put("team/empty.md", "")

    world.app.documents.retry_documents(world.caller, world.key("team/empty.md"))
    world.deliver(world.message(Change(world.queue.sent[0])))

    head = world.head("team/empty.md")
    assert (head.status, head.error and head.error.code) == ("failed", "EMPTY_DOCUMENT")


def test_while_it_is_tried_again_the_last_good_revision_continues_to_answer(world: World) -> None:
    world.put("team/a.md", "The pump is blue.")
    failed_by_a_dependency(world)

    world.app.documents.retry_documents(world.caller, world.key("team/a.md"))

    assert world.texts("pump") == ["The pump is blue."]


def test_a_retry_of_what_is_indexed_changes_nothing(world: World) -> None:
    world.put("team/a.md", "Words.")
    before = world.head("team/a.md")

    assert world.app.documents.retry_documents(world.caller, before.key).status == "indexed"
    world.deliver(world.message(Change(world.queue.sent[0])))

    assert world.head("team/a.md") == before


def test_what_is_not_there_or_not_in_scope_is_not_found(world: World) -> None:
    world.put("team/a.md", "Words.")
    for caller, path in ((world.caller, "team/none.md"), (Caller(world.tenant, "writer", ("hr",)), "team/a.md")):
        with pytest.raises(DocumentNotFoundError):
            world.app.documents.retry_documents(caller, world.key(path))
    assert world.queue.sent == []
