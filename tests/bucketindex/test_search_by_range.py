"""Searches before there are copies: they read by range what they need, and find what a search over copies finds."""

from __future__ import annotations

import base64
import random
import threading
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bucketindex.postings import LENGTHS, length_byte
from bucketindex.segment import read_header
from ragdrop.domain.chunks import CandidateQuery, Filters, Folder, Hit, Vector, vector
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import IndexLostError, ObjectStoreError
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
from tests.bucketindex.bucket_environments import Bucket
from tests.contract.chunk_index_suite import Engine, bucket_index, now, paths, random_vector

OLD_SEGMENT = Path(__file__).with_name(
    "old_segment.txt"
)  # its key, its manifest, its bytes, of the format before lists
WORDS = [f"word{number}" for number in range(300)]
DIMENSION = 64


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


def by_range(bucket: Bucket) -> Engine:
    """An environment that never waits for a copy."""
    return bucket.engine(far_bytes=-1, dimension=DIMENSION)


def filled(bucket: Bucket) -> tuple[Engine, list[Vector]]:
    """An environment with copies of 3,600 chunks in three segments with lists, and directions they gather around."""
    source = random.Random(3)
    writer = bucket.engine(dimension=DIMENSION)
    centres = [random_vector(source, DIMENSION) for _ in range(60)]
    for segment in range(3):
        writer.write(
            *(
                writer.piece(
                    f"f{number % 4}/{segment}-{number}.md",
                    " ".join(source.choices(WORDS, range(300, 0, -1), k=40)),
                    near=vector(at + source.gauss(0, 0.3) for at in source.choice(centres)),
                    tags=("red",) if number % 7 == 0 else (),
                )
                for number in range(1_200)
            )
        )
    return writer, centres


def scored(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Which chunks, and their scores, which tantivy adds up in 32 bits."""
    return [(hit.chunk_id, round(hit.score, 3)) for hit in hits]


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(tags=("red",)), Filters(folders=(Folder("f2"),)), Filters(vaults=("none",))]
)
def test_words_and_vectors_are_found_as_in_copies_under_any_filter(bucket: Bucket, filters: Filters) -> None:
    writer, centres = filled(bucket)
    reader = by_range(bucket)
    for centre in centres[:5]:
        asked = CandidateQuery("word7 word120 word250", centre, filters, 20)

        [found] = reader.chunks.candidates(reader.ref, [asked], now())
        [expected] = writer.chunks.candidates(writer.ref, [asked], now())

        assert scored(found.lexical) == scored(expected.lexical)
        assert found.vector == expected.vector


def test_what_was_removed_replaced_or_left_out_is_not_found(bucket: Bucket) -> None:
    writer, centres = filled(bucket)
    asked = CandidateQuery("word1", centres[0], Filters(), 50)
    [before] = by_range(bucket).chunks.candidates(writer.ref, [asked], now())
    removed, replaced, left_out = before.vector[0].key, before.vector[1].key, before.vector[2].key
    writer.remove(removed.path, before_revision=9)
    writer.write(writer.piece(replaced.path, "other", near=vector(-at for at in centres[0])))

    query = replace(asked, without=frozenset({(left_out, 1)}))
    reader = by_range(bucket)
    [after] = reader.chunks.candidates(reader.ref, [query], now())

    assert not {removed, replaced, left_out} & {each.key for each in after.vector + after.lexical}
    assert len(after.vector) == 50


def test_a_search_that_found_no_copies_has_them_made_for_the_next(bucket: Bucket) -> None:
    writer, centres = filled(bucket)
    reader = bucket.engine(far_bytes=0, dimension=DIMENSION)
    assert scored(reader.words("word3", limit=5)) == scored(writer.words("word3", limit=5))
    for thread in threading.enumerate():
        if thread.name == "copies":
            thread.join(timeout=30.0)

    bucket.state.fail_with = ObjectStoreError("down", service="object_store")

    assert reader.words("word3", limit=5) == writer.words("word3", limit=5)
    assert paths(reader.near(centres[0], limit=5)) == paths(writer.near(centres[0], limit=5))


def test_an_index_that_does_not_fit_the_disk_is_searched_by_range_and_not_copied(bucket: Bucket) -> None:
    writer, centres = filled(bucket)
    reader = bucket.engine(far_bytes=0, max_bytes=100_000, dimension=DIMENSION)

    for centre in centres[:2]:
        assert paths(reader.near(centre, limit=5)) == paths(writer.near(centre, limit=5))

    assert not [thread for thread in threading.enumerate() if thread.name == "copies"]


@pytest.mark.parametrize("section", ["centroids", "word_starts", "word_blocks", "digests", "texts"])
def test_a_wrong_byte_that_a_search_by_range_reads_is_an_error(bucket: Bucket, section: str) -> None:
    writer = bucket.engine(dimension=DIMENSION)
    source = random.Random(1)
    writer.write(*(writer.piece(f"{n}.md", "pump", near=random_vector(source, DIMENSION)) for n in range(1_000)))
    place = read_header(bucket.objects[bucket.segments[0]]).sections[section]
    bucket.damage(bucket.segments[0], place.start + (1 if section == "texts" else place.size // 2))

    with pytest.raises(IndexLostError):
        by_range(bucket).words("pump", limit=1_000)


def test_a_segment_of_the_version_before_is_read_and_merged_into_one_with_lists(tmp_path: Path) -> None:
    key, manifest, packed = OLD_SEGMENT.read_text("utf-8").splitlines()
    state, manifests, ref = MemoryObjectStore("state"), MemoryManifests(), IndexRef("acme", "bucket-v1-old-4-1", 4)
    state.put(key, zlib.decompress(base64.b85decode(packed)), media_type="x")
    manifests.write(ref.tenant, ref.name, manifest, 1, 0)
    index = bucket_index(tmp_path, state, manifests=manifests, far_bytes=-1)
    engine = Engine("bucket", index, ref)
    assert paths(engine.words("QX-55")) == ["pump.md"]
    assert engine.near(vector([0.0, 1.0, 0.0, 0.0]), limit=1)[0].chunk.text == "Its valve"

    engine.write(engine.piece("later.md", "valve", near=vector([0.0, 0.0, 1.0, 0.0])))
    assert sorted(paths(engine.words("valve"))) == ["later.md", "pump.md"]
    index.merge(ref, now(), everything=True)

    merged = next(each.key for each in state.entries("index/") if each.key.endswith(".seg") and each.key != key)
    assert "word_blocks" in read_header(state.get(merged) or b"").sections
    assert sorted(paths(engine.words("valve"))) == ["later.md", "pump.md"]


def test_names_of_segments_begin_with_random_digits_so_that_s3_can_spread_them(bucket: Bucket) -> None:
    writer = bucket.engine()
    for number in range(7):
        writer.write(writer.piece(f"{number}.md", "pump"))

    assert len({name.rpartition("/")[2][:4] for name in bucket.segments}) == 7


class Splitting(MemoryObjectStore):
    """A bucket that answers 503 to some reads, as S3 does while it divides a busy prefix."""

    def __init__(self, refused: float) -> None:
        super().__init__("state")
        self._refused, self._source, self._turn = refused, random.Random(5), threading.Lock()
        self.refusals = 0

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        with self._turn:
            if self._source.random() < self._refused:
                self.refusals += 1
                raise ObjectStoreError("Please reduce your request rate.", service="object_store")
        return super().get(key, version_id=version_id, start=start, end=end)


def test_a_search_asks_again_for_ranges_that_s3_refuses_while_it_divides_a_prefix(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    writer, centres = filled(bucket)
    busy = Splitting(0.2)
    for key, body in bucket.objects.items():
        busy.put(key, body, media_type="x")
    index = bucket_index(tmp_path / "busy", busy, manifests=bucket.manifests, far_bytes=-1)
    asked = CandidateQuery("word7 word120", centres[0], Filters(), 20)

    [found] = index.candidates(writer.ref, [asked], now())

    assert busy.refusals > 3
    assert paths(found.vector) == paths(writer.near(centres[0], limit=20))


def test_the_length_of_a_text_is_one_byte_of_which_four_digits_count() -> None:
    assert [LENGTHS[length_byte(each)] for each in (0, 39, 41, 59, 100, 1_000)] == [0, 39, 40, 56, 96, 984]
