"""`ragdrop stats`: figures for a person, a plot of how they went, and the API's body for a program."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.unit.cli.world import CommandLine

BODY: dict[str, Any] = {
    "time_range": "24h",
    "total_documents": 12,
    "total_chunks": 90,
    "total_queries": 30,
    "avg_latency_ms": 41.5,
    "p50_latency_ms": 40.0,
    "p95_latency_ms": 80.0,
    "p99_latency_ms": 95.0,
    "cache_hit_rate": 0.5,
    "fallback_rate": 0.0,
    "abstention_rate": 0.1,
    "error_rate": 0.0333,
    "queries_by_agent": {"bot": 20},
    "errors_by_code": {"DATABASE_ERROR": 1},
    "tokens": {"prompt": 1000, "completion": 200, "total": 1200},
    "cost": None,
    "errors": [
        {"component": "index", "operation": "search", "code": "DATABASE_ERROR", "stage": "retrieve", "count": 1}
    ],
    "hours": [
        {"hour": "2026-01-02T03", "queries": 10, "failed": 1, "fallbacks": 0, "p50_latency_ms": 4, "p95_latency_ms": 8},
        {"hour": "2026-01-02T06", "queries": 20, "failed": 0, "fallbacks": 0, "p50_latency_ms": 4, "p95_latency_ms": 4},
    ],
}


@pytest.fixture
def asked(ragdrop: CommandLine) -> CommandLine:
    ragdrop.api.routes["GET", "/stats"] = lambda _request: httpx.Response(200, json=BODY)
    return ragdrop


def test_figures_are_reported_and_hours_without_a_query_are_gaps_in_the_plot(asked: CommandLine) -> None:
    found = asked.run("stats", "7d")

    assert found.exit_code == 0
    assert asked.api.requests[0].url.params["time_range"] == "7d"
    assert "12 documents, 90 chunks" in found.output
    assert "avg 42 ms, p50 40 ms, p95 80 ms, p99 95 ms" in found.output
    assert "cache hit 50.0%" in found.output
    assert "tokens: 1,200; cost: unknown" in found.output
    assert "queries  ▄  █" in found.output


def test_errors_are_listed_by_component_operation_code_and_stage(asked: CommandLine) -> None:
    assert asked.run("stats", "--errors").output == "1\tDATABASE_ERROR\tindex\tsearch\tretrieve\n"


def test_costs_are_listed_by_line_with_their_sum_and_what_is_not_in_it(ragdrop: CommandLine) -> None:
    costs = [
        {"name": "searches", "count": 1000, "usd": 0.0145, "basis": "counted"},
        {"name": "chat tokens", "count": None, "usd": None, "basis": "counted"},
        {"name": "chunks stored", "count": 90, "usd": 0.0001, "basis": "estimated"},
    ]
    ragdrop.api.routes["GET", "/stats"] = lambda _request: httpx.Response(200, json=BODY | {"costs": costs})

    found = ragdrop.run("stats", "--cost")

    assert ragdrop.api.requests[0].url.params["cost"] == "1"
    assert "searches\t1,000\t0.0145\tcounted\nchat tokens\tunknown\tunknown\tcounted\n" in found.output
    assert "0.0146 USD in 24h, by AWS's list prices: an estimate" in found.output
    assert "Not in it: embedding" in found.output


def test_with_json_the_body_is_the_apis_own(asked: CommandLine) -> None:
    assert json.loads(asked.run("stats", "--json").output) == BODY


def test_a_time_range_that_does_not_exist_is_refused_by_the_api(ragdrop: CommandLine) -> None:
    error = {"code": "INVALID_PARAMS", "message": "time_range: no", "details": {}, "request_id": "r"}
    ragdrop.api.routes["GET", "/stats"] = lambda _request: httpx.Response(400, json={"error": error})

    assert ragdrop.run("stats", "2h").exit_code == 1


def test_vaults_are_listed_with_their_documents_by_status(ragdrop: CommandLine) -> None:
    vault = {
        "name": "team",
        "documents": {"indexed": 3, "failed": 1},
        "chunks": 9,
        "last_change": "2026-01-02T03:04:05Z",
    }
    pages = iter(
        [
            {"vaults": [{**vault, "complete": True}], "cursor": "team", "request_id": "r1"},
            {"vaults": [{**vault, "name": "wiki", "complete": False}], "cursor": None, "request_id": "r2"},
        ]
    )
    ragdrop.api.routes["GET", "/vaults"] = lambda _request: httpx.Response(200, json=next(pages))

    found = ragdrop.run("vaults")

    assert found.output.splitlines() == [
        "team\t1 failed, 3 indexed\t9\t2026-01-02T03:04:05Z",
        "wiki\t1 failed, 3 indexed or more\t9\t2026-01-02T03:04:05Z",
    ]
    assert ragdrop.api.requests[-1].url.params["cursor"] == "team"
