"""A damaged segment of the bucket index takes no other with it: it is found, named, set aside and written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bucketindex.durable_copies import RESERVE_S, DurableCopies
from bucketindex.local_files import SegmentFiles
from bucketindex.manifest import read_manifest, segment_name
from bucketindex.segment import read_header
from bucketindex.views import Views
from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import IndexLostError
from ragdrop.ports.indexes import ALL_BYTES, NAMES_ALONE, BytesToRead
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.bucketindex.bucket_environments import Bucket
from tests.contract.chunk_index_suite import Engine, bucket_index, new_ref, now, paths

SECTIONS = ("documents", "digests", "facets", "vectors", "lexical", "texts")


class Damaged:
    """A bucket index of two documents in a segment each, the first of which can be damaged."""

    def __init__(self, folder: Path, text: str = "pump") -> None:
        self.state, self.manifests = MemoryObjectStore("state"), MemoryManifests()
        self.folder, self.ref = folder, new_ref(tenant="acme")
        writer = self.engine("writer")
        writer.write(*[writer.piece("a.md", text, ordinal=ordinal) for ordinal in range(3)])
        writer.write(writer.piece("b.md", "pump"))

    def engine(self, name: str = "reader", **named: Any) -> Engine:
        """An index with separate copies."""
        chunks = bucket_index(self.folder / name, self.state, manifests=self.manifests, **named)
        return Engine("bucket", chunks, self.ref)

    @property
    def first(self) -> str:
        """The object of the first segment."""
        written = read_manifest(self.manifests.read(self.ref.tenant, self.ref.name)).segments
        return segment_name(self.ref, written[0].name)

    @property
    def body(self) -> bytes:
        return self.state.get(self.first) or b""

    def put(self, body: bytes) -> None:
        self.state.put(self.first, body, media_type="x")

    def rewrite_manifest(self, body: str) -> None:
        self.manifests.delete(self.ref.tenant, self.ref.name)
        self.manifests.write(self.ref.tenant, self.ref.name, body, json.loads(body)["sequence"], 0)

    def damage(self, section: str) -> None:
        """Change one byte of a section."""
        body = bytearray(self.body)
        place = read_header(bytes(body)).sections[section]
        body[place.start + place.size // 2] ^= 0xFF
        self.put(bytes(body))


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path)


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def name_of(key: str) -> str:
    return key.rpartition("/")[2].removesuffix(".seg")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_segment_with_a_wrong_byte_is_left_out_and_the_others_answer(damaged: Damaged, section: str) -> None:
    damaged.damage(section)
    reader = damaged.engine()

    [found] = reader.chunks.candidates(reader.ref, [asked()], now())

    assert paths(found.lexical) == ["b.md"]
    assert found.warning == "1 of 2 segments of the index could not be read"
    assert reader.chunks.damaged(reader.ref) == (name_of(damaged.first),)


@pytest.mark.parametrize("body", [b"", b"garbage " * 1_000], ids=["empty", "garbage"])
def test_an_object_that_is_no_segment_is_left_out(damaged: Damaged, body: bytes) -> None:
    damaged.put(body)

    assert paths(damaged.engine().words("pump")) == ["b.md"]


def test_a_segment_that_is_cut_off_is_left_out(damaged: Damaged) -> None:
    damaged.put(damaged.body[:-9])

    assert paths(damaged.engine().words("pump")) == ["b.md"]


def test_a_segment_that_is_missing_is_left_out(damaged: Damaged) -> None:
    damaged.state.purge(damaged.first)

    assert paths(damaged.engine().words("pump")) == ["b.md"]


def test_an_index_of_which_no_segment_can_be_read_is_lost(damaged: Damaged) -> None:
    for each in list(damaged.state.entries("index/")):
        damaged.state.purge(each.key)
    reader = damaged.engine()

    for call in (lambda: reader.words("pump"), reader.count, lambda: reader.read("a.md")):
        with pytest.raises(IndexLostError):
            call()


def test_a_segment_that_is_whole_again_answers_again(damaged: Damaged) -> None:
    whole = damaged.body
    damaged.put(b"garbage")
    reader = damaged.engine()
    assert len(reader.words("pump")) == 1

    damaged.put(whole)
    reader.chunks.ready(reader.ref, now())

    assert len(reader.words("pump")) == 4
    assert reader.chunks.damaged(reader.ref) == ()


def test_a_manifest_that_cannot_be_read_is_a_lost_index(damaged: Damaged) -> None:
    damaged.manifests.delete(damaged.ref.tenant, damaged.ref.name)
    damaged.manifests.write(damaged.ref.tenant, damaged.ref.name, "{garbage", 1, 0)

    with pytest.raises(IndexLostError, match="manifest"):
        damaged.engine().words("pump")


def test_verifying_a_whole_index_returns(damaged: Damaged) -> None:
    damaged.engine().chunks.verify(damaged.ref, now())


@pytest.mark.parametrize("section", SECTIONS)
def test_damage_is_found_by_verifying_and_what_is_written_again_answers(damaged: Damaged, section: str) -> None:
    damaged.damage(section)
    sweeper = damaged.engine()
    with pytest.raises(IndexLostError):
        sweeper.chunks.verify(damaged.ref, now())

    sweeper.chunks.discard_damaged(damaged.ref, now())
    sweeper.chunks.verify(damaged.ref, now())
    left = sweeper.count()
    sweeper.write(*[sweeper.piece("a.md", "pump", ordinal=ordinal) for ordinal in range(3)])

    assert (left, sweeper.count()) == (1, 4)
    assert {hit.key.path for hit in sweeper.words("pump")} == {"a.md", "b.md"}


def test_damage_behind_a_copy_that_is_whole_is_discarded_too(damaged: Damaged) -> None:
    sweeper = damaged.engine()
    assert len(sweeper.words("pump")) == 4
    damaged.put(damaged.body[:-9])

    with pytest.raises(IndexLostError, match=r"has \d+ of \d+ bytes"):
        sweeper.chunks.verify(damaged.ref, now())
    sweeper.chunks.discard_damaged(damaged.ref, now())

    assert sweeper.count() == 1


@pytest.mark.parametrize("name", ["core", "lexical"])
def test_a_damaged_local_copy_is_fetched_again(damaged: Damaged, name: str) -> None:
    assert len(damaged.engine("copies").words("pump")) == 4
    copies = sorted((damaged.folder / "copies").glob("*/*/????????-*"))
    for copy in copies:
        files = [copy / "core"] if name == "core" else [each for each in copy.iterdir() if "." in each.name]
        for file in files:
            file.write_bytes(b"garbage " * 20)

    again = damaged.engine("copies")

    try:
        found = again.words("pump")
    except IndexLostError:
        found = again.words("pump")
    assert len(found) == 4


def test_every_segment_is_compared_by_one_listing_and_none_is_read(damaged: Damaged) -> None:
    sweeper = damaged.engine()
    damaged.state.calls.clear()

    sweeper.chunks.verify(damaged.ref, now(), NAMES_ALONE)
    assert sweeper.chunks.faults(damaged.ref, now()).found == ()

    assert damaged.state.calls == ["entries", "entries"]


@pytest.mark.parametrize("section", SECTIONS)
def test_an_overwritten_segment_is_found_by_its_etag_and_read_before_it_is_called_damaged(
    damaged: Damaged, section: str
) -> None:
    sweeper, whole = damaged.engine(), damaged.body
    damaged.damage(section)
    assert sweeper.chunks.faults(damaged.ref, now()).found == (f"segment {name_of(damaged.first)} was overwritten",)

    with pytest.raises(IndexLostError, match="is damaged"):
        sweeper.chunks.verify(damaged.ref, now(), NAMES_ALONE)

    damaged.put(whole)
    sweeper.chunks.verify(damaged.ref, now(), NAMES_ALONE)


def test_a_segment_restored_with_another_etag_is_sound_and_its_etag_is_noted(damaged: Damaged) -> None:
    sweeper = damaged.engine()
    manifest = damaged.manifests.read(damaged.ref.tenant, damaged.ref.name) or ""
    etag = damaged.state.head(damaged.first).etag  # type: ignore[union-attr]
    damaged.rewrite_manifest(manifest.replace(etag, "of-a-backup"))
    assert len(sweeper.chunks.faults(damaged.ref, now()).found) == 1

    sweeper.chunks.verify(damaged.ref, now(), NAMES_ALONE)

    assert sweeper.chunks.faults(damaged.ref, now()).found == ()
    assert len(sweeper.words("pump")) == 4


def test_a_byte_that_decays_under_an_unchanged_etag_is_found_by_the_next_sweep_of_a_small_index(
    damaged: Damaged,
) -> None:
    damaged.state.decay(damaged.first, len(damaged.body) // 2)
    sweeper = damaged.engine()
    assert sweeper.chunks.faults(damaged.ref, now()).found == ()

    with pytest.raises(IndexLostError, match="is damaged"):
        sweeper.chunks.verify(damaged.ref, now())
    sweeper.chunks.discard_damaged(damaged.ref, now())

    assert sweeper.count() == 1


@pytest.mark.parametrize("number", range(0, 9, 4))
def test_of_a_large_index_a_share_is_read_every_ten_minutes_and_decay_is_found_within_the_hour(
    bucket: Bucket, tmp_path: Path, number: int
) -> None:
    bucket.now_s = 1_000_000.0
    writer = bucket.engine()
    for name in range(9):
        writer.write(writer.piece(f"{name}.md", f"pump {name}"))
    files = SegmentFiles(bucket.state, tmp_path / "files", max_bytes=1 << 30)
    views = Views(bucket.manifests, files, clock=lambda: bucket.now_s)
    durable = DurableCopies(bucket.state, views, files, clock=lambda: bucket.now_s, small_bytes=0)
    durable.verify(writer.ref, now(), NAMES_ALONE)
    read_bytes: list[int] = []
    bucket.state.decay(bucket.segments[number], 500)
    begun_s = bucket.now_s

    def hour() -> None:
        while bucket.now_s < begun_s + 3_600:
            bucket.now_s += 600
            durable.verify(writer.ref, now(), BytesToRead(0, progress=lambda done, _of: read_bytes.append(done)))

    with pytest.raises(IndexLostError, match="is damaged"):
        hour()

    assert bucket.now_s <= begun_s + 3_000
    assert len(read_bytes) <= 9, "each segment is read once"


def test_the_next_run_continues_where_time_was_over_for_the_last_one(bucket: Bucket, tmp_path: Path) -> None:
    writer = bucket.engine()
    for name in range(3):
        writer.write(writer.piece(f"{name}.md", "pump"))
    bucket.state.decay(bucket.segments[2], 500)
    files = SegmentFiles(bucket.state, tmp_path / "files", max_bytes=1 << 30)
    durable = DurableCopies(bucket.state, Views(bucket.manifests, files), files, small_bytes=0)

    durable.verify(writer.ref, Deadline.after(RESERVE_S - 1), BytesToRead(ALL_BYTES))  # too late to read anything
    with pytest.raises(IndexLostError, match="is damaged"):
        durable.verify(writer.ref, now(), NAMES_ALONE)


def test_segments_and_manifests_of_older_writers_are_read(damaged: Damaged) -> None:
    fields = json.loads(damaged.manifests.read(damaged.ref.tenant, damaged.ref.name) or "")
    del fields["etags"]
    damaged.rewrite_manifest(json.dumps(fields))
    sweeper = damaged.engine()
    assert sweeper.chunks.faults(damaged.ref, now()).found == ()

    sweeper.chunks.verify(damaged.ref, now())

    assert '"etags":{"' in (damaged.manifests.read(damaged.ref.tenant, damaged.ref.name) or "")


def asked() -> CandidateQuery:
    return CandidateQuery("pump", None, Filters(), 50)
