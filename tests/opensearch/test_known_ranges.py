"""Texts that were read before are not read again, for a while, and only of the index and revision they were read of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from ragdrop.domain.chunks import Chunk, ChunkRange, IndexedChunk, vector
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.hits import CACHE_S, Found, KnownRanges
from ragdrop_opensearch.mapping import source_of

KEY = DocumentKey("acme", "team", "a.md")
INDEX = IndexRef("acme", "w", 2)
FACTS = Facts("A", "v1", "2026-01-01T00:00:00Z", char_count=4)


class Server:
    """Holds the chunks `a` and `b` of every revision; counts searches."""

    def __init__(self, revision: int = 1) -> None:
        self.revision = revision
        self.searches = 0

    def __call__(self, searches: Sequence[tuple[str, str]]) -> Found:
        """Both chunks of the revision."""
        self.searches += 1
        pieces = [Chunk(0, 0, 2, "a."), Chunk(1, 2, 4, "b.")]
        stored = [IndexedChunk(KEY, self.revision, piece, FACTS, vector([1.0, 0.0])) for piece in pieces]
        sources: list[dict[str, Any]] = [from_json(source_of(each)) for each in stored]
        return [[{"_source": source} for source in sources] for _ in searches]


class Clock:
    """Stands still until it is moved."""

    now_s = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s


def texts(known: KnownRanges, server: Server, index: IndexRef = INDEX, revision: int = 1) -> list[str]:
    """What is read of the whole document."""
    server.revision = revision
    [hits] = known.read(server, index, [ChunkRange(KEY, revision, 0, 1_000)])
    return [hit.chunk.text for hit in hits]


def test_a_range_that_was_read_is_not_searched_again() -> None:
    known, server = KnownRanges(Clock()), Server()

    assert (texts(known, server), texts(known, server), server.searches) == (["a.", "b."], ["a.", "b."], 1)


def test_another_revision_is_searched() -> None:
    known, server = KnownRanges(Clock()), Server()
    texts(known, server)

    assert (texts(known, server, revision=2), server.searches) == (["a.", "b."], 2)


def test_another_index_is_searched() -> None:
    known, server = KnownRanges(Clock()), Server()
    texts(known, server)
    texts(known, server, IndexRef("acme", "w2", 2))

    assert server.searches == 2


def test_what_was_read_minutes_ago_is_searched_again() -> None:
    clock, server = Clock(), Server()
    known = KnownRanges(clock)
    texts(known, server)
    clock.now_s += CACHE_S
    texts(known, server)

    assert server.searches == 2


def test_after_a_write_all_is_searched_again() -> None:
    known, server = KnownRanges(Clock()), Server()
    texts(known, server)
    known.forget()
    texts(known, server)

    assert server.searches == 2


def test_a_range_of_another_tenant_is_empty_though_its_key_was_read() -> None:
    known, server = KnownRanges(Clock()), Server()
    texts(known, server)

    assert texts(known, server, IndexRef("other", "w", 2)) == []
