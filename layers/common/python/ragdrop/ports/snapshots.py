"""Snapshots of tenants' chunks: written by the sweep, searched while the index is down."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.snapshots import Snapshot
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.chunk_index import ChunkIndex


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
