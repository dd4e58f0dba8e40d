"""Write snapshots: SQLite files with the schema of the embedded index and 8-bit vectors, compressed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
from backports import zstd

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError
from ragdrop.ports import ChunkIndex, ObjectStore
from ragdrop.ports.snapshots import MEDIA_TYPE, Snapshot, SnapshotDraft, from_metadata, snapshot_name
from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from ragdrop.stores.sqlite.snapshot_files import fetch, unpack
from ragdrop.stores.sqlite.vectors import INT8

LEVEL = 1  # of zstd: higher ones take longer and gain little, as vectors do not shrink at any (ADR 0009)
BLOCK_BYTES = 1 << 20


class SqliteSnapshots:
    """Writes snapshots.

    Args:
        state: The state bucket.
        folder: Where each draft has a folder of its own; None takes the system's for temporary files.
        extension: sqlite-vec's library; None finds it in its package.
    """

    def __init__(self, state: ObjectStore, folder: Path | None = None, *, extension: str | None = None) -> None:
        self._state = state
        self._folder = folder
        self._extension = extension

    def stored(self, tenant: str) -> Snapshot | None:
        """What the tenant's snapshot says of itself."""
        return stored(self._state, tenant)

    @contextmanager
    def drafting(self, index: IndexRef, deadline: Deadline, *, anew: bool) -> Iterator[SnapshotDraft]:
        """A draft in a folder of its own, which goes at the end."""
        with _translated():
            folder = Path(tempfile.mkdtemp(prefix="ragdrop-draft-", dir=self._folder))
        chunks = SqliteChunkIndex(folder, extension=self._extension, vectors=INT8)
        try:
            basis = None if anew else self._basis(index, chunks.files.path(index), deadline)
            yield SqliteDraft(self._state, chunks, index, basis, deadline)
        finally:
            chunks.files.close()
            shutil.rmtree(folder, ignore_errors=True)

    def remove(self, tenant: str) -> int:
        """Remove a tenant's snapshot with all of its versions."""
        return self._state.purge(snapshot_name(tenant))

    def _basis(self, index: IndexRef, path: Path, deadline: Deadline) -> Snapshot | None:
        """Put the last snapshot at *path*; None where there is none, or one that an increment cannot begin with."""
        last = self.stored(index.tenant)
        if last is None or (last.index, last.dimension) != (index.name, index.dimension):
            return None
        packed = path.with_suffix(".zst")
        with _translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                fetch(self._state, snapshot_name(index.tenant), packed, last.packed_bytes, deadline)
                unpack(packed, path, last.sha256)
            except DatabaseError:  # replaced or damaged: it is made again, which needs nothing of it
                path.unlink(missing_ok=True)
                return None
            finally:
                packed.unlink(missing_ok=True)
        return last


class SqliteDraft:
    """A snapshot while it is written."""

    def __init__(
        self, state: ObjectStore, chunks: SqliteChunkIndex, index: IndexRef, basis: Snapshot | None, deadline: Deadline
    ) -> None:
        self.chunks: ChunkIndex = chunks
        self.basis = basis
        self._files = chunks.files
        self._state = state
        self._index = index
        self._deadline = deadline

    def size_bytes(self) -> int:
        """Pages in use; what was removed is given back when the draft is published."""
        with self._files.reading(self._index, self._deadline) as connection:
            if connection is None:
                return 0
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").get) for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def publish(self, snapshot: Snapshot) -> Snapshot:
        """Compact the file, pack it and write the object in one piece: a reader sees the old or the new one."""
        with self._files.writing(self._index, self._deadline):
            pass  # a tenant without documents has an empty file
        path = self._files.path(self._index)
        compact, packed = path.with_suffix(".compact"), path.with_suffix(".zst")
        with _translated():
            try:
                connection = self._files.connect(path)
                try:
                    connection.execute("VACUUM INTO ?", (str(compact),)).fetchall()
                finally:
                    connection.close(force=True)
                digest = _pack(compact, packed)
                whole = replace(
                    snapshot,
                    size_bytes=compact.stat().st_size,
                    packed_bytes=packed.stat().st_size,
                    sha256=digest,
                )
                body = packed.read_bytes()
            finally:
                compact.unlink(missing_ok=True)
                packed.unlink(missing_ok=True)
        name = snapshot_name(self._index.tenant)
        written = self._state.put(name, body, media_type=MEDIA_TYPE, metadata=whole.metadata())
        return replace(whole, etag=written.etag)


def stored(state: ObjectStore, tenant: str) -> Snapshot | None:
    """What the tenant's snapshot says of itself, by one HeadObject; None where there is none that can be read."""
    found = state.head(snapshot_name(tenant))
    return None if found is None else from_metadata(found.metadata, etag=found.etag, packed_bytes=found.size_bytes)


def _pack(source: Path, target: Path) -> str:
    """Compress *source*; the SHA-256 of *target* in hex."""
    with source.open("rb") as plain, zstd.open(target, "wb", level=LEVEL) as packed:
        shutil.copyfileobj(plain, packed, BLOCK_BYTES)
    with target.open("rb") as written:
        return hashlib.file_digest(written, "sha256").hexdigest()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as exc:  # only its name: SQLite's messages may quote
        raise DatabaseError(f"the snapshot could not be written: {type(exc).__name__}", service="snapshot") from exc
    except OSError as exc:
        raise DatabaseError(f"the snapshot's folder cannot be used: {exc.strerror}", service="snapshot") from exc
