"""The tools of agents: the official MCP client over streamable HTTP, the real routes and use cases, fakes below."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from tests.agent_world import eager_world, key_of, text_of, with_agent
from tests.world import World

PUMP = "# Pump\n\nThe pump's code is QX-5521."
MODES = ("auto", "legacy")


@pytest.fixture
def world() -> World:
    world = eager_world()
    world.put("team/notes/pump.md", PUMP)
    return world


def called(world: World, tool: str, key: str = "", mode: str = "auto", **arguments: Any) -> CallToolResult:
    async def use(client: Client) -> CallToolResult:
        await client.list_tools()
        return await client.call_tool(tool, arguments)

    return with_agent(world, use, key, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_question_is_answered_with_checked_citations_and_readable_text(world: World, mode: str) -> None:
    world.chat.reply = "The pump's code is QX-5521. [1]"

    result = called(world, "rag_query", mode=mode, query="What is the code of the pump?")

    assert not result.is_error
    answer = result.structured_content
    wanted = "answer sources linked_docs citations abstained abstain_reason"
    assert set(wanted.split()) <= set(answer)
    assert answer["citations"][0]["quote"] == "The pump's code is QX-5521."
    assert answer["sources"][0]["path"] == "notes/pump.md"
    assert text_of(result) == "The pump's code is QX-5521. [1]\n\nSources:\n[1] notes/pump.md"


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": "1", "rerank": "false"},
        {"limit": 1.0, "category": "", "agent": "", "as_of": ""},
        {"limit": 1, "vaults": "team", "attributes": "{}"},
        {"limit": 1, "vaults": '["team"]', "doc_types": "[]"},
    ],
)
def test_arguments_are_read_as_models_write_them(world: World, changes: dict[str, Any]) -> None:
    result = called(world, "rag_context_search", query="What is the code of the pump?", **changes)

    assert not result.is_error, text_of(result)
    assert [passage["source"] for passage in result.structured_content["results"]] == ["acme/team/notes/pump.md"]


def test_text_that_is_json_stays_text_where_a_text_is_stored(world: World) -> None:
    called(world, "rag_context_index", content='["ant"]', source="list.txt", metadata='{"tags": "pumps"}')
    result = called(world, "rag_context_search", query="ant", vaults="agents")

    [passage] = result.structured_content["results"]
    assert (passage["content"], passage["metadata"]["tags"]) == ('["ant"]', ["pumps"])


@pytest.mark.parametrize(("tool", "links"), [("rag_query", 1), ("rag_context_search", 2), ("rag_context_health", 0)])
def test_a_result_links_to_the_documents_that_it_stands_on_which_the_client_then_reads(
    world: World, tool: str, links: int
) -> None:
    world.put("team/pump two.txt", "The code of the second pump is QX-5522.")
    world.chat.reply = "The pump's code is QX-5521."

    async def use(client: Client) -> list[tuple[str, str, str | None, str]]:
        asked = {} if tool.endswith("health") else {"query": "What is the code of the pump?"}
        content = (await client.call_tool(tool, asked)).content
        links = [part for part in content if part.type == "resource_link"]
        texts = [text_of(await client.read_resource(str(link.uri))) for link in links]
        return [(str(link.uri), link.name, link.mime_type, text) for link, text in zip(links, texts, strict=True)]

    found = with_agent(world, use)

    everything = [
        ("ragdrop://team/notes/pump.md", "team/notes/pump.md", "text/markdown", PUMP),
        ("ragdrop://team/pump%20two.txt", "team/pump two.txt", "text/plain", "The code of the second pump is QX-5522."),
    ]
    assert sorted(found) == everything[:links]


def test_every_tool_says_what_it_is_called_and_whether_it_writes(world: World) -> None:
    async def use(client: Client) -> dict[str, tuple[bool | None, ...]]:
        tools = (await client.list_tools()).tools
        assert all(tool.title and tool.annotations for tool in tools)
        hints = [(tool.name, tool.annotations) for tool in tools if tool.annotations]
        return {
            name: (hint.read_only_hint, hint.destructive_hint, hint.idempotent_hint, hint.open_world_hint)
            for name, hint in hints
        }

    hints = with_agent(world, use)

    assert hints.pop("rag_context_index") == (False, True, True, False)
    assert set(hints.values()) == {(True, False, True, False)}


def test_a_critical_document_that_is_always_shown_has_the_relevance_one(world: World) -> None:
    world.put("team/rules.md", "# Rules\n\nNobody enters alone.", promotion_level="critical")
    world.chat.reply = "The pump's code is QX-5521. [2]"

    sources = called(world, "rag_query", query="pump code").structured_content["sources"]

    assert [source["relevance_score"] for source in sources if source["promotion_level"] == "critical"] == [1.0]


def test_a_search_gives_one_item_a_passage_with_its_source(world: World) -> None:
    facts = {"agent": "scribe", "category": "plant", "tags": "a,b", "attributes": '{"game": "go"}'}
    world.put("team/valve.md", "# Valve\n\nThe valve's code is ZZ-1.", facts)

    found = called(world, "rag_context_search", query="code of the valve", limit=1).structured_content

    wanted = "results latency_ms fallback fallback_level circuit_breaker_open total_indexed"
    assert set(wanted.split()) <= set(found)
    [passage] = found["results"]
    assert set(passage) == {"content", "score", "source", "timestamp", "metadata"}
    assert passage["source"] == "acme/team/valve.md"
    assert "ZZ-1" in passage["content"]
    assert passage["metadata"] == {
        "agent": "scribe",
        "tags": ["a", "b"],
        "category": "plant",
        "attributes": {"game": "go"},
    }


@pytest.mark.parametrize("mode", MODES)
def test_what_an_agent_writes_is_found_with_all_that_was_said_of_it(world: World, mode: str) -> None:
    metadata = {"agent": "scribe", "tags": ["Öl, Gas"], "category": "plant", "attributes": {"game": "go", "n": 7}}
    indexed = called(
        world, "rag_context_index", mode=mode, content="The crane is green.", session_id="s1", metadata=metadata
    ).structured_content
    search: dict[str, Any] = {"session_id": "s1", "attributes": {"n": "7"}, "vaults": ["agents"]}
    found = called(world, "rag_context_search", query="crane colour", **search).structured_content

    assert (indexed["success"], indexed["pending"], indexed["chunks_indexed"]) == (True, False, 1)
    assert indexed["document_id"].startswith("acme/agents/")
    [passage] = found["results"]
    assert passage["source"] == indexed["document_id"]
    assert passage["metadata"] == {
        "agent": "scribe",
        "tags": ["Öl, Gas"],
        "category": "plant",
        "attributes": {"game": "go", "n": "7"},
    }


def test_the_chunk_ids_of_a_written_document_are_those_that_searches_show(world: World) -> None:
    indexed = called(world, "rag_context_index", content="The crane is green.", source="crane.md").structured_content

    found = world.search("crane", vaults=("agents",))

    assert indexed["chunk_ids"] == [found.documents[0].chunks[0].hit.chunk_id]


def test_the_same_source_replaces(world: World) -> None:
    for colour in ("green", "red"):
        called(world, "rag_context_index", content=f"The crane is {colour}.", source="crane.md")

    assert world.texts("crane colour", vaults=("agents",)) == ["The crane is red."]


def test_a_source_that_is_not_named_is_named_by_its_text(world: World) -> None:
    first, again, other = (
        called(world, "rag_context_index", content=text).structured_content["document_id"] for text in ("a", "a", "b")
    )

    assert first == again != other


def test_a_document_that_is_not_indexed_in_time_is_pending_with_its_status(world: World) -> None:
    world.documents.world = None  # its event never arrives

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("rag_context_index", {"content": "late", "source": "late.md"})

    result = with_agent(world, use, left_s=3.5)

    assert not result.is_error
    assert (result.structured_content["success"], result.structured_content["pending"]) == (False, True)
    assert result.structured_content["status_url"].startswith("http://api.example/documents/agents/late.md?version=")


def test_a_document_that_can_never_be_indexed_is_an_error_with_its_code(world: World) -> None:
    result = called(world, "rag_context_index", content="   ", source="blank.md")

    assert result.is_error
    assert result.structured_content["error"]["code"] == "EMPTY_DOCUMENT"


def test_a_reader_may_do_everything_but_write(world: World) -> None:
    key = key_of(world, "reader")

    assert not called(world, "rag_query", key, query="pump").is_error
    assert not called(world, "rag_context_search", key, query="pump").is_error
    refused = called(world, "rag_context_index", key, content="x")
    assert refused.is_error
    assert refused.structured_content["error"]["code"] == "FORBIDDEN"


def test_a_key_of_one_vault_sees_and_writes_no_other(world: World) -> None:
    key = key_of(world, "writer", "other")

    assert called(world, "rag_context_search", key, query="pump code").structured_content["results"] == []
    written = called(world, "rag_context_index", key, content="x", vault="team")
    assert written.structured_content["error"]["code"] == "DOCUMENT_NOT_FOUND"


def test_stats_count_what_agents_asked(world: World) -> None:
    for query in ("pump", "valve"):
        called(world, "rag_context_search", query=query, agent="scribe")
        world.now_s += 11  # counts are written at most every ten seconds, by the next query

    stats = called(world, "rag_context_stats", time_range="1h").structured_content

    assert (stats["time_range"], stats["total_documents"]) == ("1h", 1)
    assert stats["total_queries"] >= 1
    assert stats["queries_by_agent"] == {"scribe": stats["total_queries"]}


def test_health_reports_each_thing_that_the_service_depends_on(world: World) -> None:
    health = called(world, "rag_context_health").structured_content

    assert {"index", "embedding", "chat", "registry", "object_store"} <= set(health["dependencies"])
    assert health["indexed_documents"] == 1
    assert health["version"]
