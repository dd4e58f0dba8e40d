"""What only the bucket index promises of its objects, of local copies that come and go, and of many threads."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bucketindex.index import REWRITTEN_CHUNKS, BucketChunkIndex
from bucketindex.manifest import MERGE_ABOVE, read_manifest
from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DeadlineError, ObjectStoreError
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.contract.chunk_index_suite import Engine, bucket_index, new_ref, now, paths
from tests.interpreters import printed


class Bucket:
    """A state bucket with manifests, and indexes over them that share no memory."""

    def __init__(self, folder: Path) -> None:
        self.state, self.manifests = MemoryObjectStore("state"), MemoryManifests()
        self.folder = folder
        self.ref = new_ref(tenant="acme")
        self._indexes = 0

    def engine(self, **named: Any) -> Engine:
        """An index as another environment has it: with separate copies, unless a *folder* is given."""
        self._indexes += 1
        folder = named.pop("folder", None) or self.folder / str(self._indexes)
        return Engine("bucket", bucket_index(folder, self.state, manifests=self.manifests, **named), self.ref)

    def live(self) -> list[str]:
        """The names of the live segments."""
        manifest = read_manifest(self.manifests.read(self.ref.tenant, self.ref.name))
        return [each.name for each in manifest.segments]


def index_of(engine: Engine) -> BucketChunkIndex:
    assert isinstance(engine.chunks, BucketChunkIndex)
    return engine.chunks


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


@pytest.fixture
def engine(bucket: Bucket) -> Engine:
    return bucket.engine()


def test_threads_of_one_process_share_the_index(engine: Engine) -> None:
    def work(number: int) -> int:
        engine.write(engine.piece(f"{number}.md", "pump"))
        return len(engine.words("pump", limit=200))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(40)))

    assert min(seen) >= 1
    assert engine.count() == 40


def test_environments_that_share_a_folder_find_the_same(bucket: Bucket, tmp_path: Path) -> None:
    one, other = (bucket.engine(folder=tmp_path / "shared") for _ in range(2))
    one.write(one.piece("a.md", "pump"))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: paths((one, other)[number % 2].words("pump")), range(16)))

    assert found == [["a.md"]] * 16


def test_a_reader_of_a_tenant_without_an_index_creates_nothing(bucket: Bucket, engine: Engine, tmp_path: Path) -> None:
    engine.words("pump")
    engine.read("a.md")
    engine.count()
    engine.remove("a.md", before_revision=2)
    engine.chunks.drop(engine.ref, now())
    engine.chunks.verify(engine.ref, now())
    engine.chunks.check(now())

    assert (list(tmp_path.iterdir()), bucket.state.keys(), bucket.live()) == ([], [], [])


def test_every_object_begins_with_its_tenant_and_index(bucket: Bucket, engine: Engine) -> None:
    engine.write(engine.piece("a.md"))
    other = replace(engine, ref=new_ref(tenant="umbrella"))
    other.write(other.piece("a.md"))

    prefixes = {key.rpartition("/")[0] for key in bucket.state.keys()}  # noqa: SIM118 - no dictionary
    assert prefixes == {f"index/{tenant}/{engine.ref.name}" for tenant in ("acme", "umbrella")}


def test_a_document_of_another_tenant_is_neither_read_nor_removed(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "pump"))
    foreign = DocumentKey("umbrella", "team", "a.md")

    assert engine.chunks.remove(engine.ref, foreign, before_revision=9, deadline=now()) == 0
    assert engine.chunks.nearest_of(engine.ref, None, [(foreign, 1)], now()) == []
    assert engine.count() == 1


def test_a_query_stops_at_its_deadline(engine: Engine) -> None:
    engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(500)])
    query = CandidateQuery(None, engine.piece("x.md", "pump").vector, Filters(tags=("none",)), 200)

    with pytest.raises(DeadlineError):
        engine.chunks.candidates(engine.ref, [query] * 100_000, Deadline.after(0.3))
    assert engine.count() == 500


def test_with_the_bucket_down_an_open_view_answers_and_a_new_one_is_an_error(bucket: Bucket, engine: Engine) -> None:
    engine.write(engine.piece("a.md", "pump"))
    engine.words("pump")
    bucket.state.fail_with = ObjectStoreError("down", service="object_store")

    assert paths(engine.words("pump")) == ["a.md"]
    with pytest.raises(ObjectStoreError):
        bucket.engine().words("pump")
    with pytest.raises(ObjectStoreError):
        engine.chunks.check(now())


def test_the_error_of_a_writer_that_is_overtaken_until_its_deadline_is_retryable(tmp_path: Path) -> None:
    engine = Engine("bucket", bucket_index(tmp_path, manifests=AlwaysLate()), new_ref())

    with pytest.raises(DeadlineError) as caught:
        engine.chunks.upsert(engine.ref, [engine.piece("a.md")], Deadline.after(0.3))
    assert caught.value.retryable


class AlwaysLate(MemoryManifests):
    """Manifests that another writer always changed just before."""

    def write(self, *_: Any) -> bool:
        return False


def test_copies_that_were_removed_by_hand_are_fetched_again(bucket: Bucket, tmp_path: Path) -> None:
    engine = bucket.engine(folder=tmp_path / "copies")
    engine.write(engine.piece("a.md", "pump"))
    assert paths(engine.words("pump")) == ["a.md"]
    shutil.rmtree(tmp_path / "copies")

    engine.write(engine.piece("b.md", "pump"))
    assert sorted(paths(engine.words("pump"))) == ["a.md", "b.md"]


def test_copies_of_the_tenant_that_was_not_used_for_longest_go_where_there_is_no_room(
    bucket: Bucket, tmp_path: Path
) -> None:
    writer = bucket.engine()
    for tenant in ("acme", "bravo", "charlie"):
        filled = replace(writer, ref=new_ref(tenant=tenant))
        filled.write(*[filled.piece("a.md", f"pump {'word ' * 500}", ordinal=ordinal) for ordinal in range(100)])
    folder = tmp_path / "small"
    size = max(bucket.state.head(key).size_bytes for key in bucket.state.keys())  # type: ignore[union-attr] # noqa: SIM118
    reader = bucket.engine(folder=folder, max_bytes=3 * size - 1)

    for tenant in ("acme", "bravo", "charlie"):
        assert len(replace(reader, ref=new_ref(tenant=tenant)).words("pump")) == 50
        newest = folder / tenant
        os.utime(next(iter(newest.glob("*/????????-*"))), (0, {"acme": 1, "bravo": 2, "charlie": 3}[tenant]))

    left = sorted(each.parent.parent.name for each in folder.glob("*/*/????????-*"))
    assert "acme" not in left
    assert "charlie" in left
    assert len(replace(reader, ref=new_ref(tenant="acme")).words("pump")) == 50


def test_a_tenant_whose_copies_made_room_is_found_again_after_its_next_document(bucket: Bucket) -> None:
    engine = bucket.engine(folder=bucket.folder / "copies")
    engine.write(engine.piece("a.md", "pump"))
    engine.words("pump")
    for copy in (bucket.folder / "copies").glob("*/*/*"):
        shutil.rmtree(copy)  # another process made room
    other = bucket.engine()
    other.write(other.piece("b.md", "pump"))
    engine.chunks.ready(engine.ref, now())

    assert sorted(paths(engine.words("pump"))) == ["a.md", "b.md"]


def test_dropping_removes_every_object_and_every_copy(bucket: Bucket, tmp_path: Path) -> None:
    engine = bucket.engine(folder=tmp_path / "copies")
    engine.write(*[engine.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(50)])
    engine.words("pump")

    assert engine.chunks.drop(engine.ref, now()) == 50
    assert (bucket.state.keys(), bucket.live(), list((tmp_path / "copies").glob("*/*/*"))) == ([], [], [])


def test_dropping_while_another_environment_reads_loses_nothing_that_is_written_later(
    bucket: Bucket, engine: Engine
) -> None:
    engine.write(engine.piece("a.md", "pump"))
    other = bucket.engine()
    assert other.count() == 1

    engine.chunks.drop(engine.ref, now())
    other.write(other.piece("b.md", "pump"))
    assert (paths(engine.words("pump")), paths(other.words("pump"))) == (["b.md"], ["b.md"])


def test_what_is_removed_from_a_large_segment_is_hidden_at_once_and_dropped_by_the_next_merge(engine: Engine) -> None:
    near = engine.piece("a.md").vector
    many = [engine.piece("a.md", "pump", ordinal=ordinal, near=near) for ordinal in range(REWRITTEN_CHUNKS)]
    engine.write(*many, engine.piece("b.md", "pump"))

    assert engine.remove("a.md", before_revision=2) == REWRITTEN_CHUNKS
    assert (engine.count(), paths(engine.words("pump"))) == (1, ["b.md"])
    assert index_of(engine).merge(engine.ref, now()) == 1
    assert (engine.count(), paths(engine.words("pump"))) == (1, ["b.md"])


def test_a_merge_is_due_once_above_seven_segments_and_makes_them_fewer(bucket: Bucket, engine: Engine) -> None:
    due = []
    for number in range(MERGE_ABOVE + 1):
        engine.write(engine.piece(f"{number}.md", "pump"))
        due.append(index_of(engine).merge_is_due(engine.ref))

    merged = index_of(engine).merge(engine.ref, now())

    assert due == [False] * MERGE_ABOVE + [True]
    assert not index_of(engine).merge_is_due(engine.ref)
    assert len(bucket.live()) == MERGE_ABOVE + 2 - merged
    assert len(engine.words("pump")) == MERGE_ABOVE + 1


def test_importing_the_index_brings_no_numpy_and_no_sdk() -> None:
    code = (
        "import sys, bucketindex.index;"
        "print(sorted({'numpy', 'boto3', 'botocore', 'pydantic', 'opensearchpy'} & set(sys.modules)))"
    )

    assert printed(code).strip() == "[]"
