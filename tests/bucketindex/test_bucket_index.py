"""What the bucket index does beyond the suite of all indexes: segments lost, damaged, large, or another tenant's."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bucketindex.index import RETIRED_S
from bucketindex.manifest import prefix_of
from bucketindex.segment import read_header
from bucketindex.vectors import ComparedVector, quantised, signs
from bucketindex.views import MAX_AGE_S
from ragdrop.domain.chunks import CandidateQuery, Filters, Folder, Hit, vector
from ragdrop.domain.history import ChangeCounts
from ragdrop.errors import DatabaseError, IndexLostError, ObjectStoreError
from testing.models import word_vector
from tests.bucketindex.bucket_environments import Bucket
from tests.contract.chunk_index_suite import cosine, new_ref, now, paths, random_vector

DAY_S = 86_400


@pytest.fixture
def bucket(tmp_path: Path) -> Bucket:
    return Bucket(tmp_path)


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
    texts = read_header(bucket.objects[bucket.segments[0]]).sections["texts"]
    bucket.damage(bucket.segments[0], texts.start + texts.size - 5)
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
    found = expected = 0
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
        expected += 30

    assert found / expected >= 0.95


def test_signs_of_long_vectors_that_differ_in_more_than_255_places_are_not_taken_for_near_ones() -> None:
    source = random.Random(1)
    asked = random_vector(source, 1_536)
    others = [random_vector(source, 1_536) for _ in range(50)] + [vector(-at for at in asked), asked]
    rows = b"".join(signs(quantised(each)) for each in others)

    distances = ComparedVector(asked).distances(memoryview(rows), len(others))

    assert distances[-2:] == bytes([254, 0])
    assert min(distances[:-1]) > 150


def test_vectors_of_two_thousand_dimensions_are_found(bucket: Bucket) -> None:
    source = random.Random(3)
    engine = bucket.engine(dimension=2_000)
    pieces = [engine.piece(f"{n}.md", near=random_vector(source, 2_000)) for n in range(60)]
    engine.write(*pieces)

    assert paths(engine.near(pieces[17].vector, limit=1)) == ["17.md"]


def test_a_search_that_has_begun_is_not_disturbed_when_copies_are_removed(bucket: Bucket, tmp_path: Path) -> None:
    engine, index = bucket.index(folder=tmp_path / "copies")
    engine.write(engine.piece("a.md", "pump"))
    index.ready(engine.ref, now())
    for each in (tmp_path / "copies").rglob("*"):
        if each.is_file():
            each.unlink()

    assert paths(engine.words("pump")) == ["a.md"]


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
    reader = bucket.engine(folder=tmp_path / "copies", max_bytes=170_000)
    other = replace(reader, ref=theirs.ref)
    other.words("pump")
    for number in range(4):
        mine.write(mine.piece(f"{number}.md", "pump " * 500))
        reader.chunks.ready(reader.ref, now())

    assert not list((tmp_path / "copies" / theirs.ref.tenant).glob("*/*/core"))
    assert list((tmp_path / "copies" / mine.ref.tenant).glob("*/*/core"))
    assert paths(other.words("pump")) == ["a.md"]


def test_the_error_of_a_segment_that_does_not_fit_the_disk_has_both_numbers(bucket: Bucket) -> None:
    engine = bucket.engine()
    engine.write(engine.piece("a.md", "pump"))

    with pytest.raises(DatabaseError, match=r"needs \d+ bytes of the disk, 1000 may be used"):
        bucket.engine(max_bytes=1_000).words("pump")


def test_a_segment_that_did_not_fit_takes_no_room_from_those_that_do(bucket: Bucket, tmp_path: Path) -> None:
    large = bucket.engine()
    for number in range(40):
        large.write(large.piece(f"{number}.md", " ".join(f"pump{number}x{n}" for n in range(400))))
    small = replace(bucket.engine(), ref=new_ref())
    small.write(small.piece("a.md", "pump"))
    reader = bucket.engine(folder=tmp_path / "copies", max_bytes=100_000)
    with pytest.raises(DatabaseError, match=r"needs \d+ bytes of the disk"):
        reader.words("pump")

    assert paths(replace(reader, ref=small.ref).words("pump")) == ["a.md"]


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


BEFORE, AFTER = ChangeCounts(("x", "y"), {1: 7}), ChangeCounts(("x", "y"), {1: 8})


def test_at_the_same_counts_a_manifest_is_not_read_again(bucket: Bucket) -> None:
    reader, index = bucket.index()
    writer = bucket.engine()
    writer.write(writer.piece("a.md", "pump"))
    index.ready(reader.ref, now(), BEFORE)
    writer.write(writer.piece("b.md", "pump"))

    index.ready(reader.ref, now(), BEFORE)
    before = paths(reader.words("pump"))
    index.ready(reader.ref, now(), AFTER)

    assert before == ["a.md"]
    assert sorted(paths(reader.words("pump"))) == ["a.md", "b.md"]


def test_a_manifest_is_cached_for_less_time_than_merged_segments_stay(bucket: Bucket) -> None:
    reader, index = bucket.index()
    writer = bucket.engine()
    index.ready(reader.ref, now(), BEFORE)
    writer.write(writer.piece("a.md", "pump"))

    bucket.now_s += MAX_AGE_S
    index.ready(reader.ref, now(), BEFORE)

    assert paths(reader.words("pump")) == ["a.md"]
    assert MAX_AGE_S < RETIRED_S


def test_what_a_cached_manifest_lists_and_a_purge_removed_is_read_by_a_new_one(bucket: Bucket) -> None:
    writer = bucket.engine()
    text = " ".join(f"pump{n}" for n in range(40_000))  # too large to be fetched with its texts at once
    writer.write(*(writer.piece(f"{name}.md", f"{name} {text}") for name in "ab"))
    reader, index = bucket.index(piece_bytes=1 << 16)
    index.ready(reader.ref, now(), BEFORE)
    [gone] = bucket.segments
    writer.chunks.remove(writer.ref, writer.piece("a.md", "").key, before_revision=2, deadline=now())
    assert gone not in bucket.objects

    index.ready(reader.ref, now(), BEFORE)

    assert paths(reader.words("b")) == ["b.md"]


def test_with_a_lost_segment_the_manifest_is_read_again_whatever_the_counts(bucket: Bucket) -> None:
    bucket.engine().write(bucket.engine().piece("a.md", "pump"))
    bucket.engine().write(bucket.engine().piece("b.md", "pump"))
    whole = bucket.objects[bucket.segments[0]]
    bucket.damage(bucket.segments[0], 300)
    reader, index = bucket.index()
    index.ready(reader.ref, now(), BEFORE)
    bucket.state.put(bucket.segments[0], whole, media_type="x")

    index.ready(reader.ref, now(), BEFORE)

    assert sorted(paths(reader.words("pump"))) == ["a.md", "b.md"]


def asked_for(words: str, engine: Any) -> CandidateQuery:
    return CandidateQuery(words, word_vector(words, engine.ref.dimension), Filters(), 50)


def test_the_words_of_a_question_are_looked_for_and_their_texts_fetched_while_it_is_embedded(bucket: Bucket) -> None:
    writer = bucket.engine()
    writer.write(*[writer.piece(f"{number}.md", "pump " * 2_000) for number in range(3)])
    engine, index = bucket.index(piece_bytes=4_096)  # so that texts are fetched by range
    asked = asked_for("pump", engine)
    index.ready(engine.ref, now(), queries=[replace(asked, vector=None)])
    calls = len(bucket.state.calls)
    assert calls

    [found] = index.candidates(engine.ref, [asked], now())

    assert sorted(paths(found.lexical)) == ["0.md", "1.md", "2.md"]
    assert bucket.state.calls[calls:] == []


def test_texts_that_cannot_be_fetched_ahead_fail_the_search_alone(bucket: Bucket) -> None:
    writer = bucket.engine()
    writer.write(writer.piece("a.md", "pump " * 2_000))
    engine, index = bucket.index(piece_bytes=4_096)  # so that texts are fetched by range
    asked = asked_for("pump", engine)
    index.ready(engine.ref, now())
    bucket.state.fail_with = ObjectStoreError("down", service="object_store")

    index.ready(engine.ref, now(), queries=[replace(asked, vector=None)])
    with pytest.raises(ObjectStoreError):
        index.candidates(engine.ref, [asked], now())
    bucket.state.fail_with = None

    [found] = index.candidates(engine.ref, [asked], now())
    assert paths(found.lexical) == ["a.md"]


def test_what_was_looked_for_ahead_is_forgotten_with_its_view(bucket: Bucket) -> None:
    engine, index = bucket.index()
    engine.write(engine.piece("a.md", "pump"))
    asked = asked_for("pump", engine)
    index.ready(engine.ref, now(), queries=[replace(asked, vector=None)])
    engine.write(engine.piece("b.md", "pump"))

    index.ready(engine.ref, now())
    [found] = index.candidates(engine.ref, [asked], now())

    assert sorted(paths(found.lexical)) == ["a.md", "b.md"]
