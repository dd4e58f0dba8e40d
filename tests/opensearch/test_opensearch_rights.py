"""What each function asks of OpenSearch is within what its role may ask of the template's domain."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

import pytest

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, vector
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.client import connect
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.architecture.cloudformation import allowed_statements, listed, read_template, roles_of
from tests.contract.opensearch_node import counting_connection, opensearch_url, piece, soon
from tests.functions.conftest import EXAMPLE_BUCKET, Deployment, LocalContext, deployed
from tests.functions.roles import allowed, pattern_of, permissions_of

Requests = Mapping[str, list[str]]
"""What each role sent: method and path."""

NOTHING_FOUND = {"query": "code QX-5521", "category": "of-no-document"}
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
    allowances = permissions_of(read_template()["Resources"])[role]
    return [f"{role}: {request}" for request in seen if not allowed(allowances, *needed(request))]


def needed(request: str) -> tuple[str, str]:
    """The action that a request needs, and on what.

    >>> needed("POST /one/_msearch?x=1")
    ('es:ESHttpPost', 'IndexDomain/one/_msearch')
    """
    method, _, path = request.partition("?")[0].partition(" ")
    return f"es:ESHttp{method.capitalize()}", f"IndexDomain{path}"


def unused(seen: Requests) -> list[str]:
    """What a statement allows on the domain though no role that has it sent such a request."""
    resources = read_template()["Resources"]
    return [
        f"{statement['Sid']}: {action} on {place.pattern}"
        for name, statement in allowed_statements(resources)
        for action in listed(statement["Action"])
        for place in map(pattern_of, listed(statement["Resource"]))
        if action.startswith("es:")
        and not any(
            allowed([(action, place)], *needed(request)) for role in roles_of(resources, name) for request in seen[role]
        )
    ]


def noting(deployment: Deployment) -> Requests:
    """What each role sends from now on."""
    seen: dict[str, list[str]] = {}
    for name, module in deployment.handlers.items():
        connection = counting_connection()
        module.app.ports.index = OpenSearchChunkIndex.from_url(opensearch_url(), connection_class=connection)
        seen[f"{name.capitalize()}Role"] = connection.seen
    return seen


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Requests:
    """What each role sent while the functions did whatever they do, on an index that was not there before."""
    model = f"hashing-{secrets.token_hex(4)}"  # it names the index
    url, folder = opensearch_url(), tmp_path_factory.mktemp("rights")
    with (
        pytest.MonkeyPatch.context() as environ,
        deployed(folder, environ, INDEX_URL=url, EMBEDDING_MODEL=model) as deployment,
    ):
        seen = noting(deployment)
        write_and_delete(deployment)
        ask_everything(deployment)
        purge(deployment, "/documents/handbook/valve.md")
        sweep_three_times_over_an_index_that_is_lost_once(deployment)
        name = deployment.handlers["sweep"].app.ports.registry.tenant("demo").index.name
        connect(url).indices.delete(index=name)
    return seen


def write_and_delete(deployment: Deployment) -> None:
    for path in ("pump", "valve", "seal"):
        deployment.put_object(f"demo/handbook/{path}.md", f"# {path}\n\nThe {path}'s code is QX-5521.")
    deployment.put_object("demo/handbook/valve.md", "# Valve\n\nAnother text.")
    deployment.s3.delete_object(Bucket=EXAMPLE_BUCKET, Key="demo/handbook/seal.md")
    deployment.reconcile("demo/handbook/seal.md")


def ask_everything(deployment: Deployment) -> None:
    """Ask for what is there, for what is not relevant, for what no document can be, and how the service is."""
    deployment.chat.reply = "The pump's code is QX-5521. [1]"
    questions: list[dict[str, Any]] = [
        {"query": "code QX-5521", "min_relevance": 0},
        {"query": "nothing like it", "min_relevance": 1},
        NOTHING_FOUND,
    ]
    for function in ("query", "generate"):
        assert [deployment.post(function, question)[0] for question in questions] == [200, 200, 200]
    deployment.call("mcp", deployment.event("mcp-search"))
    for tool, arguments in (("rag_context_search", NOTHING_FOUND), ("rag_context_health", {})):
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        status, answer = deployment.call("mcp", deployment.event("mcp-search", body=body))
        assert (status, answer["result"].get("isError", False)) == (200, False), answer
    _, health = deployment.call("query", deployment.event("search", httpMethod="GET", path="/health", body=None))
    assert health["dependencies"]["index"]["status"] == "healthy"


def purge(deployment: Deployment, path: str) -> None:
    query, many = {"purge": "1"}, {"purge": ["1"]}
    request = {"httpMethod": "DELETE", "path": path, "body": None, "queryStringParameters": query}
    status, _ = deployment.call("query", deployment.event("search", multiValueQueryStringParameters=many, **request))
    assert status == 200


def sweep_three_times_over_an_index_that_is_lost_once(deployment: Deployment) -> None:
    sweep, now = deployment.handlers["sweep"], [time.time()]
    sweep.app.ports.clock = lambda: now[0]
    tenant = sweep.app.ports.registry.tenant("demo")
    index = OpenSearchChunkIndex.from_url(opensearch_url())
    for again in range(3):
        sweep.handler({}, LocalContext(remaining_ms=900_000))
        if again == 0:
            index.drop(tenant.index, soon())
        now[0] += 40 * 86_400


def test_whatever_the_functions_do_their_roles_may_ask_it_of_the_domain(asked: Requests) -> None:
    assert all(asked.values()), {name: len(each) for name, each in asked.items()}
    assert [found for role, requests in asked.items() for found in refused(role, requests)] == []


def test_the_roles_may_ask_nothing_of_the_domain_that_no_function_asks(asked: Requests) -> None:
    assert unused(asked) == []


@pytest.mark.parametrize("role", ["QueryRole", "GenerateRole", "McpRole"])
def test_a_search_that_finds_nothing_counts_what_the_index_holds(asked: Requests, role: str) -> None:
    assert [request for request in asked[role] if request.partition("?")[0].endswith("/_count")] != []
