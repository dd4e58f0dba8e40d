"""A key that is limited to vaults sees no figure, name or error of another vault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdrop.domain.tenants import Role
from tests.functions.conftest import Deployment


@pytest.fixture
def key(deployment: Deployment) -> str:
    for number in range(3):
        deployment.put_object(f"demo/secret/{number}.md", "The pump is blue.")
    deployment.put_object("demo/handbook/pump.md", "The pump's code is QX-5521.")
    deployment.post("query", {"query": "pump"})
    role: Role = "admin"
    return str(deployment.handlers["query"].app.operate.operator.create_key("demo", role, ("handbook",))[0])


def search(deployment: Deployment, key: str, **fields: Any) -> tuple[int, Any]:
    return deployment.send("POST", "/search", json.dumps({"query": "pump", **fields}), key=key)


def test_a_search_counts_the_documents_of_its_vaults_cached_or_not(deployment: Deployment, key: str) -> None:
    found = [search(deployment, key)[1] for _ in range(2)]

    assert [(each["total_indexed"], each["served_by"]) for each in found] == [(1, "index"), (1, "cache")]
    assert deployment.post("query", {"query": "pump"})[1]["total_indexed"] == 4


def test_stats_count_its_vaults_and_the_queries_of_keys_with_the_same_limit(deployment: Deployment, key: str) -> None:
    search(deployment, key, vaults=["secret"])
    search(deployment, key)

    _, limited = deployment.send("GET", "/stats", key=key)
    _, whole = deployment.send("GET", "/stats")

    assert (limited["total_documents"], limited["total_chunks"], limited["total_queries"]) == (1, 1, 2)
    assert limited["errors_by_code"] == {"INVALID_PARAMS": 1}
    assert (whole["total_documents"], whole["total_queries"]) == (4, 3)
    assert "costs" not in deployment.send("GET", "/stats", key=key, cost="1")[1]


def test_health_counts_its_vaults(deployment: Deployment, key: str) -> None:
    assert deployment.send("GET", "/health", key=key)[1]["indexed_documents"] == 1


def test_the_tools_of_agents_count_its_vaults(deployment: Deployment, key: str) -> None:
    for tool, field in (("rag_context_stats", "total_documents"), ("rag_context_health", "indexed_documents")):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
        event = deployment.event("mcp-search", body=json.dumps(message))
        event["headers"]["x-api-key"] = key
        event["multiValueHeaders"]["x-api-key"] = [key]
        _, body = deployment.call("mcp", event)

        assert body["result"]["structuredContent"][field] == 1


def test_an_error_proposes_only_a_vault_that_the_key_may_read(deployment: Deployment, key: str) -> None:
    _, hidden = search(deployment, key, vaults=["secrets"])
    _, near = search(deployment, key, vaults=["handbok"])
    _, whole = deployment.post("query", {"query": "pump", "vaults": ["secrets"]})

    assert hidden["error"]["message"] == "there is no vault named 'secrets'"
    assert near["error"]["message"].endswith("; did you mean handbook?")
    assert whole["error"]["message"].endswith("; did you mean secret?")


def test_vaults_are_listed_with_their_documents_by_status_as_far_as_the_key_may_read_them(
    deployment: Deployment, key: str
) -> None:
    deployment.put_object("demo/handbook/empty.md", "")

    _, limited = deployment.send("GET", "/vaults", key=key)
    _, first = deployment.send("GET", "/vaults", limit="1")
    _, second = deployment.send("GET", "/vaults", limit="1", cursor=first["cursor"])

    [handbook] = limited["vaults"]
    assert (handbook["name"], handbook["documents"], handbook["chunks"]) == ("handbook", {"indexed": 1, "failed": 1}, 1)
    assert handbook["last_change"]
    assert [each["name"] for each in first["vaults"] + second["vaults"]] == ["handbook", "secret"]
    assert second["vaults"][0]["documents"] == {"indexed": 3}
