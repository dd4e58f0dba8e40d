"""What OpenSearchChunkIndex does beyond the contract of every ChunkIndex, against a real node."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from operator import mul
from uuid import uuid4

import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, Folder, Vector, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ConfigurationError
from ragdrop_opensearch.client import connect
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.opensearch_node import counting_connection, opensearch_url, piece, soon

A = DocumentKey("acme", "team", "a.md")
made_names: list[str] = []


@pytest.fixture
def url() -> str:
    return opensearch_url()


@pytest.fixture
def index(url: str) -> OpenSearchChunkIndex:
    return OpenSearchChunkIndex.from_url(url, shards=2)


def new_ref(*, tenant: str = "acme", dimension: int = 4, routes: int = 1) -> IndexRef:
    made_names.append(f"ragdrop-v1-test-{uuid4().hex[:12]}-{dimension}-1")
    return IndexRef(tenant, made_names[-1], dimension, routes)


@pytest.fixture(autouse=True)
def no_index_stays(url: str) -> Iterator[None]:
    yield
    while made_names:
        connect(url).indices.delete(index=made_names.pop(), ignore_unavailable=True)


def asked(text: str | None = "pump", values: list[float] | None = None, *, limit: int = 10) -> CandidateQuery:
    return CandidateQuery(text, None if values is None else vector(values), Filters(), limit)


def test_vector_and_lexical_candidates_of_all_scopes_are_one_http_request(url: str) -> None:
    counting = counting_connection()
    index = OpenSearchChunkIndex.from_url(url, shards=2, connection_class=counting)
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "the pump", [1, 0, 0, 0])], soon())
    index.refresh([ref], soon())
    index.candidates(ref, [asked()], soon())  # a process's first question may be asked twice of an older server
    counting.seen.clear()

    scopes = [
        CandidateQuery("pump", vector([1, 0, 0, 0]), Filters(folders=(Folder("x"),)), 5),
        asked(values=[1, 0, 0, 0]),
    ]
    found = index.candidates(ref, scopes, soon())

    assert [len(part.vector) + len(part.lexical) for part in found] == [0, 2]
    assert counting.seen == [f"POST /{ref.name}/_msearch"]


def test_every_lexical_hit_has_its_cosine_however_the_shards_share_the_hits(index: OpenSearchChunkIndex) -> None:
    ref, source = new_ref(routes=3), random.Random(5)
    turns = [vector([source.gauss(0, 1) for _ in range(4)]) for _ in range(60)]
    pieces = [piece(f"{number}.md", "pump" + " still" * number, list(turn)) for number, turn in enumerate(turns)]
    index.upsert(ref, pieces, soon())
    index.refresh([ref], soon())

    [found] = index.candidates(ref, [asked(values=[1, 0, 0, 0])], soon())

    first_numbers = {each.id: each.vector[0] for each in pieces}
    assert len(found.lexical) == 10
    assert [hit.cosine for hit in found.lexical] == [
        pytest.approx(first_numbers[hit.chunk_id], abs=1e-5) for hit in found.lexical
    ]


def test_neighbours_and_whole_documents_are_one_http_request(url: str) -> None:
    counting = counting_connection()
    index = OpenSearchChunkIndex.from_url(url, shards=2, connection_class=counting)
    ref = new_ref()
    index.upsert(ref, [piece("a.md", f"part {i}", [1, 0, 0, 0], ordinal=i) for i in range(12)], soon())
    index.refresh([ref], soon())
    counting.seen.clear()

    found = index.read(ref, [ChunkRange(A, 1, 3, 5), ChunkRange(A, 1, 0, 10**12), ChunkRange(A, 2, 0, 5)], soon())

    assert [[hit.chunk.ordinal for hit in part] for part in found] == [[3, 4, 5], list(range(12)), []]
    assert len(counting.seen) == 1


def test_ranges_of_several_documents_that_overlap_come_whole_over_several_pages(index: OpenSearchChunkIndex) -> None:
    ref = new_ref(routes=3)
    for name in ("a.md", "b.md", "c.md"):
        index.upsert(ref, [piece(name, f"part {i}", [1, 0, 0, 0], ordinal=i) for i in range(600)], soon())
    index.refresh([ref], soon())
    b, c = DocumentKey("acme", "team", "b.md"), DocumentKey("acme", "team", "c.md")
    asked = [(c, 590, 10**9), (b, 0, 10**9), (A, 3, 5), (A, 0, 598), (DocumentKey("acme", "team", "none.md"), 0, 9)]

    found = index.read(ref, [ChunkRange(key, 1, first, last) for key, first, last in asked], soon())

    ranges = [(c, range(590, 600)), (b, range(600)), (A, range(3, 6)), (A, range(599)), (A, range(0))]
    assert [[(hit.key, hit.chunk.ordinal) for hit in part] for part in found] == [
        [(key, ordinal) for ordinal in ordinals] for key, ordinals in ranges
    ]


def test_a_documents_whole_removal_is_at_most_three_http_requests(url: str) -> None:
    counting = counting_connection()
    index = OpenSearchChunkIndex.from_url(url, shards=2, connection_class=counting)
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "old", [1, 0, 0, 0], ordinal=i) for i in range(150)], soon())
    counting.seen.clear()

    assert index.remove(ref, A, before_revision=2, deadline=soon()) == 150
    assert len(counting.seen) <= 3


def test_the_usual_write_is_one_http_request_a_hundred_chunks(url: str) -> None:
    counting = counting_connection()
    index = OpenSearchChunkIndex.from_url(url, shards=2, connection_class=counting)
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "first", [1, 0, 0, 0])], soon())
    counting.seen.clear()

    index.upsert(ref, [piece("b.md", "more", [1, 0, 0, 0], ordinal=i) for i in range(201)], soon())

    assert counting.seen == [f"POST /{ref.name}.write/_bulk"] * 3


def test_removing_leaves_no_stray_of_writes_that_were_not_visible_yet(index: OpenSearchChunkIndex) -> None:
    ref = new_ref(routes=3)
    index.upsert(ref, [piece("a.md", "visible", [1, 0, 0, 0], ordinal=0)], soon())
    index.refresh([ref], soon())
    index.upsert(
        ref, [piece("a.md", "unseen", [1, 0, 0, 0], ordinal=i) for i in range(5)], soon()
    )  # 0 is written again
    index.upsert(ref, [piece("a.md", "new", [1, 0, 0, 0], revision=2), piece("b.md", "other", [0, 1, 0, 0])], soon())

    assert index.remove(ref, A, before_revision=2, deadline=soon()) == 5

    index.refresh([ref], soon())
    assert index.count(ref, soon()) == 2
    assert [hit.chunk.text for hit in index.read(ref, [ChunkRange(A, 2, 0, 9)], soon())[0]] == ["new"]


def test_more_than_ten_thousand_chunks_of_one_document_are_read_and_removed(index: OpenSearchChunkIndex) -> None:
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "x", [1, 0, 0, 0], ordinal=i) for i in range(10_050)], soon())
    index.upsert(ref, [piece("b.md", "stays", [1, 0, 0, 0])], soon())
    index.refresh([ref], soon())
    whole = index.read(ref, [ChunkRange(A, 1, 0, 10**9)], soon())[0]

    assert [hit.chunk.ordinal for hit in whole] == list(range(10_050))
    assert index.remove(ref, A, before_revision=2, deadline=soon()) == 10_050
    assert index.count(ref, soon()) == 1


def test_filtered_recall_is_at_least_98_percent_and_no_query_returns_another_tenants_chunk(url: str) -> None:
    index = OpenSearchChunkIndex.from_url(url)  # shards and ef_search as shipped
    made = random.Random(20_000)
    name = new_ref(dimension=32).name
    data: dict[str, list[Vector]] = {}
    for number in range(20):
        tenant = f"tenant-{number}"
        data[tenant] = [vector([made.gauss(0, 1) for _ in range(32)]) for _ in range(1_000)]
        chunks = [piece(f"{i}.md", "x", values, tenant=tenant) for i, values in enumerate(data[tenant])]
        index.upsert(IndexRef(tenant, name, 32), chunks, soon())
    index.refresh([IndexRef("tenant-0", name, 32)], soon())

    right = 0
    for tenant, vectors in data.items():
        for _ in range(5):
            query = vector([made.gauss(0, 1) for _ in range(32)])
            cosines = [sum(map(mul, query, values)) for values in vectors]
            nearest = sorted(range(1_000), key=lambda i: -cosines[i])[:10]
            asked_for = CandidateQuery(None, query, Filters(), 10)
            found = index.candidates(IndexRef(tenant, name, 32), [asked_for], soon())[0].vector
            assert {hit.key.tenant for hit in found} == {tenant}
            assert found[0].score == pytest.approx(cosines[nearest[0]], abs=1e-4)
            right += len({hit.key.path for hit in found} & {f"{i}.md" for i in nearest})
    assert right / (20 * 5 * 10) >= 0.98


def test_processes_that_make_the_index_at_the_same_time_all_write(url: str) -> None:
    ref = new_ref()
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            own = OpenSearchChunkIndex.from_url(url, shards=2)
            own.upsert(ref, [piece(f"{number}.md", "x", [1, 0, 0, 0])], soon())
        except BaseException as exc:  # noqa: BLE001 shown by the assertion
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    index = OpenSearchChunkIndex.from_url(url)
    index.refresh([ref], soon())
    assert failures == []
    assert index.count(ref, soon()) == 8


def test_a_dimension_that_does_not_fit_the_index_is_named_beside_the_right_one(index: OpenSearchChunkIndex) -> None:
    ref = new_ref(dimension=4)
    index.upsert(ref, [piece("a.md", "x", [1, 0, 0, 0])], soon())
    index.refresh([ref], soon())
    wrong = IndexRef(ref.tenant, ref.name, 3)

    with pytest.raises(ConfigurationError, match=r"3 components.*vectors of 4"):
        index.upsert(wrong, [piece("b.md", "x", [1, 0, 0])], soon())
    with pytest.raises(ConfigurationError, match=r"3 components.*vectors of 4"):
        index.candidates(wrong, [asked(values=[1, 0, 0])], soon())
    with pytest.raises(ConfigurationError, match=r"3 components.*vectors of 4"):
        index.upsert(ref, [piece("b.md", "x", [1, 0, 0])], soon())


def test_an_index_that_is_gone_is_made_again_and_never_by_guessing_its_mapping(
    url: str, index: OpenSearchChunkIndex
) -> None:
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "x", [1, 0, 0, 0])], soon())
    client = connect(url)
    client.indices.delete(index=ref.name)

    index.upsert(ref, [piece("b.md", "pump", [1, 0, 0, 0])], soon())
    index.refresh([ref], soon())

    mapping = client.indices.get_mapping(index=ref.name)[ref.name]["mappings"]
    assert mapping["dynamic"] == "strict"
    assert mapping["properties"]["vector"]["type"] == "knn_vector"
    assert index.candidates(ref, [asked(values=[1, 0, 0, 0])], soon())[0].vector[0].score == pytest.approx(1.0)


def test_an_index_of_that_name_that_ragdrop_did_not_make_is_refused(url: str, index: OpenSearchChunkIndex) -> None:
    ref = new_ref()
    connect(url).indices.create(index=ref.name)

    with pytest.raises(ConfigurationError, match="was not made by ragdrop"):
        index.upsert(ref, [piece("a.md", "x", [1, 0, 0, 0])], soon())


def test_a_chunk_without_direction_is_found_lexically_only(index: OpenSearchChunkIndex) -> None:
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "pump", [0, 0, 0, 0])], soon())
    index.refresh([ref], soon())

    found = index.candidates(ref, [asked("pump", [0, 0, 0, 0])], soon())[0]

    assert (len(found.vector), len(found.lexical)) == (0, 1)


def test_english_endings_do_not_matter_and_neither_do_the_words_of_another_language(
    index: OpenSearchChunkIndex,
) -> None:
    ref = new_ref()
    texts = {"en.md": "The pumps were running", "de.md": "Die Überläufe der Anlage", "who.md": "to be or not to be"}
    index.upsert(ref, [piece(path, text, [1, 0, 0, 0]) for path, text in texts.items()], soon())
    index.refresh([ref], soon())

    found = index.candidates(ref, [asked("pump"), asked("Überläufe"), asked("to be")], soon())

    assert [part.lexical[0].key.path for part in found] == ["en.md", "de.md", "who.md"]


def test_what_looks_like_query_syntax_is_only_words(index: OpenSearchChunkIndex) -> None:
    ref = new_ref()
    index.upsert(ref, [piece("a.md", "pump", [1, 0, 0, 0])], soon())
    index.refresh([ref], soon())

    found = index.candidates(ref, [asked('pump" AND (tenant:* OR {"x"}) ^~/.*/'), asked("?!"), asked(" ")], soon())

    assert [len(part.lexical) for part in found] == [1, 0, 0]


def test_dropping_a_tenant_leaves_its_neighbours_alone(index: OpenSearchChunkIndex) -> None:
    ref = new_ref(routes=2)
    other = IndexRef("other", ref.name, 4)
    index.upsert(ref, [piece(f"{i}.md", "x", [1, 0, 0, 0]) for i in range(5)], soon())
    index.upsert(other, [piece("a.md", "x", [1, 0, 0, 0], tenant="other")], soon())

    assert index.drop(ref, soon()) == 5
    assert (index.count(ref, soon()), index.count(other, soon())) == (0, 1)
