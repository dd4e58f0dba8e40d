"""Every error of the API as an agent sees it: a tool's result with a code, or an HTTP status before there is a tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp_types import CallToolResult

from ragdrop import errors
from ragdrop.api.mcp.mcp_route import mcp_api
from ragdrop.api.mcp.tools import TOOLS
from tests.agent_world import URL, eager_world, key_of, text_of, with_agent
from tests.world import World

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def world() -> World:
    world = eager_world()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is QX-5521.", doc_type="tool")
    return world


def called(world: World, tool: str, /, **arguments: Any) -> CallToolResult:
    async def use(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    return with_agent(world, use)


def posted(
    world: World, *, method: str = "POST", message: Any = INITIALIZE, url: str = URL, **headers: str
) -> httpx2.Response:
    """The reply to a message, which may be text; underscores in the names of headers stand for hyphens."""

    async def run() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(mcp_api(world.app))) as http:
            sent = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            body = None if method != "POST" else message if isinstance(message, str) else json.dumps(message)
            return await http.request(method, url, content=body, headers=sent)

    return asyncio.run(run())


def test_a_slash_behind_the_address_is_no_other_address(world: World) -> None:
    assert posted(world, url=f"{URL}/", x_api_key=key_of(world, "reader")).status_code == 200


def replied(world: World, message: Any, **headers: str) -> tuple[int, Any]:
    """Status and body of the reply to *message*, sent with a reader's key; None for an empty body."""
    response = posted(world, message=message, x_api_key=key_of(world, "reader"), **headers)
    return response.status_code, response.json() if response.content else None


PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.mark.parametrize("version", ["2099-01-01", "2026-07-28", "latest", ""])
def test_initialize_negotiates_the_version_of_its_body_whatever_its_header_names(world: World, version: str) -> None:
    status, body = replied(world, INITIALIZE, mcp_protocol_version=version)

    assert (status, body["result"]["protocolVersion"]) == (200, "2025-11-25")


def test_after_initialize_an_unsupported_version_is_refused_with_those_that_are_supported(world: World) -> None:
    status, body = replied(world, PING, mcp_protocol_version="2031-05-05")

    assert (status, body["id"]) == (400, 7)
    assert "2025-06-18" in body["error"]["message"]
    assert body["error"]["data"]["requested"] == "2031-05-05"
    assert replied(world, PING, mcp_protocol_version="2024-11-05")[0] == 200
    assert replied(world, PING)[0] == 200


@pytest.mark.parametrize("sent", [0, -3, "a", "", 2.0, 2**60])
def test_a_reply_has_the_id_of_its_request(world: World, sent: object) -> None:
    assert replied(world, {**PING, "id": sent}) == (200, {"jsonrpc": "2.0", "id": sent, "result": {}})


@pytest.mark.parametrize("sent", [None, 1.5, True, [1], {"a": 1}])
def test_a_request_with_an_id_of_no_valid_type_is_refused_in_words(world: World, sent: object) -> None:
    status, body = replied(world, {**PING, "id": sent})

    assert (status, body["id"], body["error"]["code"]) == (400, None, -32600)
    assert body["error"]["message"].startswith(f"id is {json.dumps(sent)}")


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        ([PING, {**PING, "id": 8}], -32600, "batches are not supported"),
        ([], -32600, "batches are not supported"),
        ("7", -32600, "must be a JSON object"),
        ("", -32700, "not valid JSON"),
        ('{"jsonrpc": ', -32700, "not valid JSON at character 12"),
        ({**PING, "jsonrpc": "1.0"}, -32600, 'jsonrpc must be "2.0"'),
        ({"jsonrpc": "2.0", "id": 7}, -32600, "method is missing"),
        ({**PING, "method": 7}, -32600, "method must be a string"),
        ({**PING, "method": "tools/call", "params": ["rag_query"]}, -32602, "params must be an object"),
    ],
)
def test_what_is_no_message_is_refused_in_plain_words(world: World, message: object, code: int, words: str) -> None:
    status, body = replied(world, message)

    assert (status, body["error"]["code"]) == (400, code)
    assert words in body["error"]["message"]


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("tools/everything", {}, -32601, "Method not found"),
        ("tools/call", {}, -32602, "tools/call: params.name is missing"),
        ("tools/call", {"name": 7}, -32602, "tools/call: params.name input should be a valid string"),
        ("resources/read", None, -32602, "resources/read: params"),
        ("prompts/get", {"arguments": {}}, -32602, "prompts/get: params.name is missing"),
    ],
)
def test_a_method_names_the_parameter_that_it_lacks(
    world: World, method: str, params: object, code: int, words: str
) -> None:
    status, body = replied(world, {**PING, "method": method, "params": params})

    assert (status, body["id"], body["error"]["code"]) == (200, 7, code)
    assert words in body["error"]["message"]


def test_a_notification_is_accepted_without_a_body(world: World) -> None:
    assert replied(world, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
    assert replied(world, {"jsonrpc": "2.0", "id": 7, "result": {}}) == (202, None)


def test_a_content_type_that_is_not_json_is_named(world: World) -> None:
    status, body = replied(world, PING, content_type="text/plain")

    assert (status, body["error"]["message"]) == (415, "the Content-Type header is 'text/plain': send application/json")
    assert replied(world, PING, content_type="Application/JSON; charset=utf-8")[0] == 200


def test_a_byte_order_mark_before_a_message_is_left_out(world: World) -> None:
    assert replied(world, "\ufeff" + json.dumps(PING))[0] == 200


def test_any_accept_header_that_allows_json_will_do(world: World) -> None:
    assert [replied(world, PING, accept=each)[0] for each in ("*/*", "application/*", "text/html")] == [200, 200, 406]


@pytest.mark.parametrize("tool", ["rag_query", "rag_context_search", "rag_context_index", "rag_context_stats"])
def test_null_for_an_optional_argument_means_that_it_was_left_out(world: World, tool: str) -> None:
    schema = TOOLS[tool].arguments
    required = {"query": "pump", "content": "A pump is red."}
    given = {name: None if not field.is_required() else required[name] for name, field in schema.model_fields.items()}

    result = called(world, tool, **given)

    assert not result.is_error, result.structured_content
    assert schema.model_validate(given).model_fields_set == {name for name in required if name in given}


def test_null_inside_the_metadata_of_a_document_means_that_it_was_left_out(world: World) -> None:
    metadata = {"agent": None, "tags": None, "category": None, "attributes": None}

    assert not called(world, "rag_context_index", content="A pump is red.", metadata=metadata).is_error


def test_null_for_a_required_argument_is_refused(world: World) -> None:
    assert called(world, "rag_query", query=None).structured_content["error"]["details"]["field"] == "query"


@pytest.mark.parametrize("arguments", [{"query": ""}, {"query": "x", "vaults": ["nowhere"]}])
def test_an_error_carries_the_id_of_its_request(world: World, arguments: dict[str, Any]) -> None:
    error = called(world, "rag_query", **arguments).structured_content["error"]

    assert len(error["request_id"]) == 36


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("rag_query", {}, "query"),
        ("rag_query", {"query": "  "}, "query"),
        ("rag_query", {"query": "x" * 1_001}, "query"),
        ("rag_query", {"query": "x", "max_sources": 21}, "max_sources"),
        ("rag_query", {"query": "x", "min_relevance_score": 2}, "min_relevance_score"),
        ("rag_query", {"query": "x", "vaults": ["nowhere"]}, "vaults"),
        ("rag_query", {"query": "x", "top_k": 3}, "top_k"),
        ("rag_context_search", {"query": "x", "limit": 0}, "limit"),
        ("rag_context_search", {"query": "x", "limit": "five"}, "limit"),
        ("rag_context_search", {"query": "x", "attributes": "red"}, "attributes"),
        ("rag_verify", {"answer": "x", "sources": "[1]"}, "sources.0"),
        ("rag_context_index", {"content": ""}, "content"),
        ("rag_context_index", {"content": "x" * 100_001}, "content"),
        ("rag_context_index", {"content": "x", "source": "../up.md"}, "path"),
        ("rag_context_index", {"content": "x", "metadata": {"mood": "fine"}}, "metadata.mood"),
        ("rag_context_stats", {"time_range": "1y"}, "time_range"),
    ],
)
def test_wrong_arguments_are_an_error_that_names_the_field(
    world: World, tool: str, arguments: dict[str, Any], field: str
) -> None:
    result = called(world, tool, **arguments)

    assert result.is_error
    error = result.structured_content["error"]
    assert (error["code"], error["details"]["field"]) == ("INVALID_PARAMS", field)
    assert text_of(result).startswith("INVALID_PARAMS: ")


def test_an_unknown_doc_type_is_an_error_that_names_the_valid_ones(world: World) -> None:
    error = called(world, "rag_query", query="x", doc_types=["nonsense"]).structured_content["error"]

    assert error["code"] == "INVALID_DOC_TYPE"
    assert error["details"]["allowed"] == ["tool"]


@pytest.mark.parametrize(
    "error",
    [
        errors.RateLimitedError("too much", retry_after_s=7),
        errors.GenerationError("down", service="chat"),
        errors.ModelNotFoundError("no", service="chat", model="m", install="ollama pull m"),
        errors.CircuitOpenError("open", service="chat", retry_after_s=9),
        errors.DeadlineError("late", service="chat", stage="generate"),
        errors.DatabaseError("down", service="registry"),
        errors.EmbeddingServiceError("down", service="embedding"),
    ],
    ids=lambda error: error.code,
)
def test_what_fails_below_is_an_error_with_the_apis_code_and_details(world: World, error: errors.RagdropError) -> None:
    world.chat.fail_with = error

    result = called(world, "rag_query", query="What is the code of the pump?")

    assert result.is_error
    told = result.structured_content["error"]
    assert told["code"] == error.code
    assert error.details.items() <= told["details"].items()
    assert told["request_id"]


def test_a_bucket_that_is_down_is_an_error_with_its_code(world: World) -> None:
    world.documents.fail_with = errors.ObjectStoreError("down", service="object_store")

    assert called(world, "rag_context_index", content="x").structured_content["error"]["code"] == "DATABASE_ERROR"


def test_what_nobody_foresaw_is_an_internal_error_without_its_text(world: World) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("secret text")

    world.embedder.query = broken

    result = called(world, "rag_context_search", query="pump")

    assert result.structured_content["error"]["code"] == "INTERNAL_ERROR"
    assert "secret" not in str(result)


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(world: World) -> None:
    with pytest.raises(MCPError, match="there is no tool"):
        called(world, "rag_dance")


@pytest.mark.parametrize("header", [{}, {"x-api-key": "rd_nobodys"}, {"authorization": "Bearer rd_nobodys"}])
def test_without_a_known_key_nothing_is_served_at_all(world: World, header: dict[str, str]) -> None:
    response = posted(world, **header)

    assert (response.status_code, response.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_key_of_a_disabled_tenant_is_refused(world: World) -> None:
    key = key_of(world)
    world.app.operate.operator.set_enabled(world.tenant, enabled=False)
    world.app.tenants.directory.forget(world.tenant)

    response = posted(world, **{"x-api-key": key})

    assert (response.status_code, response.json()["error"]["code"]) == (403, "PROJECT_NOT_ACTIVATED")


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_a_key_may_come_in_either_header(world: World, header: str) -> None:
    key = key_of(world, "reader")

    response = posted(world, **{header: key if header == "x-api-key" else f"Bearer {key}"})

    assert response.json()["result"]["serverInfo"]["name"] == "ragdrop"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_listen_to_and_no_session_to_end(world: World, method: str) -> None:
    response = posted(world, method=method, **{"x-api-key": key_of(world)})

    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert response.json()["error"]["code"] == "METHOD_NOT_ALLOWED"
