"""The bucket index's benchmark: its bucket in a folder, its pace and its corpus are what they say."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

from benchmarks.bucket_process import (
    FILTERS,
    REF,
    clustered,
    corpus,
    index_over,
    nearest,
    number_of,
    questions,
    soon,
    unit,
)
from ragdrop.domain.chunks import CandidateQuery, Filters
from testing.folder_object_store import FolderManifests, FolderObjectStore, PacedObjectStore


def test_a_manifest_in_a_folder_is_written_only_onto_the_number_that_is_there(tmp_path: Path) -> None:
    manifests = FolderManifests(tmp_path)

    assert manifests.read("acme", "one") is None
    assert manifests.write("acme", "one", "first\nline", 1, 0)
    assert not manifests.write("acme", "one", "late", 1, 0)
    assert manifests.read("acme", "one") == "first\nline"


def test_requests_wait_and_share_one_rate(tmp_path: Path) -> None:
    FolderObjectStore(tmp_path).put("a", bytes(1_000), media_type="text/plain")
    paced = PacedObjectStore(tmp_path, bytes_a_second=10_000, request_s=0.05)
    began = time.monotonic()

    assert paced.get("a", start=0, end=500) == bytes(500)
    assert paced.get("missing") is None

    assert time.monotonic() - began >= 0.05 + 0.05 + 0.05
    assert (paced.requests, paced.bytes_read) == (2, 500)


def test_what_is_found_is_numbered_as_an_exact_search_numbers_it(tmp_path: Path) -> None:
    index = index_over(FolderObjectStore(tmp_path / "state"), tmp_path / "copies")
    pieces = [piece for batch in corpus(60, 25, clustered, words=8) for piece in batch]
    index.upsert(REF, pieces, soon())
    required = pieces[17].vector

    [found] = index.candidates(REF, [CandidateQuery(None, required, Filters(), 1)], soon())

    rows = (unit(piece.vector).tobytes() for piece in pieces)
    assert [number_of(hit) for hit in found.vector] == nearest([required], rows, 1)[0] == [17]


def test_each_filter_leaves_something_of_the_corpus(tmp_path: Path) -> None:
    index = index_over(FolderObjectStore(tmp_path / "state"), tmp_path / "copies")
    for batch in corpus(1_000, 500, clustered, words=8):
        index.upsert(REF, batch, soon())

    left = [len(index.candidates(REF, questions(1, clustered, each), soon())[0].vector) for each in FILTERS.values()]

    assert left == [30, 30, 10, 30]


def test_a_corpus_repeats() -> None:
    one, other = (list(corpus(30, 10, clustered, words=8)) for _ in range(2))

    assert one == other
    assert all(before[0].key != after[0].key for before, after in pairwise(one))
