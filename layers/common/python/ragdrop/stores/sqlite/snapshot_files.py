"""Snapshots on the local disk: downloaded on demand, by ranges, bounded in bytes."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backports import zstd

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CircuitOpenError, DatabaseError
from ragdrop.ports import ObjectStore
from ragdrop.ports.snapshots import Snapshot, from_metadata, snapshot_name

PIECE_BYTES = 8 << 20  # of a download: what is lost where a request ends in the middle of one
BLOCK_BYTES = 1 << 20
RESERVE_S = 0.5  # left for the search itself when a download has to stop
REFRESH_S = 60.0  # how late a newer snapshot may be noticed
MISSING_S = 5.0  # how long one that was not there is not looked for
MAX_LOCAL_BYTES = 900_000_000  # of the 1,024 MB that the template gives /tmp


@dataclass(frozen=True, slots=True)
class Local:
    """A snapshot in the file `{folder}/{tenant}/{name}.db`, which a reader must not change."""

    snapshot: Snapshot
    name: str
    checked_at_s: float


class SnapshotFiles:
    """The snapshots held in *folder*, each in a file named by its ETag, so that several processes may share it.

    Args:
        state: The state bucket.
        folder: Makes the folder when it is first wanted.
        clock: Seconds since 1970.
        refresh_s: For so long a snapshot is used without asking whether there is a newer one.
        max_bytes: Of all files together; the least recently used go first.
        piece_bytes: Of one request to S3.
        dropped: Told tenant and name of each file that goes, so that nobody keeps it open.
    """

    def __init__(
        self,
        state: ObjectStore,
        folder: Callable[[], Path],
        *,
        clock: Callable[[], float],
        refresh_s: float = REFRESH_S,
        max_bytes: int = MAX_LOCAL_BYTES,
        piece_bytes: int = PIECE_BYTES,
        dropped: Callable[[str, str], None] = lambda _tenant, _name: None,
    ) -> None:
        self._state = state
        self._folder = folder
        self._clock = clock
        self._refresh_s = refresh_s
        self._max_bytes = max_bytes
        self._piece_bytes = piece_bytes
        self._dropped = dropped
        self._held: dict[str, Local] = {}
        self._missing_until_s: dict[str, float] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def held(self, tenant: str) -> Local | None:
        """The tenant's snapshot as it is here, without asking for a newer one."""
        found = self._held.get(tenant)
        return found if found is not None and self.path(tenant, found.name).exists() else None

    def current(self, tenant: str, deadline: Deadline) -> Local:
        """The newest snapshot, or the one held where that cannot be had in time.

        Raises:
            CircuitOpenError: S3 is behind an open breaker, and none is held.
            DatabaseError: There is none, or not yet: what was fetched so far is kept, and the next call goes on.
        """
        with self._turn(tenant, deadline):
            held, now_s = self.held(tenant), self._clock()
            if held is not None and now_s - held.checked_at_s < self._refresh_s:
                self._touch(tenant, held)
                return held
            if held is None and now_s < self._missing_until_s.get(tenant, 0.0):
                raise _unavailable("there is no snapshot of this tenant")
            try:
                newest = self._newest(tenant, held, deadline)
            except (DatabaseError, CircuitOpenError) as exc:
                if held is None and isinstance(exc, CircuitOpenError):
                    raise
                if held is None:
                    raise _unavailable(f"no snapshot could be fetched: {exc.message}") from exc
                newest = held
            if newest is None:
                self._forget(tenant)
                self._missing_until_s[tenant] = now_s + MISSING_S
                raise _unavailable("there is no snapshot of this tenant")
            self._keep(tenant, newest, now_s)
            return newest

    def path(self, tenant: str, name: str) -> Path:
        """Where a snapshot's file is, or would be."""
        return self._folder() / tenant / f"{name}.db"

    def _newest(self, tenant: str, held: Local | None, deadline: Deadline) -> Local | None:
        found = self._state.head(snapshot_name(tenant))
        snapshot = found and from_metadata(found.metadata, etag=found.etag, packed_bytes=found.size_bytes)
        if not snapshot:
            return None
        if held is not None and held.snapshot.etag == snapshot.etag:
            return held
        path = self.path(tenant, snapshot.etag)
        with _translated():
            if not path.exists():
                self._fetch(tenant, snapshot, path, deadline)
        return Local(snapshot, snapshot.etag, 0.0)

    def _fetch(self, tenant: str, snapshot: Snapshot, path: Path, deadline: Deadline) -> None:
        """Bring the file, or what there is time for; another process may do the same, whoever ends last replaces."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        unpacked = path.with_suffix(f".{os.getpid()}.new")
        self._make_room(snapshot.packed_bytes + snapshot.size_bytes, keep=(part, path))
        name = snapshot_name(tenant)
        fetch(self._state, name, part, snapshot.packed_bytes, deadline, piece_bytes=self._piece_bytes)
        try:
            unpack(part, unpacked, snapshot.sha256)
            unpacked.replace(path)
        finally:
            part.unlink(missing_ok=True)
            unpacked.unlink(missing_ok=True)

    def _make_room(self, wanted_bytes: int, keep: tuple[Path, ...]) -> None:
        """Remove files, the least recently used first, until *wanted_bytes* fit."""
        files = sorted((p for p in self._folder().glob("*/*") if p not in keep), key=lambda each: each.stat().st_mtime)
        left = self._max_bytes - wanted_bytes - sum(each.stat().st_size for each in files)
        for each in files:
            if left >= 0:
                return
            left += each.stat().st_size
            self._remove(each.parent.name, each)
        if left < 0:
            raise _unavailable(f"a snapshot of {wanted_bytes} bytes does not fit the {self._max_bytes} there are")

    def _keep(self, tenant: str, newest: Local, now_s: float) -> None:
        before = self._held.get(tenant)
        self._held[tenant] = kept = Local(newest.snapshot, newest.name, now_s)
        if before is not None and before.name != newest.name:
            self._remove(tenant, self.path(tenant, before.name))
        self._touch(tenant, kept)

    def _forget(self, tenant: str) -> None:
        """Remove all that is here of a tenant's snapshots: what was purged must not stay on any disk."""
        self._held.pop(tenant, None)
        for each in (self._folder() / tenant).glob("*"):
            self._remove(tenant, each)

    def _remove(self, tenant: str, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._dropped(tenant, path.stem)

    def _touch(self, tenant: str, held: Local) -> None:
        with _translated():
            os.utime(self.path(tenant, held.name))

    @contextmanager
    def _turn(self, tenant: str, deadline: Deadline) -> Iterator[None]:
        """One thread at a time fetches a tenant's snapshot."""
        lock = self._locks[tenant]
        if not lock.acquire(timeout=max(0.0, deadline.remaining_s() - RESERVE_S)):
            raise _unavailable("the snapshot is being fetched")
        try:
            yield
        finally:
            lock.release()


def fetch(
    state: ObjectStore,
    name: str,
    target: Path,
    size_bytes: int,
    deadline: Deadline,
    *,
    piece_bytes: int = PIECE_BYTES,
) -> None:
    """Bring *target* to the whole object, piece by piece, beginning behind what it holds already.

    Raises:
        DatabaseError: The time was over, and what was fetched stays; or the object is gone.
        ObjectStoreError: S3 did not answer.
    """
    with target.open("ab") as file:
        while (at := file.tell()) < size_bytes:
            if deadline.remaining_s() < RESERVE_S:
                raise _unavailable(f"the snapshot is being fetched, {at} of {size_bytes} bytes are there")
            body = state.get(name, start=at, end=min(at + piece_bytes, size_bytes))
            if not body:
                raise _unavailable("the snapshot was removed while it was fetched")
            file.write(body)


def unpack(packed: Path, target: Path, sha256: str) -> None:
    """Decompress *packed* into *target* and check it.

    Raises:
        DatabaseError: It is not the object with this SHA-256: damaged, or two that replaced each other.
    """
    digest, inflate = hashlib.sha256(), zstd.ZstdDecompressor()
    try:
        with packed.open("rb") as source, target.open("wb") as plain:
            while block := source.read(BLOCK_BYTES):
                digest.update(block)
                plain.write(inflate.decompress(block))
    except (zstd.ZstdError, EOFError) as exc:
        raise _unavailable("the snapshot is damaged") from exc
    if digest.hexdigest() != sha256:
        raise _unavailable("the snapshot is not what its checksum says")


def _unavailable(message: str) -> DatabaseError:
    return DatabaseError(message, service="snapshot")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise DatabaseError(f"the snapshot's folder cannot be used: {exc.strerror}", service="snapshot") from exc
