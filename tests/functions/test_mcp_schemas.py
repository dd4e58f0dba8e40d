"""What clients are told of tools, resources and prompts stays as it is: golden files, and ragdrop's own ranges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from tests.agent_world import eager_world, with_agent

GOLDEN = Path(__file__).parent / "golden"
REWRITE = os.environ.get("RAGDROP_REWRITE_GOLDEN") == "1"


async def everything(client: Client) -> dict[str, Any]:
    """All that a client can list without a document being there."""
    tools = (await client.list_tools()).tools
    reported: dict[str, Any] = {f"mcp_{tool.name}": tool for tool in tools}
    reported["mcp_resource_templates"] = (await client.list_resource_templates()).resource_templates[0]
    reported["mcp_prompts"] = (await client.list_prompts()).prompts[0]
    return {name: each.model_dump(mode="json", by_alias=True, exclude_none=True) for name, each in reported.items()}


@pytest.fixture(scope="module")
def reported() -> dict[str, Any]:
    return with_agent(eager_world(), everything)


def test_what_clients_get_is_what_the_golden_files_hold(reported: dict[str, Any]) -> None:
    if REWRITE:
        GOLDEN.mkdir(exist_ok=True)
        for name, each in reported.items():
            (GOLDEN / f"{name}.json").write_text(json.dumps(each, indent=2, ensure_ascii=False) + "\n", "utf-8")

    assert {path.stem: json.loads(path.read_text("utf-8")) for path in GOLDEN.glob("mcp_*.json")} == reported


def test_there_are_six_tools(reported: dict[str, Any]) -> None:
    assert {name for name in reported if name.startswith("mcp_rag_")} == {
        "mcp_rag_query",
        "mcp_rag_verify",
        "mcp_rag_context_search",
        "mcp_rag_context_index",
        "mcp_rag_context_health",
        "mcp_rag_context_stats",
    }


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        (
            "rag_query",
            (
                "query doc_types max_sources min_relevance_score min_promotion_level include_critical vaults agent "
                "as_of answer_anyway"
            ),
        ),
        (
            "rag_context_search",
            "query limit rerank category session_id content_type doc_types vaults attributes agent as_of",
        ),
        ("rag_context_index", "content content_type session_id source metadata vault"),
        ("rag_context_health", ""),
        ("rag_context_stats", "time_range"),
    ],
)
def test_a_tool_takes_what_the_contract_says(reported: dict[str, Any], tool: str, parameters: str) -> None:
    schema = reported[f"mcp_{tool}"]["inputSchema"]

    assert set(schema["properties"]) == set(parameters.split())
    assert schema["additionalProperties"] is False
    assert all(each.get("description") for each in schema["properties"].values())


def test_ranges_and_defaults_are_those_of_the_contract(reported: dict[str, Any]) -> None:
    query = reported["mcp_rag_query"]["inputSchema"]["properties"]
    search = reported["mcp_rag_context_search"]["inputSchema"]["properties"]
    index = reported["mcp_rag_context_index"]["inputSchema"]["properties"]
    stats = reported["mcp_rag_context_stats"]["inputSchema"]["properties"]

    assert [query["max_sources"][name] for name in ("minimum", "maximum", "default")] == [1, 20, 3]
    assert [query["min_relevance_score"][name] for name in ("minimum", "maximum", "default")] == [0, 1, 0.7]
    assert query["min_promotion_level"]["default"] == "standard"
    assert query["include_critical"]["default"] is True
    assert [search["limit"][name] for name in ("minimum", "maximum", "default")] == [1, 20, 5]
    assert [search["query"][name] for name in ("minLength", "maxLength")] == [1, 1_000]
    assert [index["content"][name] for name in ("minLength", "maxLength")] == [1, 100_000]
    assert index["vault"]["default"] == "agents"
    assert set(index["metadata"]["properties"]) == {"agent", "tags", "category", "attributes"}
    assert (stats["time_range"]["enum"], stats["time_range"]["default"]) == (["1h", "24h", "7d", "30d"], "24h")


def test_no_schema_has_a_reference_to_follow(reported: dict[str, Any]) -> None:
    assert "$ref" not in json.dumps(reported)
