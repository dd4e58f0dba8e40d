"""What a reading function asks of OpenSearch stays within what the template lets it ask."""

from __future__ import annotations

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.stores.opensearch.chunk_index import OpenSearchChunkIndex
from tests.contract.opensearch_node import counting_connection, opensearch_url, piece, soon

REF = IndexRef("acme", "ragdrop-v1-rights-2-1", 2)


def test_searching_reading_and_checking_send_nothing_but_reads_and_searches() -> None:
    connection = counting_connection()
    OpenSearchChunkIndex.from_url(opensearch_url()).upsert(REF, [piece("a.md", "pump", [1.0, 0.0])], soon())
    index = OpenSearchChunkIndex.from_url(opensearch_url(), connection_class=connection)

    index.check(soon())
    index.candidates(REF, [CandidateQuery("pump", vector([1.0, 0.0]), Filters(), 30)], soon())
    index.read(REF, [ChunkRange(DocumentKey("acme", "team", "a.md"), 1, 0, 9)], soon())

    assert connection.seen
    for request in connection.seen:
        method, _, url = request.partition(" ")
        assert method in {"GET", "HEAD"} or (method == "POST" and url.partition("?")[0].endswith("/_msearch")), request
