"""What the bucket index does beyond the suite of all indexes: segments that are lost, merged, shared and bounded."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.chunks import CandidateQuery, Filters, Folder, Hit, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from ragdrop.errors import DatabaseError, IndexLostError, ObjectStoreError
from ragdrop.stores.bucket.chunk_index import BucketChunkIndex
from ragdrop.stores.bucket.manifest import MAX_SEGMENTS, decoded, prefix_of
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.contract.chunk_index_suite import Engine, cosine, new_ref, now, paths, random_vector

DAY_S = 86_400


class Bucket:
    """A state bucket with its manifests, and readers and writers that share nothing but these."""

    def __init__(self, folder: Path) -> None:
        self.state = MemoryObjectStore("state")
        self.manifests = MemoryManifests()
        self.now_s = 0.0
        self._folder = folder
        self._ref = new_ref()
        self._made = 0

    def engine(self, *, folder: Path | None = None, dimension: int | None = None, **options: Any) -> Engine:
        """An index as another execution environment has it."""
        self._made += 1
        options = {"max_bytes": 1 << 30, "clock": lambda: self.now_s, **options}
        index = BucketChunkIndex(self.state, self.manifests, folder or self._folder / str(self._made), **options)
        return Engine("bucket", index, replace(self._ref, dimension=dimension) if dimension else self._ref)

    def index(self, **options: Any) -> tuple[Engine, BucketChunkIndex]:
        """The same, with its own type."""
        engine = self.engine(**options)
        assert isinstance(engine.chunks, BucketChunkIndex)
        return engine, engine.chunks

    @property
    def segments(self) -> list[str]:
        """The objects of live segments."""
        manifest = decoded(self.manifests.read(self._ref.tenant, self._ref.name))
        return [f"{prefix_of(self._ref)}{each.name}.seg" for each in manifest.segments]

    @property
    def objects(self) -> dict[str, bytes]:
        """All objects, by name."""
        return {each.key: self.state.get(each.key) or b"" for each in self.state.entries("index/")}

    def damage(self, name: str, at: int) -> None:
        """Flip a byte of an object."""
        body = bytearray(self.state.get(name) or b"")
        body[at] ^= 0xFF
        self.state.put(name, bytes(body), media_type="x")


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def nothing_is_dead(_found: Sequence[tuple[DocumentKey, int]]) -> set[tuple[DocumentKey, int]]:
    return set()


@pytest.mark.parametrize("at", [0, 200, -10, "middle"])
def test_a_damaged_segment_is_named_and_the_rest_answers(bucket: Bucket, at: int | str) -> None:
    bucket.engine().write(bucket.engine().piece("a.md", "pump " * 50))
    bucket.engine().write(bucket.engine().piece("b.md", "pump valve"))
    damaged = bucket.segments[0]
    size = len(bucket.objects[damaged])
    bucket.damage(damaged, size // 2 if at == "middle" else int(at) % size)
    reader, index = bucket.index()

    [found] = reader.chunks.candidates(reader.ref, [CandidateQuery("pump", None, Filters(), 9)], now())

    assert paths(found.lexical) == ["b.md"]
    assert found.warning == "1 of 2 segments of the index could not be read"
    assert [f"{prefix_of(reader.ref)}{name}.seg" for name in index.damaged(reader.ref)] == [damaged]
    with pytest.raises(IndexLostError):
        reader.chunks.verify(reader.ref, now())


def test_where_no_segment_can_be_read_the_index_is_lost_and_not_empty(bucket: Bucket) -> None:
    bucket.engine().write(bucket.engine().piece("a.md", "pump"))
    bucket.state.purge(bucket.segments[0])

    with pytest.raises(IndexLostError, match="not in the bucket"):
        bucket.engine().words("pump")


def test_what_is_damaged_is_discarded_so_that_it_can_be_written_again(bucket: Bucket) -> None:
    writer = bucket.engine()
    writer.write(writer.piece("a.md", "pump"))
    writer.write(writer.piece("b.md", "pump"))
    bucket.damage(bucket.segments[0], 300)  # the writer's own copy is whole

    with pytest.raises(IndexLostError):
        [writer.chunks.verify(writer.ref, now()) for bucket.now_s in (0, 3_600)]
    writer.chunks.discard_damaged(writer.ref, now())

    assert paths(writer.words("pump")) == ["b.md"]
    writer.write(writer.piece("a.md", "pump"))
    assert sorted(paths(writer.words("pump"))) == ["a.md", "b.md"]
    writer.chunks.verify(writer.ref, now())


def test_a_text_that_is_damaged_is_found_out_when_it_is_read(bucket: Bucket) -> None:
    writer = bucket.engine()
    writer.write(*(writer.piece(f"{n}.md", "pump " * 200) for n in range(40)))
    bucket.damage(bucket.segments[0], len(bucket.objects[bucket.segments[0]]) - 5)
    reader = bucket.engine(piece_bytes=4_096)  # so that texts are fetched by range

    with pytest.raises(IndexLostError, match="a text is not what its checksum says"):
        reader.words("pump")


def test_a_damaged_local_copy_is_fetched_again(bucket: Bucket, tmp_path: Path) -> None:
    writer = bucket.engine()
    writer.write(writer.piece("a.md", "pump"))
    bucket.engine(folder=tmp_path / "copies").words("pump")
    [core] = (tmp_path / "copies").glob("*/*/*/core")
    core.write_bytes(core.read_bytes()[:40] + b"x" + core.read_bytes()[41:])

    assert paths(bucket.engine(folder=tmp_path / "copies").words("pump")) == ["a.md"]


def test_a_large_segment_is_fetched_in_pieces_and_its_texts_by_range(bucket: Bucket) -> None:
    source = random.Random(1)
    writer = bucket.engine()
    pieces = [
        writer.piece(f"{n}.md", f"pump {n} " + "filler " * 300, near=random_vector(source), vault="team")
        for n in range(300)
    ]
    writer.write(*pieces)
    reader = bucket.engine(piece_bytes=16_384)

    assert [hit.chunk for hit in reader.read("7.md")] == [pieces[7].chunk]
    assert paths(reader.words("299")) == ["299.md"]
    assert paths(reader.near(pieces[50].vector, limit=1)) == ["50.md"]


def test_of_many_vectors_the_nearest_are_found_under_any_filter(bucket: Bucket) -> None:
    source = random.Random(7)
    engine = bucket.engine(dimension=384)
    directions = [random_vector(source, 384) for _ in range(40)]

    def near(direction: Any) -> Any:
        return vector(value + source.gauss(0, 0.06) for value in direction)

    pieces = [
        engine.piece(f"f{n % 3}/{n}.md", near=near(directions[n % 40]), doc_type="odd" if n % 2 else "even")
        for n in range(3_000)
    ]
    for first in range(0, len(pieces), 1_000):
        engine.write(*pieces[first : first + 1_000])
    found = wanted = 0
    for number, filters in enumerate(
        (Filters(), Filters(doc_types=("odd",)), Filters(folders=(Folder("f1"),)), Filters(vaults=("team",)))
    ):
        asked = near(directions[number])
        allowed = [
            each
            for each in pieces
            if (not filters.doc_types or each.facts.doc_type in filters.doc_types)
            and (not filters.folders or filters.folders[0].holds(each.key))
        ]
        best = {each.id for each in sorted(allowed, key=lambda each: -cosine(asked, each.vector))[:30]}
        found += len(best & {hit.chunk_id for hit in engine.near(asked, filters=filters, limit=30)})
        wanted += 30

    assert found / wanted >= 0.95


def test_vectors_of_two_thousand_dimensions_are_found(bucket: Bucket) -> None:
    source = random.Random(3)
    engine = bucket.engine(dimension=2_000)
    pieces = [engine.piece(f"{n}.md", near=random_vector(source, 2_000)) for n in range(60)]
    engine.write(*pieces)

    assert paths(engine.near(pieces[17].vector, limit=1)) == ["17.md"]


def test_writers_at_once_lose_nothing(bucket: Bucket) -> None:
    def write(number: int) -> None:
        engine = bucket.engine()
        for part in range(3):
            engine.write(engine.piece(f"{number}-{part}.md", "pump"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    expected = sorted(f"{number}-{part}.md" for number in range(5) for part in range(3))
    assert sorted(paths(bucket.engine().words("pump"))) == expected


def test_however_many_writes_there_are_a_query_meets_twelve_segments_at_most(bucket: Bucket) -> None:
    engine = bucket.engine()
    most = 0
    for number in range(40):
        engine.write(engine.piece(f"{number}.md", "pump"))
        most = max(most, len(bucket.segments))

    assert most <= MAX_SEGMENTS
    assert len(engine.words("pump")) == engine.count() == 40


def test_a_merge_leaves_out_what_is_dead_and_keeps_the_rest_as_it_was(bucket: Bucket) -> None:
    engine, index = bucket.index()
    engine.write(engine.piece("a.md", "pump old", revision=1), engine.piece("b.md", "pump", tags=("x",)))
    engine.write(engine.piece("a.md", "pump new", revision=2, ordinal=4))
    before = {hit.chunk_id: hit for hit in engine.words("pump")}
    dead = {(engine.key("a.md"), 1)}

    merged = index.merge(engine.ref, now(), lambda found: dead & set(found), everything=True)

    after = {hit.chunk_id: hit for hit in engine.words("pump")}
    assert (merged, len(bucket.segments), engine.count()) == (2, 1, 2)
    assert {name: replace(hit, score=0.0) for name, hit in after.items()} == {
        name: replace(hit, score=0.0) for name, hit in before.items() if (hit.key, hit.revision) not in dead
    }


def test_of_two_merges_at_once_one_counts_and_leaves_no_object_of_the_other(bucket: Bucket) -> None:
    engine, index = bucket.index()
    _, other = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))

    def meanwhile(found: Sequence[tuple[DocumentKey, int]]) -> set[tuple[DocumentKey, int]]:
        other.merge(engine.ref, now(), nothing_is_dead, everything=True)
        return set()

    assert index.merge(engine.ref, now(), meanwhile, everything=True) == 0
    assert sorted(paths(engine.words("pump"))) == ["a.md", "b.md"]
    live = [name for name in bucket.objects if name.endswith(".seg") and f"{name[:-4]}.retired" not in bucket.objects]
    assert live == bucket.segments


def test_what_is_written_while_segments_are_merged_stays(bucket: Bucket) -> None:
    engine, index = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))

    def meanwhile(found: Sequence[tuple[DocumentKey, int]]) -> set[tuple[DocumentKey, int]]:
        writer = bucket.engine()
        writer.write(writer.piece("a.md", "pump again"), writer.piece("c.md", "pump"))
        writer.remove("b.md", before_revision=9)
        return set()

    index.merge(engine.ref, now(), meanwhile, everything=True)
    index.ready(engine.ref, now())

    assert {hit.key.path: hit.chunk.text for hit in engine.words("pump")} == {"a.md": "pump again", "c.md": "pump"}


def test_a_reader_whose_manifest_is_old_finds_what_took_the_place_of_its_segments(bucket: Bucket) -> None:
    writer, index = bucket.index()
    for name in ("a.md", "b.md"):
        writer.write(writer.piece(name, "pump"))
    held = bucket.manifests.read(writer.ref.tenant, writer.ref.name)
    index.merge(writer.ref, now(), nothing_is_dead, everything=True)
    for name in [name for name in bucket.objects if name not in bucket.segments]:
        bucket.state.purge(name)

    class OldAtFirst(MemoryManifests):
        asked = 0

        def read(self, tenant: str, index: str) -> str | None:
            self.asked += 1
            return held if self.asked == 1 else bucket.manifests.read(tenant, index)

    late = replace(
        writer, chunks=BucketChunkIndex(bucket.state, OldAtFirst(), index._files._folder / "x", max_bytes=1 << 30)
    )

    assert sorted(paths(late.words("pump"))) == ["a.md", "b.md"]


def test_a_search_that_has_begun_is_not_disturbed_when_copies_are_removed(bucket: Bucket, tmp_path: Path) -> None:
    engine, index = bucket.index(folder=tmp_path / "copies")
    engine.write(engine.piece("a.md", "pump"))
    index.ready(engine.ref, now())
    for each in (tmp_path / "copies").rglob("*"):
        each.is_file() and each.unlink()

    assert paths(engine.words("pump")) == ["a.md"]


def test_segments_that_are_not_live_stay_an_hour_for_readers_and_what_a_dead_writer_left_too(bucket: Bucket) -> None:
    engine, index = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))
    stray = f"{prefix_of(engine.ref)}00000000000000-00000001.seg"
    bucket.state.put(stray, b"what a writer wrote that died before the manifest", media_type="x")
    index.merge(engine.ref, now(), nothing_is_dead, everything=True)
    written_s = 1_767_225_600.0  # when the store of the test says that all was written

    bucket.now_s = written_s + 3_500
    assert index.tidy(engine.ref, now()) == 0
    bucket.now_s = written_s + 3_700
    assert index.tidy(engine.ref, now()) == 3
    assert list(bucket.objects) == bucket.segments


def test_what_is_removed_is_in_no_object_any_more(bucket: Bucket) -> None:
    engine = bucket.engine()
    engine.write(engine.piece("a.md", "pump zebrafish"), engine.piece("b.md", "pump"))
    engine.write(engine.piece("a.md", "pump zebrafish again", revision=2))
    engine.words("zebrafish")

    assert engine.remove("a.md", before_revision=9) == 2
    assert [name for name, body in bucket.objects.items() if b"zebra" in body] == []
    assert paths(bucket.engine().words("pump")) == ["b.md"]


def test_a_segment_of_another_tenant_is_never_opened_whatever_a_manifest_says(bucket: Bucket) -> None:
    theirs = replace(bucket.engine(), ref=new_ref())
    theirs.write(theirs.piece("secret.md", "pump secret"))
    mine = bucket.engine()
    body = bucket.manifests.read(theirs.ref.tenant, theirs.ref.name)
    assert body is not None
    for name, content in bucket.objects.items():
        bucket.state.put(name.replace(theirs.ref.tenant, mine.ref.tenant), content, media_type="x")
    bucket.manifests.write(mine.ref.tenant, mine.ref.name, body, 1, 0)

    with pytest.raises(IndexLostError, match="belongs to another index"):
        mine.words("pump")


def test_a_segment_that_could_not_be_written_is_not_listed(bucket: Bucket) -> None:
    engine = bucket.engine()
    engine.write(engine.piece("a.md", "pump"))
    bucket.state.fail_with = ObjectStoreError("down", service="object_store")

    with pytest.raises(ObjectStoreError):
        engine.write(engine.piece("b.md", "pump"))

    bucket.state.fail_with = None
    assert paths(engine.words("pump")) == ["a.md"]


def test_copies_of_other_tenants_go_first_when_the_disk_is_full(bucket: Bucket, tmp_path: Path) -> None:
    mine = bucket.engine()
    theirs = replace(bucket.engine(), ref=new_ref())
    for engine in (mine, theirs):
        engine.write(engine.piece("a.md", "pump " * 500))
    reader = bucket.engine(folder=tmp_path / "copies", max_bytes=150_000)
    other = replace(reader, ref=theirs.ref)
    other.words("pump")
    for number in range(4):
        mine.write(mine.piece(f"{number}.md", "pump " * 500))
        reader.chunks.ready(reader.ref, now())

    assert not list((tmp_path / "copies" / theirs.ref.tenant).glob("*/*/core"))
    assert list((tmp_path / "copies" / mine.ref.tenant).glob("*/*/core"))
    assert paths(other.words("pump")) == ["a.md"]


def test_a_segment_that_does_not_fit_the_disk_is_told_with_both_numbers(bucket: Bucket) -> None:
    engine = bucket.engine()
    engine.write(engine.piece("a.md", "pump"))

    with pytest.raises(DatabaseError, match=r"needs \d+ bytes of the disk, 1000 may be used"):
        bucket.engine(max_bytes=1_000).words("pump")


def test_one_search_sees_one_moment_and_the_next_one_what_came_since(bucket: Bucket) -> None:
    reader, index = bucket.index()
    writer = bucket.engine()
    writer.write(writer.piece("a.md", "pump"))
    index.ready(reader.ref, now())
    writer.write(writer.piece("b.md", "pump"))

    begun: list[Hit] = reader.words("pump")
    index.ready(reader.ref, now())

    assert paths(begun) == ["a.md"]
    assert sorted(paths(reader.words("pump"))) == ["a.md", "b.md"]


def test_without_time_left_a_merge_changes_nothing(bucket: Bucket) -> None:
    engine, index = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))
    before = bucket.segments

    with pytest.raises(Exception, match="no time was left"):
        index.merge(engine.ref, Deadline.after(-1), nothing_is_dead, everything=True)

    assert bucket.segments == before
