"""The HTTP edge: shapes, errors, keys."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from ragdrop.errors import DatabaseError, EmbeddingServiceError, ModelNotFoundError
from tests.functions.conftest import Deployment

KEY = "demo/handbook/pump.md"
TEXT = "# Pump\n\nThe pump's code is QX-5521."


def test_search_answers_with_every_field_of_the_contract(deployment: Deployment) -> None:
    deployment.put_object(KEY, TEXT)

    status, body = deployment.call("query", deployment.event("search"))

    assert status == 200
    wanted = (
        "results critical linked nearest total_matches total_char_count total_indexed abstained abstain_reason "
        "fallback fallback_level circuit_breaker_open served_by degraded score_basis "
        "warnings latency_ms timings_ms request_id"
    )
    assert set(body) == set(wanted.split())
    assert (body["fallback"], body["fallback_level"], body["served_by"]) == (False, 1, "index")
    assert body["total_indexed"] == 1
    assert body["request_id"] == "example-request-1"
    document = body["results"][0]
    assert {"vault", "path", "key", "version_id", "title", "raw_score", "score", "chunks", "text"} <= set(document)
    assert TEXT[document["text_start"] : document["text_end"]] == document["text"]


def test_ask_answers_with_every_field_of_the_contract(deployment: Deployment) -> None:
    deployment.put_object(KEY, TEXT)
    deployment.chat.reply = "The pump's code is QX-5521. [1]"

    status, body = deployment.call("generate", deployment.event("ask"))

    assert status == 200
    wanted = (
        "asked answer citations references references_basis sources linked_docs excluded sentences unsupported "
        "answers_question closest nearest model usage cost finish_reason prompt_version answer_id bedrock "
        "total_matches total_indexed "
        "abstained abstain_reason fallback fallback_level circuit_breaker_open served_by degraded "
        "score_basis warnings latency_ms timings_ms request_id"
    )
    assert set(body) == set(wanted.split())
    [citation] = body["citations"]
    assert TEXT[citation["start"] : citation["end"]] == citation["quote"] == "The pump's code is QX-5521."
    assert body["references_basis"] == "cited"


@pytest.mark.parametrize("key", [None, "rd_a_key_that_nobody_made"])
def test_ask_without_a_known_key_is_refused(deployment: Deployment, key: str | None) -> None:
    event = deployment.event("ask")
    for headers in (event["headers"], event["multiValueHeaders"]):
        del headers["x-api-key"]
    if key:
        event["headers"]["x-api-key"], event["multiValueHeaders"]["x-api-key"] = key, [key]

    status, body = deployment.call("generate", event)

    assert status == 401
    assert body["error"]["code"] == "UNAUTHENTICATED"
    assert set(body["error"]) == {"code", "message", "details", "request_id"}


def test_a_key_may_come_as_bearer_token(deployment: Deployment) -> None:
    event = deployment.event("search")
    for headers, wrap in ((event["headers"], str), (event["multiValueHeaders"], lambda value: [value])):
        del headers["x-api-key"]
        headers["Authorization"] = wrap(f"Bearer {deployment.key}")

    status, _ = deployment.call("query", event)

    assert status == 200


def test_a_base64_body_is_read_like_a_plain_one(deployment: Deployment) -> None:
    deployment.put_object(KEY, TEXT)

    status, body = deployment.call("query", deployment.event("search-base64"))

    assert status == 200
    assert body["results"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("{not json", "body"),
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"query": "x" * 1_001}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x", "limit": 21}, "limit"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "vaults": ["nowhere"]}, "vaults"),
        ({"query": "x", "debug": "yes"}, "debug"),
        ({"query": "x", "tenant": "other"}, "tenant"),
        ({"query": "x", "limit": "5"}, "limit"),
        ({"query": "x", "min_relevance": 1.5}, "min_relevance"),
        ({"query": "x", "expand": "all"}, "expand"),
        ({"query": "x", "date_from": "yesterday"}, "date_from"),
        ({"query": "x", "attributes": {"game": {"a": 1}}}, "attributes.game"),
        ({"query": "x", "attributes": {"game": []}}, "attributes"),
        ({"query": "x", "exclude": {"tag": ["red"]}}, "exclude.tag"),
    ],
)
@pytest.mark.parametrize("function", ["query", "generate"])
def test_bad_input_is_refused_and_its_field_named(deployment: Deployment, function: str, body: Any, field: str) -> None:
    status, answer = deployment.post(function, body)

    assert (status, answer["error"]["code"]) == (400, "INVALID_PARAMS")
    assert answer["error"]["details"]["field"] == field


def test_a_query_of_1000_characters_is_taken(deployment: Deployment) -> None:
    status, _ = deployment.post("query", {"query": "x" * 1_000})

    assert status == 200


@pytest.mark.parametrize(
    ("part", "error", "status", "code"),
    [
        ("embedder", EmbeddingServiceError("down", service="embedding"), 503, "EMBEDDING_SERVICE_ERROR"),
        ("chat", ModelNotFoundError("no", service="chat", model="m", install="ollama pull m"), 502, "MODEL_NOT_FOUND"),
        ("chat", DatabaseError("down", service="registry"), 503, "DATABASE_ERROR"),
    ],
)
def test_a_dependency_that_fails_has_its_code_and_status(
    deployment: Deployment, part: str, error: Exception, status: int, code: str
) -> None:
    deployment.put_object(KEY, TEXT)
    getattr(deployment, part).fail_with = error

    seen, body = deployment.post("generate", {"query": "pump code", "allow_fallback": False})

    assert (seen, body["error"]["code"]) == (status, code)
    if status == 503:
        assert body["error"]["details"]["retry_after_s"] > 0


def test_unknown_routes_and_methods_answer_in_the_error_format(deployment: Deployment) -> None:
    status, body = deployment.call("query", deployment.event("search", path="/nowhere"))
    assert (status, body["error"]["code"]) == (404, "NOT_FOUND")

    status, body = deployment.call("query", deployment.event("search", httpMethod="PATCH"))
    assert (status, body["error"]["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert body["error"]["details"]["allowed"] == ["POST", "OPTIONS"]


def test_what_nobody_foresaw_is_a_plain_500_without_its_text(deployment: Deployment) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("secret text")

    cast("Any", deployment.embedder).query = broken

    status, body = deployment.call("query", deployment.event("search"))

    assert (status, body["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "secret" not in json.dumps(body)


def test_the_openapi_document_names_all_routes(deployment: Deployment) -> None:
    event = deployment.event("search", path="/openapi.json", httpMethod="GET", body=None)

    status, body = deployment.call("query", event)

    assert status == 200
    assert {"/search", "/ask", "/documents", "/documents/{vault}/{path}"} <= set(body["paths"])
