"""Large documents for tests: a world where 300 characters are a part, and workers that do one part at a time."""

from __future__ import annotations

from typing import Any

from ragdrop.errors import DeadlineError
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.ports.message_queue import Delivery
from testing.memory_object_store import MemoryObjectStore
from tests.world import World

PATH = "team/long.txt"
PARTS = 10


def text_of(word: str) -> str:
    """A text of ten parts of 300 characters."""
    paragraphs = [f"Paragraph {n} of {word}: " + f"{word} filler " * 12 for n in range(PARTS)]
    return "\n\n".join(paragraph[:295].ljust(295, ".") for paragraph in paragraphs)


def large_world(**parts: Any) -> World:
    state = MemoryObjectStore("state")
    return World(state=state, revisions=RevisionStore(state, part_characters=300), **parts)


def one_part_at_a_time(world: World) -> None:
    """Let the embedding service take so long that no invocation does more than one part."""
    passages: Any = world.embedder.passages
    calls: list[int] = []

    def slow(texts: list[str], *rest: Any) -> Any:
        if calls and calls[-1] == world.registry.calls.count("renew") - 1:
            calls.append(-9)
            raise DeadlineError("no time was left for embed", service="embed", stage="embed")
        calls.append(world.registry.calls.count("renew"))
        return passages(texts, *rest)

    world.embedder.passages = slow


def finish(world: World) -> int:
    """Deliver what was handed over until nothing is; how many messages."""
    count = 0
    while messages := world.handed_over():
        count += len(messages)
        assert world.deliver(*messages) == []
    return count


def again(message: Delivery, receives: int = 2) -> Delivery:
    """The same message, received once more."""
    return Delivery(message.message_id, message.receipt_handle, receives, message.changes)
