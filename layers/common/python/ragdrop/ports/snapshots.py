"""Snapshots: their metadata, and which documents a bounded snapshot holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import PROMOTION_LEVELS, Head
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.chunk_index import ChunkIndex

FORMAT_VERSION = 1  # raised when an older reader could not read the file; it then takes it for none
MAX_CHUNKS = 150_000  # docs/adr/0009-snapshots.md, as are the next line's megabytes
MAX_BYTES = 300_000_000  # of the file as it lies in /tmp, not of the compressed object
MEDIA_TYPE = "application/zstd"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one tenant's snapshot may hold."""

    chunks: int = MAX_CHUNKS
    size_bytes: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a snapshot says of itself.

    Args:
        index: The concrete index whose chunks and vectors it holds, `dimension` numbers each.
        generation: The tenant's at the start of the writing: a tenant at another one may have changed since.
        created_at_s: Seconds since 1970 when the documents were looked at.
        chunks, documents: What it holds.
        live_chunks: What the tenant had.
        finished: Whether nothing was left for the next run: False where the time was over.
        size_bytes: Of the file, not compressed.
        sha256: Of the compressed object, in hex.
        etag: S3's of the object; empty until it was written.
        packed_bytes: Of the compressed object.
    """

    index: str
    dimension: int
    generation: int
    created_at_s: float
    chunks: int
    documents: int
    live_chunks: int
    finished: bool = True
    size_bytes: int = 0
    sha256: str = ""
    etag: str = ""
    packed_bytes: int = 0

    @property
    def coverage(self) -> float:
        """The share of the tenant's chunks that it holds, in [0, 1].

        >>> Snapshot("i", 8, 1, 0.0, chunks=3, documents=1, live_chunks=4).coverage
        0.75
        """
        return min(1.0, self.chunks / self.live_chunks) if self.live_chunks else 1.0

    def age_s(self, now_s: float) -> float:
        """Seconds since its documents were looked at, never negative."""
        return max(0.0, round(now_s - self.created_at_s, 3))

    def metadata(self) -> dict[str, str]:
        """The object's metadata, which a HeadObject brings."""
        return {
            "format": str(FORMAT_VERSION),
            "index": self.index,
            "dimension": str(self.dimension),
            "generation": str(self.generation),
            "created-at-s": repr(self.created_at_s),
            "chunks": str(self.chunks),
            "documents": str(self.documents),
            "live-chunks": str(self.live_chunks),
            "finished": str(int(self.finished)),
            "size-bytes": str(self.size_bytes),
            "sha256": self.sha256,
        }


def from_metadata(metadata: Mapping[str, str], *, etag: str, packed_bytes: int) -> Snapshot | None:
    """Read what `Snapshot.metadata` wrote; None of another format, or of something else.

    >>> one = Snapshot("i", 8, 1, 2.5, chunks=3, documents=1, live_chunks=4, sha256="ab")
    >>> from_metadata(one.metadata(), etag="", packed_bytes=0) == one
    True
    >>> from_metadata({"format": "0"}, etag="", packed_bytes=0) is None
    True
    """
    if metadata.get("format") != str(FORMAT_VERSION):
        return None
    try:
        return Snapshot(
            index=metadata["index"],
            dimension=int(metadata["dimension"]),
            generation=int(metadata["generation"]),
            created_at_s=float(metadata["created-at-s"]),
            chunks=int(metadata["chunks"]),
            documents=int(metadata["documents"]),
            live_chunks=int(metadata["live-chunks"]),
            finished=metadata["finished"] == "1",
            size_bytes=int(metadata["size-bytes"]),
            sha256=metadata["sha256"],
            etag=etag,
            packed_bytes=packed_bytes,
        )
    except (KeyError, ValueError):
        return None


def in_order(heads: Iterable[Head]) -> list[Head]:
    """Live documents, those first that a bounded snapshot must hold: critical, important, then the latest changed.

    >>> from ragdrop.domain.documents import Status
    >>> from ragdrop.domain.keys import DocumentKey
    >>> def head(path, level, day):
    ...     key = DocumentKey("acme", "team", path)
    ...     return Head(key, Status.INDEXED, 1, 1, promotion_level=level, updated_at=f"2026-01-0{day}T00:00:00Z")
    >>> heads = [head("a", "standard", 1), head("b", "standard", 2), head("c", "critical", 1)]
    >>> [each.key.path for each in in_order(heads)]
    ['c', 'b', 'a']
    """
    live = sorted((head for head in heads if head.live_revision is not None), key=lambda head: head.key.s3_key)
    live.sort(key=lambda head: head.updated_at, reverse=True)
    return sorted(live, key=lambda head: -PROMOTION_LEVELS.index(head.promotion_level))


def fitting(heads: Iterable[Head], max_chunks: int) -> list[Head]:
    """The first of *heads* that have at most *max_chunks* together; behind one that does not fit a later one may."""
    kept, left = [], max_chunks
    for head in heads:
        if head.chunk_count <= left:
            kept.append(head)
            left -= head.chunk_count
    return kept


def snapshot_name(tenant: str) -> str:
    """The one object of the state bucket that holds a tenant's snapshot.

    >>> snapshot_name("acme")
    'snapshots/acme/chunks.db.zst'
    """
    return f"snapshots/{tenant}/chunks.db.zst"


class SnapshotDraft(Protocol):
    """A snapshot while it is written: a chunk index in a local file.

    `chunks` is written and read like any index; `basis` is the snapshot that it began as, None for an empty one.
    """

    chunks: ChunkIndex
    basis: Snapshot | None

    def size_bytes(self) -> int:
        """What the file takes, without what was removed from it."""
        ...

    def publish(self, snapshot: Snapshot) -> Snapshot:
        """Pack the file and put it in place of the last one; *snapshot* with what only now is known."""
        ...


class SnapshotWriter(Protocol):
    """Writes snapshots.  Methods raise ObjectStoreError when S3 does not answer, DatabaseError for the local file."""

    def stored(self, tenant: str) -> Snapshot | None:
        """What the tenant's snapshot says of itself; None where there is none that can be read."""
        ...

    def drafting(self, index: IndexRef, deadline: Deadline, *, anew: bool) -> AbstractContextManager[SnapshotDraft]:
        """A draft that begins as the last snapshot of this index, empty where there is none or with *anew*.

        Its file goes at the end of the block, published or not.
        """
        ...

    def remove(self, tenant: str) -> int:
        """Remove a tenant's snapshot for good; how many versions of it went."""
        ...


class SnapshotReader(Protocol):
    """Snapshots as this execution environment keeps them on its own disk."""

    def current(self, tenant: str, deadline: Deadline) -> Snapshot:
        """Have the tenant's snapshot ready for a search: the newest, or the one held where that does not come in time.

        Raises:
            DatabaseError: There is none, or not yet: what was fetched so far is kept, and the next call goes on.
        """
        ...

    def stored(self, tenant: str) -> Snapshot | None:
        """What the tenant's snapshot in the bucket says of itself, without fetching it; None where there is none.

        Raises:
            ObjectStoreError: S3 did not answer.
        """
        ...
