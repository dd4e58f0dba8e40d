"""The messages of one invocation: they share requests, and not each other's failures."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Barrier
from typing import Any

from ragdrop.domain.chunks import IndexedChunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, EmbeddingServiceError
from ragdrop.ports.message_queue import Change
from tests.world import World

OUTAGE = EmbeddingServiceError("down", service="embedding")


def test_one_failure_leaves_the_rest_of_the_batch_unharmed(world: World) -> None:
    for name in ("a", "b"):
        world.put(f"team/{name}.md", f"Text of {name}.", ingest=False)
    good = world.message(Change(world.key("team/a.md").s3_key))
    bad = world.message(Change(world.key("team/b.md").s3_key))
    passages = world.embedder.passages

    def picky(texts: list[str], *rest: object) -> object:
        if any("b" in text.split()[-1] for text in texts):
            raise OUTAGE
        return passages(texts, *rest)

    world.embedder.passages = picky

    assert world.deliver(good, bad) == [bad]
    assert world.texts("text") == ["Text of a."]


def test_a_document_that_the_index_refuses_leaves_the_rest_of_the_batch_unharmed(world: World) -> None:
    for name in ("a", "b", "c"):
        world.put(f"team/{name}.md", f"Text of {name}.", ingest=False)
    good, bad, other = (world.message(Change(world.key(f"team/{name}.md").s3_key)) for name in "abc")
    upsert = world.index.upsert

    def picky(index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        if any(each.key.path == "b.md" for each in chunks):
            raise DatabaseError("refused", service="index")
        upsert(index, chunks, deadline)

    world.index.upsert = picky

    assert world.deliver(good, bad, other) == [bad]
    assert sorted(world.texts("text")) == ["Text of a.", "Text of c."]


def test_a_batch_is_written_and_refreshed_once(world: World) -> None:
    for name in "abc":
        world.put(f"team/{name}.md", f"Text {name}.", ingest=False)

    world.deliver(*(world.message(Change(world.key(f"team/{name}.md").s3_key)) for name in "abc"))

    assert (world.index.calls.count("upsert"), world.index.calls.count("refresh")) == (1, 1)
    assert len(world.texts("text")) == 3


def test_the_chunks_of_the_documents_of_a_batch_are_stored_at_once(world: World) -> None:
    for name in "ab":
        world.put(f"team/{name}.md", f"Text {name}.", ingest=False)
    both, put = Barrier(2, timeout=10), world.state.put

    def waits_for_the_other(key: str, *rest: Any, **more: Any) -> Any:
        if "/chunks/" in key:
            both.wait()  # raises BrokenBarrierError where the writes come one after the other
        return put(key, *rest, **more)

    world.state.put = waits_for_the_other

    assert world.deliver(*(world.message(Change(world.key(f"team/{name}.md").s3_key)) for name in "ab")) == []
    assert sorted(world.texts("text")) == ["Text a.", "Text b."]
