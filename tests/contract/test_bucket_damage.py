"""A damaged segment of the bucket index takes no other with it: it is found, named, set aside and written again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.errors import IndexLostError
from ragdrop.stores.bucket.layout import read_header
from testing.memory_manifests import MemoryManifests
from testing.memory_object_store import MemoryObjectStore
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
        """An index with copies of its own."""
        chunks = bucket_index(self.folder / name, self.state, manifests=self.manifests, **named)
        return Engine("bucket", chunks, self.ref)

    @property
    def first(self) -> str:
        """The object of the first segment."""
        return next(iter(self.state.entries("index/"))).key

    @property
    def body(self) -> bytes:
        return self.state.get(self.first) or b""

    def put(self, body: bytes) -> None:
        self.state.put(self.first, body, media_type="x")

    def damage(self, section: str) -> None:
        """Change one byte of a section."""
        body = bytearray(self.body)
        place = read_header(bytes(body)).sections[section]
        body[place.start + place.size // 2] ^= 0xFF
        self.put(bytes(body))


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path)


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

    with pytest.raises(IndexLostError, match=r"missing, or not whole"):
        sweeper.chunks.verify(damaged.ref, now())
    sweeper.chunks.discard_damaged(damaged.ref, now())

    assert sweeper.count() == 1


@pytest.mark.parametrize("name", ["core", "lexical"])
def test_a_damaged_local_copy_is_fetched_again(damaged: Damaged, name: str) -> None:
    assert len(damaged.engine("copies").words("pump")) == 4
    copies = sorted((damaged.folder / "copies").glob("*/*/[0-9]*"))
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


def asked() -> CandidateQuery:
    return CandidateQuery("pump", None, Filters(), 50)
