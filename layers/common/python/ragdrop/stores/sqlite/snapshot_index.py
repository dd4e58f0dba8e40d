"""The ChunkIndex of an outage: a tenant's snapshot on the local disk."""

# ruff: noqa: ARG002 - what writes is refused, whatever it is given
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ragdrop.domain.chunks import CandidateQuery, Candidates, ChunkRange, Hit, IndexedChunk, RevisionPage, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop.ports import ObjectStore
from ragdrop.ports.snapshots import Snapshot
from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from ragdrop.stores.sqlite.snapshot_files import REFRESH_S, Local, SnapshotFiles
from ragdrop.stores.sqlite.snapshots import stored
from ragdrop.stores.sqlite.vectors import INT8


class SnapshotIndex:
    """Reads snapshots; whatever index is asked for, the tenant's snapshot answers.

    `candidates` looks for a newer snapshot, at most once in *refresh_s*; the other methods read the one that is held,
    so that all parts of a search come from one.  Where its vectors are of another index than the one asked for, the
    vector part of the answer is an error, and words alone decide.

    Args:
        state: The state bucket.
        folder: Where snapshots are kept; made when one is first wanted.
        clock: Seconds since 1970.
        refresh_s: For so long a snapshot is used without asking whether there is a newer one.
        extension: sqlite-vec's library; None finds it in its package.
    """

    def __init__(
        self,
        state: ObjectStore,
        folder: Path,
        *,
        clock: Callable[[], float],
        refresh_s: float = REFRESH_S,
        extension: str | None = None,
    ) -> None:
        self._state = state
        self._chunks = SqliteChunkIndex(folder, extension=extension, vectors=INT8)
        self._files = SnapshotFiles(state, lambda: _made(folder), clock=clock, refresh_s=refresh_s, dropped=self._close)

    def current(self, tenant: str, deadline: Deadline) -> Snapshot:
        """Have the tenant's snapshot ready.

        Raises:
            DatabaseError: There is none, or not yet.
        """
        return self._files.current(tenant, deadline).snapshot

    def stored(self, tenant: str) -> Snapshot | None:
        """What the snapshot in the bucket says of itself, by one HeadObject."""
        return stored(self._state, tenant)

    def candidates(self, index: IndexRef, queries: Sequence[CandidateQuery], deadline: Deadline) -> list[Candidates]:
        """Vector and lexical hits of every query, from the newest snapshot that can be had."""
        held = self._files.current(index.tenant, deadline)
        part, same = _part(index, held), held.snapshot.index == index.name
        asked = queries if same else [replace(query, vector=None) for query in queries]
        found = self._chunks.candidates(part, asked, deadline)
        self._held(index)  # had another process removed the file before it was opened, it would have looked empty
        if same:
            return found
        error = DatabaseError("the snapshot's vectors are of another index", service="snapshot")
        return [
            replace(each, vector_error=None if query.vector is None else error)
            for each, query in zip(found, queries, strict=True)
        ]

    def read(self, index: IndexRef, ranges: Sequence[ChunkRange], deadline: Deadline) -> list[list[Hit]]:
        """The chunks of each range."""
        return self._chunks.read(_part(index, self._held(index)), ranges, deadline)

    def nearest_of(
        self, index: IndexRef, wanted: Vector | None, revisions: Sequence[tuple[DocumentKey, int]], deadline: Deadline
    ) -> list[Hit]:
        """Of each revision the chunk nearest to *wanted*; its first one where the vectors are of another index."""
        held = self._held(index)
        vector = wanted if held.snapshot.index == index.name else None
        return self._chunks.nearest_of(_part(index, held), vector, revisions, deadline)

    def count(self, index: IndexRef, deadline: Deadline) -> int:
        """Chunks in the snapshot that is held."""
        return self._chunks.count(_part(index, self._held(index)), deadline)

    def revisions(self, index: IndexRef, *, cursor: str | None, limit: int, deadline: Deadline) -> RevisionPage:
        """Some of the revisions in the snapshot that is held."""
        held = _part(index, self._held(index))
        return self._chunks.revisions(held, cursor=cursor, limit=limit, deadline=deadline)

    def upsert(self, index: IndexRef, chunks: Sequence[IndexedChunk], deadline: Deadline) -> None:
        """Never: a snapshot is only read here."""
        raise _read_only()

    def remove(
        self, index: IndexRef, key: DocumentKey, *, before_revision: int, deadline: Deadline, from_revision: int = 0
    ) -> int:
        """Never: a snapshot is only read here."""
        raise _read_only()

    def verify(self, index: IndexRef, deadline: Deadline) -> None:
        """Return if the snapshot that is held can be read."""
        self._chunks.verify(_part(index, self._held(index)), deadline)

    def drop(self, index: IndexRef, deadline: Deadline) -> int:
        """Never: a snapshot is only read here."""
        raise _read_only()

    def refresh(self, indexes: Iterable[IndexRef], deadline: Deadline) -> None:
        """Nothing to do: nothing is written."""

    def check(self, deadline: Deadline) -> None:
        """Return if the extension loads."""
        self._chunks.check(deadline)

    def _held(self, index: IndexRef) -> Local:
        held = self._files.held(index.tenant)
        if held is None:
            raise DatabaseError("no snapshot of this tenant is held", service="snapshot")
        return held

    def _close(self, tenant: str, name: str) -> None:
        """Close the connections to a file that is gone: an open one would go on taking its room on the disk."""
        self._chunks.files.close(IndexRef(tenant, name, 0))


def _part(index: IndexRef, held: Local) -> IndexRef:
    """What the file of a snapshot is to the embedded index: one of its own, named by its ETag."""
    return replace(index, name=held.name, dimension=held.snapshot.dimension)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _read_only() -> DatabaseError:
    return DatabaseError("a snapshot cannot be written to here", service="snapshot", retryable=False)
