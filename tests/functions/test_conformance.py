"""One suite for every surface, over both indexes: the real handlers, Lambda's own events, AWS by moto."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from tests.contract.opensearch_node import opensearch_url
from tests.functions.conftest import Deployment, deployed

TEXT = "# Pump\n\nThe pump's code is QX-5521. It was built in 1987."
PATH = "/documents/team/pump.md"


@pytest.fixture(params=["bucket", "opensearch"])
def service(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A deployment over each index; on the shared node an index of its own, removed in the end."""
    changes = {}
    if request.param == "opensearch":
        changes = {"INDEX_URL": opensearch_url(), "EMBEDDING_MODEL": f"hashing-{secrets.token_hex(4)}"}
    with deployed(tmp_path, monkeypatch, **changes) as made:
        yield made
        if changes:
            tenant = made.handlers["query"].app.ports.registry.tenant("demo")
            _drop(changes["INDEX_URL"], tenant.index)


def _drop(url: str, index: IndexRef) -> None:
    OpenSearchChunkIndex.from_url(url).drop(index, Deadline.after(60))


def call(
    service: Deployment,
    method: str,
    path: str,
    body: Any = None,
    *,
    key: str | None = None,
    query: dict[str, str] | None = None,
) -> tuple[int, Any]:
    """A request to the function whose path it is."""
    head = path.split("/")[1]
    function = {"ask": "generate", "v1": "generate", "mcp": "mcp"}.get(head, "query")
    event = service.event("mcp-search" if function == "mcp" else "search", httpMethod=method, path=path)
    event["body"] = body if isinstance(body, str) or body is None else json.dumps(body)
    event["queryStringParameters"] = query
    event["multiValueQueryStringParameters"] = {name: [value] for name, value in (query or {}).items()} or None
    if key:
        event["headers"]["x-api-key"] = key
        event["multiValueHeaders"]["x-api-key"] = [key]
    return service.call(function, event)


def tool(service: Deployment, name: str, **arguments: Any) -> Any:
    """The structured content of an MCP tool's result."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    status, body = call(service, "POST", "/mcp", message)
    assert status == 200
    assert body["result"]["isError"] is False, body
    return body["result"]["structuredContent"]


def paths(service: Deployment, **request: Any) -> list[str]:
    """The documents that a search finds, best first."""
    status, found = call(service, "POST", "/search", request)
    assert status == 200, found
    return [each["path"] for each in found["results"]]


def test_search_finds_a_document_by_its_words_and_reports_where_it_is(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.put_object("demo/team/valve.md", "# Valve\n\nA valve is green.")

    status, found = call(service, "POST", "/search", {"query": "pump code QX-5521"})

    assert status == 200
    first = found["results"][0]
    assert (first["path"], first["title"], first["chunks"][0]["heading_path"]) == ("pump.md", "Pump", ["Pump"])
    assert (found["served_by"], found["fallback"], found["score_basis"]) == ("index", False, "hybrid")


def test_what_was_replaced_and_what_was_deleted_is_found_by_no_surface(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.put_object("demo/team/pump.md", "# Pump\n\nThe pump's code is ZZ-9.")
    service.chat.reply = "The pump's code is ZZ-9. [1]"
    service.put_object("demo/team/old.md", "# Old pump\n\nThe old pump's code is OLD-1.")
    assert call(service, "DELETE", "/documents/team/old.md")[0] == 200

    told = [
        call(service, "POST", "/search", {"query": "pump code", "debug": True})[1],
        call(service, "POST", "/ask", {"query": "pump code"})[1],
        tool(service, "rag_context_search", query="pump code"),
        call(service, "GET", PATH, query={"content": "1"})[1],
    ]

    assert "QX-5521" not in json.dumps(told)
    assert "OLD-1" not in json.dumps(told)
    assert [each for each in told if "ZZ-9" not in json.dumps(each)] == []


def test_an_answer_cites_the_very_text_of_the_document(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.chat.reply = "The pump's code is QX-5521. [1]"

    status, answer = call(service, "POST", "/ask", {"query": "What is the pump's code?"})

    assert status == 200
    [citation] = answer["citations"]
    assert citation["status"] == "verified"
    assert TEXT[citation["start"] : citation["end"]] == citation["quote"]
    receipt = call(service, "GET", f"/answers/{answer['answer_id']}")
    assert (receipt[0], receipt[1]["answer_id"]) == (200, answer["answer_id"])


def test_a_question_that_nothing_answers_is_not_answered(service: Deployment) -> None:
    status, answer = call(service, "POST", "/ask", {"query": "What is the pump's code?"})

    assert (status, answer["abstained"], answer["abstain_reason"]) == (200, True, "no_relevant_context")


def test_the_openai_protocol_answers_with_the_same_evidence(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.chat.reply = "The pump's code is QX-5521. [1]"
    asked = {"model": "default", "messages": [{"role": "user", "content": "What is the pump's code?"}]}

    status, completion = call(service, "POST", "/v1/chat/completions", asked)

    assert status == 200
    assert "QX-5521" in completion["choices"][0]["message"]["content"]


def test_the_tools_of_agents_find_index_and_ask(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.chat.reply = "The pump's code is QX-5521. [1]"

    found = tool(service, "rag_context_search", query="pump code", limit=1)
    answered = tool(service, "rag_query", query="What is the pump's code?")

    assert [each["source"] for each in found["results"]] == ["demo/team/pump.md"]
    assert "QX-5521" in answered["answer"]


def test_every_filter_leaves_only_what_it_names(service: Deployment) -> None:
    front = (
        "---\ndoc_type: insight\ncategory: water\ntags: [pumps]\ndate: 2026-01-02\npromotion_level: important\n---\n"
    )
    service.put_object("demo/team/a/pump.md", f"{front}# Pump\n\nThe pump is red.")
    service.put_object("demo/other/b/pump.md", "# Pump\n\nThe pump is blue.")

    for named in (
        {"vaults": ["team"]},
        {"folders": ["a"]},
        {"doc_types": ["insight"]},
        {"category": "water"},
        {"tags": ["pumps"]},
        {"date_from": "2026-01-01", "date_to": "2026-01-02"},
        {"min_promotion_level": "important"},
    ):
        assert paths(service, query="pump", **named) == ["a/pump.md"], named


def test_links_are_followed_to_what_the_words_do_not_find(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", "# Pump\n\nThe pump is described in [the manual](manual.md).")
    service.put_object("demo/team/manual.md", "# Manual\n\nTurn it twice.")

    _, found = call(service, "POST", "/search", {"query": "pump", "limit": 1})

    assert [(each["path"], each["linked_from"], each["link_depth"]) for each in found["linked"]] == [
        ("manual.md", "team/pump.md", 1)
    ]


def test_critical_documents_come_first_whatever_is_asked(service: Deployment) -> None:
    service.put_object("demo/team/rules.md", "---\npromotion_level: critical\n---\n# Rules\n\nWear a helmet.")
    service.put_object("demo/team/pump.md", TEXT)

    _, found = call(service, "POST", "/search", {"query": "pump code"})

    assert [each["path"] for each in found["critical"]] == ["rules.md"]


def test_another_tenants_key_sees_nothing(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    operator = service.handlers["query"].app.operate.operator
    operator.create_tenant("rival")
    key, _ = operator.create_key("rival", "admin")

    assert call(service, "POST", "/search", {"query": "pump code"}, key=key)[1]["results"] == []
    assert call(service, "GET", PATH, key=key)[0] == 404


def test_documents_are_listed_and_counted_as_they_are(service: Deployment) -> None:
    service.put_object("demo/team/pump.md", TEXT)
    service.put_object("demo/team/empty.md", "")

    _, listed = call(service, "GET", "/documents")
    _, record = call(service, "GET", PATH)
    _, stats = call(service, "GET", "/stats")

    assert {each["path"]: each["status"] for each in listed["documents"]} == {
        "pump.md": "indexed",
        "empty.md": "failed",
    }
    assert (record["status"], record["chunk_count"]) == ("indexed", stats["total_chunks"])


def test_health_says_that_the_index_answers(service: Deployment) -> None:
    status, health = call(service, "GET", "/health")

    assert status in {200, 503}  # no model server listens in this suite
    assert health["dependencies"]["index"]["status"] == "healthy"
