"""Segments of the bucket index become fewer: merges, writers at once, removal for good, readers of old manifests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import MANY_REMOVALS, MAX_SEGMENTS, Manifest, Removal, SegmentEntry, prefix_of, read_manifest
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.keys import DocumentKey
from testing.memory_manifests import MemoryManifests
from tests.bucketindex.bucket_environments import Bucket
from tests.contract.chunk_index_suite import Engine, now, paths

DAY_S = 86_400


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def nothing_is_dead(_found: Sequence[tuple[DocumentKey, int]]) -> set[tuple[DocumentKey, int]]:
    return set()


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
    before = bucket.manifests.read(writer.ref.tenant, writer.ref.name)
    index.merge(writer.ref, now(), nothing_is_dead, everything=True)
    for name in [name for name in bucket.objects if name not in bucket.segments]:
        bucket.state.purge(name)

    class OldAtFirst(MemoryManifests):
        asked = 0

        def read(self, tenant: str, index: str) -> str | None:
            self.asked += 1
            return before if self.asked == 1 else bucket.manifests.read(tenant, index)

    late = replace(
        writer, chunks=BucketChunkIndex(bucket.state, OldAtFirst(), index._files._folder / "x", max_bytes=1 << 30)
    )

    assert sorted(paths(late.words("pump"))) == ["a.md", "b.md"]


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


def test_without_time_left_a_merge_changes_nothing(bucket: Bucket) -> None:
    engine, index = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))
    before = bucket.segments

    with pytest.raises(Exception, match="no time was left"):
        index.merge(engine.ref, Deadline.after(-1), nothing_is_dead, everything=True)

    assert bucket.segments == before


ITEM_BYTES = 400_000  # DynamoDB's 409,600, less what else the item has


def with_purges(manifest: Manifest, count: int) -> Manifest:
    """*manifest* after purges of *count* documents, which other segments had."""
    for number in range(count):
        manifest = manifest.with_removal(Removal("team", f"customers/2026/contract-{number:08d}.md", 0, 7, 0))
    return manifest


def test_the_manifest_of_ten_thousand_purges_fits_its_item_and_is_read_as_it_was() -> None:
    segments = [SegmentEntry(f"{number:014d}", number, 0, 200_000, 9, 9, "ab" * 32) for number in range(12)]
    manifest = Manifest()
    for each in segments:
        manifest = manifest.with_segment(each)
    manifest = with_purges(manifest, 10_000)

    text = manifest.encoded()

    assert len(text) < ITEM_BYTES
    assert read_manifest(text) == manifest


def after_many_purges(bucket: Bucket) -> tuple[Engine, BucketChunkIndex]:
    """An index of two segments after more purges than a manifest should list."""
    engine, index = bucket.index()
    for name in ("a.md", "b.md"):
        engine.write(engine.piece(name, "pump"))
    before = read_manifest(bucket.manifests.read(engine.ref.tenant, engine.ref.name))
    after = with_purges(before, MANY_REMOVALS + 1)
    bucket.manifests.write(engine.ref.tenant, engine.ref.name, after.encoded(), after.sequence, before.sequence)
    return engine, index


def test_many_removals_are_dropped_when_each_segment_was_written_again(bucket: Bucket) -> None:
    engine, index = after_many_purges(bucket)

    merges = 0
    while index.merge(engine.ref, now()):
        merges += 1

    assert merges == 2
    assert read_manifest(bucket.manifests.read(engine.ref.tenant, engine.ref.name)).removals == ()
    assert sorted(paths(engine.words("pump"))) == ["a.md", "b.md"]
    assert sorted(paths(bucket.engine().words("pump"))) == ["a.md", "b.md"]


def test_a_merge_is_due_as_long_as_many_removals_remain(bucket: Bucket) -> None:
    engine, index = after_many_purges(bucket)

    index.tidy(engine.ref, now())
    due = [index.merge_is_due(engine.ref)]
    for _ in range(2):
        index.merge(engine.ref, now())
        due.append(index.merge_is_due(engine.ref))

    assert due == [True, True, False]
