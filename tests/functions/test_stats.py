"""`GET /stats`: what a tenant holds and what its queries came to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdrop.errors import DatabaseError
from tests.functions.conftest import Deployment

WANTED = (
    "time_range total_documents total_chunks total_queries avg_latency_ms p50_latency_ms p95_latency_ms p99_latency_ms "
    "cache_hit_rate fallback_rate abstention_rate error_rate queries_by_agent errors_by_code tokens cost request_id "
    "reader_pairs reader_ms"
)


def stats(deployment: Deployment, **params: str) -> tuple[int, Any]:
    return deployment.send("GET", "/stats", **params)


def test_stats_tell_every_field_of_the_contract(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", "The pump's code is QX-5521.")
    for text in ("pump", "pump", "code"):
        deployment.post("query", {"query": text, "agent": "bot"})
    deployment.post("query", {"query": "pump", "vaults": ["nowhere"]})

    status, body = stats(deployment)

    assert (status, set(body)) == (200, set(WANTED.split()))
    assert (body["time_range"], body["total_documents"], body["total_queries"]) == ("24h", 1, 4)
    assert (body["cache_hit_rate"], body["error_rate"], body["fallback_rate"]) == (0.25, 0.0, 0.0)
    assert (body["queries_by_agent"], body["errors_by_code"]) == ({"bot": 3}, {"INVALID_PARAMS": 1})
    assert body["tokens"] == {"prompt": 0, "completion": 0, "total": 0, "embedding": 0}
    assert body["cost"] is None
    assert 0 < body["p50_latency_ms"] <= body["p95_latency_ms"] <= body["p99_latency_ms"]


def test_without_a_query_what_cannot_be_known_is_null(deployment: Deployment) -> None:
    _, body = stats(deployment, time_range="30d")

    assert body["total_queries"] == 0
    assert {body[name] for name in ("avg_latency_ms", "p95_latency_ms", "cache_hit_rate", "error_rate")} == {None}


def test_detail_adds_what_failed_where_and_the_hours(deployment: Deployment) -> None:
    deployment.handlers["query"].app.query.fallback._search = failing
    deployment.post("query", {"query": "pump"})

    _, body = stats(deployment, detail="1")

    assert body["errors"] == [
        {"component": "index", "operation": "search", "code": "DATABASE_ERROR", "stage": "retrieve", "count": 1}
    ]
    assert [hour["queries"] for hour in body["hours"]] == [1]
    assert (body["fallback_rate"], body["error_rate"]) == (1.0, 1.0)


def test_cost_adds_what_questions_and_documents_cost(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pump.md", "The pump's code is QX-5521.")
    deployment.post("query", {"query": "pump"})
    deployment.post("generate", {"query": "pump"})

    _, body = stats(deployment, cost="1")

    counts = {line["name"]: line["count"] for line in body["costs"]}
    assert (counts["searches"], counts["answers"], counts["new documents"], counts["deletions"]) == (1, 1, 1, 0)
    assert all(line["usd"] > 0 for line in body["costs"] if line["count"] and line["name"] != "chat tokens")


def failing(*_: object) -> None:
    raise DatabaseError("down", service="index")


@pytest.mark.parametrize("time_range", ["2h", "", "24H"])
def test_another_time_range_is_refused(deployment: Deployment, time_range: str) -> None:
    status, body = stats(deployment, time_range=time_range)

    assert (status, body["error"]["code"], body["error"]["details"]["field"]) == (400, "INVALID_PARAMS", "time_range")


def test_requests_refused_by_validation_are_errors_by_code_on_every_function(deployment: Deployment) -> None:
    assert deployment.post("query", {"query": "pump", "limit": 99})[0] == 400
    assert deployment.post("generate", {"query": ""})[0] == 400
    assert deployment.send("GET", "/documents", limit="0")[0] == 400
    assert deployment.send("GET", "/documents/handbook/none.md")[0] == 404
    for message in (
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rag_query", "arguments": {}}},
    ):
        deployment.call("mcp", deployment.event("mcp-search", body=json.dumps(message)))

    _, body = stats(deployment, detail="1")

    assert body["errors_by_code"] == {"INVALID_PARAMS": 5, "DOCUMENT_NOT_FOUND": 1}
    assert {each["operation"] for each in body["errors"]} == {"search", "ask", "documents", "mcp"}
    assert (body["total_queries"], body["error_rate"]) == (0, None)


def test_an_error_of_a_query_counts_once(deployment: Deployment) -> None:
    deployment.post("query", {"query": "pump", "vaults": ["nowhere"]})
    deployment.post("generate", {"query": "pump", "model": "nobody"})

    assert stats(deployment)[1]["errors_by_code"] == {"INVALID_PARAMS": 2}


def test_ranking_folders_counts_the_tokens_of_its_search(deployment: Deployment) -> None:
    deployment.put_object("demo/handbook/pumps/a.md", "The pump's code is QX-5521.")
    deployment.chat.reply = '["handbook/pumps"]'

    deployment.post("query", {"query": "pump", "rank_folders": True})

    assert stats(deployment)[1]["tokens"]["total"] > 0
