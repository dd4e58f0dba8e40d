"""The chunk index: write, refresh, search, remove; and the store of manifests of bucket indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragdrop.domain.chunks import IndexedChunk, RevisionPage
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.search_services import SearchableIndex

SMALL_BYTES = 64 << 20  # of an index that each sweep reads whole
ALL_BYTES = 1 << 62
SHARD_PATH = "/shard"
"""The path of an event that asks the query function for one shard of an index; no route of the API is there."""


@dataclass(frozen=True, slots=True)
class BytesToRead:
    """How much of an index `verify` reads: *least_bytes*, those not read for longest, and all parts named *suspects*.

    `progress` gets the bytes that were read so far, and those of the index.
    """

    least_bytes: int = SMALL_BYTES
    suspects: frozenset[str] = frozenset()
    progress: Callable[[int, int], None] = field(default=lambda _done, _of: None, compare=False)


NAMES_ALONE = BytesToRead(least_bytes=0)
SOME_BYTES = BytesToRead()


@dataclass(frozen=True, slots=True)
class IndexFaults:
    """What the durable copies of an index lack, a sentence each; `chunks` is the most that the sound ones hold.

    None if that is not known without a search.
    """

    found: tuple[str, ...] = ()
    chunks: int | None = None


class ChunkIndex(SearchableIndex, Protocol):
    """Vector and lexical search over chunks.  Creates what it needs on first use.

    All methods raise DatabaseError; ConfigurationError for a wrong dimension, a missing plugin or a server too old.
    An index holds what was written, superseded revisions too: whether a hit may answer is the registry's to say.
    """

    def drops_superseded(self, index: IndexRef) -> bool:
        """Whether superseded revisions go without being removed one by one."""

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Write chunks; the same id replaces.  Visible to searches after `refresh`."""

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Return once all that was written before to *indexes* is visible to searches."""

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Remove the document's chunks of revisions from *from_revision* to below *before_revision*; how many.

        Also those that are not yet visible.
        """

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Up to *limit* of the tenant's revisions that have visible chunks, each once: for the sweep alone."""

    def faults(self, index: IndexRef, deadline: Deadline) -> IndexFaults:
        """What is missing or was overwritten, by names, sizes and ETags: cheap, as no content is read."""

    def verify(self, index: IndexRef, deadline: Deadline, reading: BytesToRead = SOME_BYTES) -> int | None:
        """Return if what is stored of the tenant is there and, as far as *reading* goes, what was written.

        Returns:
            The most chunks that it can hold; None where only `count` knows.

        Raises:
            IndexLostError: It is damaged.
        """

    def discard_damaged(self, index: IndexRef, deadline: Deadline) -> None:
        """Drop what `verify` complains of, or all, so that it can be written again."""

    def damaged(self, index: IndexRef) -> tuple[str, ...]:
        """Names of the parts that could not be read lately, as this environment knows; it asks nobody."""

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove all of the tenant's chunks from this index; how many.  No error where there is no such index."""

    def check(self, deadline: Deadline) -> None:
        """Return if the index can be searched, else raise."""


class LayeredIndex(ChunkIndex, Protocol):
    """An index that can be searched with more chunks than were written to it."""

    def overlaid(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> SearchableIndex:
        """What *index* holds, then and later, and *chunks* beside it, ranked as if all were one index.

        Nothing is written that another reader sees.
        """


FindDead = Callable[[Sequence[tuple[DocumentKey, int]]], set[tuple[DocumentKey, int]]]
"""Which of up to 100 revisions can never answer again."""


class MergingIndex(ChunkIndex, Protocol):
    """An index that is written in segments, which are made fewer.  All methods raise DatabaseError."""

    def merge_is_due(self, index: IndexRef) -> bool:
        """Whether a merge should be asked for, by what this environment wrote last; it asks nobody."""

    def merge(self, index: IndexRef, deadline: Deadline, dead: FindDead = ..., *, everything: bool = False) -> int:
        """Make one segment of some, or of *everything*, without what is *dead*; how many there were.

        Two merges at once are harmless.

        Raises DeadlineError: the time was used up; nothing has changed.
        """

    def tidy(self, index: IndexRef, deadline: Deadline) -> int:
        """Remove segments from the bucket that no reader can use any more; how many."""


class ManifestStore(Protocol):
    """One text for each tenant and index, changed only by conditional write.  All methods raise DatabaseError."""

    def read(self, tenant: str, index: str) -> str | None:
        """The text as it is now (strongly consistent); None if there is none."""

    def write(self, tenant: str, index: str, body: str, sequence: int, before: int) -> bool:
        """Write *body* as number *sequence* if the text there is number *before*, 0 for none; whether it was."""

    def delete(self, tenant: str, index: str) -> None:
        """Remove the text; no error where there is none."""
