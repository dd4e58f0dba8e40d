"""What each function asks of OpenSearch is within what its role may ask of the template's domain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.stores.opensearch.chunk_index import OpenSearchChunkIndex
from tests.architecture.cloudformation import read_template
from tests.contract.opensearch_node import counting_connection, opensearch_url, piece, soon
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext, deployed
from tests.functions.roles import allowed, permissions_of

REF = IndexRef("acme", "ragdrop-v1-rights-2-1", 2)


def test_searching_reading_and_checking_send_nothing_but_reads_and_searches() -> None:
    connection = counting_connection()
    OpenSearchChunkIndex.from_url(opensearch_url()).upsert(REF, [piece("a.md", "pump", [1.0, 0.0])], soon())
    index = OpenSearchChunkIndex.from_url(opensearch_url(), connection_class=connection)

    index.check(soon())
    index.candidates(REF, [CandidateQuery("pump", vector([1.0, 0.0]), Filters(), 30)], soon())
    index.read(REF, [ChunkRange(DocumentKey("acme", "team", "a.md"), 1, 0, 9)], soon())

    assert refused("GenerateRole", connection.seen) == []


def refused(role: str, seen: list[str]) -> list[str]:
    """The requests that the role may not send."""
    held = permissions_of(read_template()["Resources"])[role]
    asked = [request.partition("?")[0].partition(" ") for request in seen]
    return [
        f"{role}: {method} {path}"
        for method, _, path in asked
        if not allowed(held, f"es:ESHttp{method.capitalize()}", f"IndexDomain{path}")
    ]


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A deployment on the run's node, with a client for each function that notes what it sends."""
    with deployed(tmp_path, monkeypatch, INDEX_URL=opensearch_url()) as made:
        yield made


def test_whatever_the_functions_do_their_roles_may_ask_it_of_the_domain(deployment: Deployment) -> None:
    seen: dict[str, list[str]] = {}
    for name, module in deployment.handlers.items():
        connection = counting_connection()
        module.app.ports.index = OpenSearchChunkIndex.from_url(opensearch_url(), connection_class=connection)
        seen[f"{name.capitalize()}Role"] = connection.seen
    sweep, now = deployment.handlers["sweep"], [time.time()]
    sweep.app.ports.clock = lambda: now[0]
    deployment.chat.reply = "The pump's code is QX-5521. [1]"
    for path in ("pump", "valve", "seal"):
        deployment.put_object(f"demo/handbook/{path}.md", f"# {path}\n\nThe {path}'s code is QX-5521.")
    deployment.put_object("demo/handbook/valve.md", "# Valve\n\nAnother text.")
    deployment.s3.delete_object(Bucket=EXAMPLE_BUCKET, Key="demo/handbook/seal.md")
    deployment.converge("demo/handbook/seal.md")

    for function in ("query", "generate"):
        assert deployment.post(function, {"query": "code QX-5521", "min_relevance": 0})[0] == 200
        assert deployment.post(function, {"query": "nothing like it", "min_relevance": 1})[0] == 200
    deployment.call("mcp", deployment.event("mcp-search"))
    purge = {"purge": "1"}
    path, many = "/documents/handbook/valve.md", {"purge": ["1"]}
    asked = {"httpMethod": "DELETE", "path": path, "body": None, "queryStringParameters": purge}
    status, _ = deployment.call("query", deployment.event("search", multiValueQueryStringParameters=many, **asked))
    assert status == 200
    tenant = sweep.app.ports.registry.tenant("demo")
    index = OpenSearchChunkIndex.from_url(opensearch_url())
    for again in range(3):
        sweep.handler({}, LocalContext(remaining_ms=900_000))
        if again == 0:
            index.drop(tenant.index, soon())
        now[0] += 40 * 86_400

    assert all(seen.values()), {name: len(each) for name, each in seen.items()}
    assert [told for role, requests in seen.items() for told in refused(role, requests)] == []
