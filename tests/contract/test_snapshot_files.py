"""Snapshots on this environment's own disk, fetched from every kind of object store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.chunks import Chunk, IndexedChunk, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import DatabaseError, ObjectStoreError
from ragdrop.ports import ObjectStore
from ragdrop.ports.snapshots import Snapshot, snapshot_name
from ragdrop.stores.sqlite.snapshot_files import RESERVE_S, SnapshotFiles
from ragdrop.stores.sqlite.snapshots import SqliteSnapshots
from tests.contract.aws_fixtures import store_engine

PIECE = 500


class Watched:
    """An object store that notes what is asked of it; every range that it gives takes *seconds_a_get*."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.asked: list[str] = []
        self.now_s = 1_000.0
        self.seconds_a_get = 0.0
        self.down = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def head(self, key: str) -> Any:
        self.asked.append("head")
        if self.down:
            raise ObjectStoreError("down", service="object_store")
        return self.store.head(key)

    def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes | None:
        self.asked.append(f"{start}-{end}")
        self.now_s += self.seconds_a_get
        return self.store.get(key, start=start, end=end)


@pytest.fixture(params=("memory", "aws"))
def state(request: pytest.FixtureRequest) -> Iterator[Watched]:
    with store_engine(request.param) as engine:
        yield Watched(engine.store)


def files(state: Watched, folder: Path, **named: Any) -> SnapshotFiles:
    store: Any = state
    return SnapshotFiles(
        store, lambda: made(folder), clock=lambda: state.now_s, **{"piece_bytes": PIECE, "refresh_s": 60.0} | named
    )


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def left(state: Watched, seconds: float) -> Deadline:
    return Deadline.after(seconds, clock=lambda: state.now_s)


def publish(state: Watched, tenant: str = "acme", *, text: str = "words", generation: int = 1) -> Snapshot:
    """Write a snapshot of one chunk, some kilobytes long."""
    ref = IndexRef(tenant, "i-1", 8)
    chunk = IndexedChunk(
        DocumentKey(tenant, "team", "a.md"),
        1,
        Chunk(0, 0, len(text), text),
        Facts("a", "v1", "2026"),
        vector([1.0] * 8),
    )
    with SqliteSnapshots(state.store).drafting(ref, Deadline.after(30), anew=True) as draft:
        draft.chunks.upsert(ref, [chunk], Deadline.after(30))
        return draft.publish(Snapshot("i-1", 8, generation, state.now_s, chunks=1, documents=1, live_chunks=1))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*"))


def test_what_was_published_says_in_its_metadata_what_it_is(state: Watched) -> None:
    made_now = publish(state)

    found = SqliteSnapshots(state.store).stored("acme")

    assert found == made_now
    assert made_now.packed_bytes < made_now.size_bytes
    assert SqliteSnapshots(state.store).stored("other") is None


def test_a_snapshot_is_fetched_piece_by_piece_and_kept(state: Watched, tmp_path: Path) -> None:
    snapshot = publish(state)
    held = files(state, tmp_path).current("acme", left(state, 10))

    pieces = -(-snapshot.packed_bytes // PIECE)
    assert pieces > 1
    assert len(state.asked) == 1 + pieces
    assert (held.snapshot, names(tmp_path)) == (snapshot, [f"acme/{snapshot.etag}.db"])
    assert (tmp_path / names(tmp_path)[0]).stat().st_size == snapshot.size_bytes


def test_a_download_that_does_not_fit_the_time_goes_on_where_it_was(state: Watched, tmp_path: Path) -> None:
    snapshot, local = publish(state), files(state, tmp_path)
    state.seconds_a_get = 1.0

    with pytest.raises(DatabaseError, match=f"is being fetched, {PIECE} of {snapshot.packed_bytes} bytes are there"):
        local.current("acme", left(state, 1.0 + RESERVE_S / 2))
    state.asked.clear()
    held = local.current("acme", left(state, 60))

    assert held.snapshot == snapshot
    assert state.asked[:2] == ["head", f"{PIECE}-{min(2 * PIECE, snapshot.packed_bytes)}"]


def test_an_older_snapshot_is_used_while_the_newer_one_is_fetched(state: Watched, tmp_path: Path) -> None:
    older, local = publish(state), files(state, tmp_path)
    local.current("acme", left(state, 60))
    publish(state, generation=2, text="other words")
    state.now_s += 61
    state.seconds_a_get = 1.0

    assert local.current("acme", left(state, 0.9)).snapshot == older
    state.now_s += 61
    assert local.current("acme", left(state, 60)).snapshot.generation == 2


def test_a_newer_one_is_looked_for_once_a_minute_and_only_fetched_where_the_etag_changed(
    state: Watched, tmp_path: Path
) -> None:
    publish(state)
    local = files(state, tmp_path)
    local.current("acme", left(state, 60))
    state.asked.clear()

    local.current("acme", left(state, 60))
    assert state.asked == []
    state.now_s += 61
    local.current("acme", left(state, 60))
    assert state.asked == ["head"]


def test_a_newer_one_takes_the_place_of_the_older_and_the_file_of_that_goes(state: Watched, tmp_path: Path) -> None:
    dropped: list[tuple[str, str]] = []
    older = publish(state)
    local = files(state, tmp_path, dropped=lambda tenant, name: dropped.append((tenant, name)))
    local.current("acme", left(state, 60))
    newer = publish(state, generation=2, text="other words")
    state.now_s += 61

    assert local.current("acme", left(state, 60)).snapshot == newer
    assert names(tmp_path) == [f"acme/{newer.etag}.db"]
    assert ("acme", older.etag) in dropped


def test_the_least_recently_used_goes_where_there_is_no_room_for_all(state: Watched, tmp_path: Path) -> None:
    sizes = [publish(state, tenant, text=tenant) for tenant in ("one", "two", "three")]
    room = sum(each.size_bytes for each in sizes) + sizes[-1].packed_bytes - 1
    local = files(state, tmp_path, max_bytes=room)
    local.current("one", left(state, 60))
    local.current("two", left(state, 60))
    for age, tenant in ((100, "one"), (50, "two")):
        [path] = (tmp_path / tenant).glob("*.db")
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    local.current("one", left(state, 60))  # used again

    local.current("three", left(state, 60))

    assert [name.partition("/")[0] for name in names(tmp_path)] == ["one", "three"]


def test_one_that_would_not_fit_at_all_is_told(state: Watched, tmp_path: Path) -> None:
    publish(state)

    with pytest.raises(DatabaseError, match="does not fit"):
        files(state, tmp_path, max_bytes=1_000).current("acme", left(state, 60))


def test_where_there_is_none_the_store_is_asked_once_in_five_seconds(state: Watched, tmp_path: Path) -> None:
    local = files(state, tmp_path)
    for _ in range(3):
        with pytest.raises(DatabaseError, match="there is no snapshot"):
            local.current("acme", left(state, 60))
    assert state.asked == ["head"]
    publish(state)
    state.now_s += 6

    assert local.current("acme", left(state, 60)).snapshot.chunks == 1


def test_what_was_removed_from_the_store_is_removed_here_too(state: Watched, tmp_path: Path) -> None:
    publish(state)
    local = files(state, tmp_path)
    local.current("acme", left(state, 60))
    SqliteSnapshots(state.store).remove("acme")
    state.now_s += 61

    with pytest.raises(DatabaseError, match="there is no snapshot"):
        local.current("acme", left(state, 60))
    assert names(tmp_path) == []


def test_with_the_store_down_the_one_that_is_held_is_used(state: Watched, tmp_path: Path) -> None:
    snapshot = publish(state)
    local = files(state, tmp_path)
    local.current("acme", left(state, 60))
    state.now_s += 3_600
    state.down = True

    assert local.current("acme", left(state, 60)).snapshot == snapshot
    with pytest.raises(DatabaseError, match="no snapshot could be fetched: down"):
        local.current("other", left(state, 60))


def test_bytes_that_are_not_what_the_checksum_says_are_not_kept(state: Watched, tmp_path: Path) -> None:
    snapshot = publish(state)
    name, body = snapshot_name("acme"), state.store.get(snapshot_name("acme"))
    assert body is not None
    wrong = replace(snapshot, sha256="0" * 64)
    state.store.put(name, body, media_type="application/zstd", metadata=wrong.metadata())

    with pytest.raises(DatabaseError, match="checksum"):
        files(state, tmp_path).current("acme", left(state, 60))
    assert names(tmp_path) == []
