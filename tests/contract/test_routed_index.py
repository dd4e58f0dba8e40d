"""The routed index: an index's name says which engine has it, and what OpenSearch has the bucket index has too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError, DatabaseError
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.stores.routed_index import RoutedIndex, connection_to
from testing.memory_chunk_index import MemoryChunkIndex
from tests.contract.chunk_index_suite import DIMENSION, Engine, bucket_index, now

IN_BUCKET = IndexRef("acme", f"bucket-v1-words-{DIMENSION}-1", DIMENSION)
IN_OPENSEARCH = IndexRef("acme", f"ragdrop-v1-words-{DIMENSION}-1", DIMENSION)
UNREACHABLE = DatabaseError("the index did not answer", service="index")


class Routed:
    """A routed index over the bucket index and a fake that stands for OpenSearch."""

    def __init__(self, folder: Path) -> None:
        self.bucket = bucket_index(folder)
        self.opensearch = MemoryChunkIndex()
        self.connected = 0
        self.index = RoutedIndex(self.bucket, self._connect)

    def _connect(self) -> ChunkIndex:
        self.connected += 1
        return self.opensearch

    def at(self, ref: IndexRef) -> Engine:
        return Engine("routed", self.index, ref)

    def counts(self, ref: IndexRef) -> tuple[int, int]:
        """Chunks in the bucket index and in OpenSearch."""
        return self.bucket.count(ref, now()), self.opensearch.count(ref, now())


@pytest.fixture
def routed(tmp_path: Path) -> Routed:
    return Routed(tmp_path)


@pytest.fixture
def alone(tmp_path: Path) -> RoutedIndex:
    """One whose INDEX_URL names no OpenSearch."""
    return RoutedIndex(bucket_index(tmp_path), None)


def test_an_index_of_the_bucket_by_its_name_never_touches_opensearch(routed: Routed) -> None:
    engine = routed.at(IN_BUCKET)
    routed.opensearch.fail_with = UNREACHABLE
    engine.write(engine.piece("a.md", "pump"))

    assert [hit.key.path for hit in engine.words("pump")] == ["a.md"]
    assert len(engine.read("a.md")) == 1
    assert engine.remove("a.md", before_revision=2) == 1
    assert routed.connected == 0


def test_what_is_written_to_opensearch_is_written_to_the_bucket_index_too(routed: Routed) -> None:
    engine = routed.at(IN_OPENSEARCH)
    engine.write(engine.piece("a.md", "pump"))

    assert routed.counts(IN_OPENSEARCH) == (1, 1)
    assert routed.counts(IN_BUCKET) == (0, 0)


def test_what_opensearch_refuses_the_bucket_index_has_already(routed: Routed) -> None:
    engine = routed.at(IN_OPENSEARCH)
    routed.opensearch.fail_with = UNREACHABLE

    with pytest.raises(DatabaseError):
        engine.write(engine.piece("a.md", "pump"))
    routed.opensearch.fail_with = None
    assert routed.counts(IN_OPENSEARCH) == (1, 0)


def test_what_the_bucket_index_refuses_opensearch_is_not_given(routed: Routed, tmp_path: Path) -> None:
    refusing = MemoryChunkIndex()
    refusing.fail_with = UNREACHABLE
    engine = Engine("routed", RoutedIndex(refusing, lambda: routed.opensearch), IN_OPENSEARCH)

    with pytest.raises(DatabaseError):
        engine.write(engine.piece("a.md", "pump"))
    assert routed.opensearch.count(IN_OPENSEARCH, now()) == 0


def test_questions_to_an_index_of_opensearch_go_there_alone(routed: Routed) -> None:
    engine = routed.at(IN_OPENSEARCH)
    engine.write(engine.piece("a.md", "pump"))
    routed.bucket.drop(IN_OPENSEARCH, now())

    assert [hit.key.path for hit in engine.words("pump")] == ["a.md"]
    assert len(engine.read("a.md")) == 1
    assert engine.count() == 1
    routed.opensearch.fail_with = UNREACHABLE
    with pytest.raises(DatabaseError):
        engine.words("pump")


def test_to_remove_from_opensearch_leaves_the_bucket_index_to_its_merges(routed: Routed) -> None:
    engine = routed.at(IN_OPENSEARCH)
    engine.write(engine.piece("a.md", "pump"))

    assert engine.remove("a.md", before_revision=2) == 1
    assert routed.counts(IN_OPENSEARCH) == (1, 0)


def test_to_drop_an_index_of_opensearch_drops_the_one_beside_it(routed: Routed) -> None:
    for ref in (IN_OPENSEARCH, IN_BUCKET):
        engine = routed.at(ref)
        engine.write(engine.piece("a.md", "pump"), engine.piece("b.md", "pump"))

    assert routed.index.drop(IN_OPENSEARCH, now()) == 2
    assert routed.counts(IN_OPENSEARCH) == (0, 0)
    assert routed.counts(IN_BUCKET) == (2, 0)


def test_to_drop_an_index_of_the_bucket_leaves_opensearch_alone(routed: Routed) -> None:
    for ref in (IN_OPENSEARCH, IN_BUCKET):
        engine = routed.at(ref)
        engine.write(engine.piece("a.md", "pump"))

    assert routed.index.drop(IN_BUCKET, now()) == 1
    assert (routed.counts(IN_BUCKET), routed.counts(IN_OPENSEARCH)) == ((0, 0), (1, 1))


def test_a_refresh_asks_opensearch_for_its_own_indexes_alone(routed: Routed) -> None:
    routed.index.refresh([IN_BUCKET], now())
    assert routed.connected == 0

    routed.index.refresh([IN_BUCKET, IN_OPENSEARCH], now())
    assert routed.opensearch.calls == ["refresh"]


def test_superseded_revisions_are_removed_from_opensearch_and_merged_away_in_the_bucket(routed: Routed) -> None:
    assert routed.index.drops_superseded(IN_BUCKET)
    assert not routed.index.drops_superseded(IN_OPENSEARCH)


def test_its_check_is_that_of_the_index_of_new_tenants(routed: Routed, alone: RoutedIndex) -> None:
    routed.opensearch.fail_with = UNREACHABLE

    with pytest.raises(DatabaseError):
        routed.index.check(now())
    alone.check(now())


def test_it_connects_to_opensearch_once_and_only_when_it_is_required(routed: Routed) -> None:
    assert routed.connected == 0
    for _ in range(3):
        routed.index.count(IN_OPENSEARCH, now())

    assert routed.connected == 1


def test_an_index_of_opensearch_where_index_url_names_none_is_a_wrong_deployment(alone: RoutedIndex) -> None:
    engine = Engine("routed", alone, IN_OPENSEARCH)
    wanted = (
        "this tenant's index is in OpenSearch, and INDEX_URL names none: set it, "
        "or move the tenant by `ragdrop reindex --to bucket` while it is set"
    )
    query = CandidateQuery("pump", None, Filters(), 5)
    calls = (
        lambda: alone.candidates(IN_OPENSEARCH, [query], now()),
        lambda: alone.read(IN_OPENSEARCH, [ChunkRange(engine.key("a.md"), 1, 0, 0)], now()),
        lambda: alone.count(IN_OPENSEARCH, now()),
        lambda: alone.ready(IN_OPENSEARCH, now()),
        lambda: alone.refresh([IN_OPENSEARCH], now()),
        lambda: engine.write(engine.piece("a.md")),
    )

    for call in calls:
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert caught.value.message == wanted


def test_an_engine_of_another_package_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "other_engine-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: other_engine\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[ragdrop.indexes]\nother = other_engine:connect\n")
    (tmp_path / "other_engine.py").write_text("def connect(url, **_):\n    return url\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert connection_to("other")("https://index", password=None) == "https://index"  # type: ignore[comparison-overlap]


def test_an_engine_that_no_package_has_is_a_fault_of_the_configuration() -> None:
    with pytest.raises(ConfigurationError, match="no installed package has an index engine other"):
        connection_to("other")


def test_an_engine_without_its_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("ragdrop_opensearch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opensearchpy", None)

    with pytest.raises(ConfigurationError, match=r"needs the package opensearchpy.*ragdrop\[opensearch\]"):
        connection_to("opensearch")
