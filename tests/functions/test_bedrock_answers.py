"""Push, search and ask with models of Amazon Bedrock alone: the real handlers, against a server of its shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bedrock_server import BedrockServer, bedrock_server
from tests.functions.conftest import Deployment, LocalContext, deployed

REGION = "eu-central-1"
PROFILE, GPT = "eu.anthropic.claude-haiku-4-5-20251001-v1:0", "openai.gpt-oss-20b-1:0"
TITAN, RERANKER = "amazon.titan-embed-text-v2:0", "cohere.rerank-v3-5:0"
TEXT = "# Pump\n\nThe pump's code is QX-5521."
ANSWER = "The pump's code is QX-5521. [1]"
ASKED = {"query": "What is the code of the pump?", "min_relevance": 0}


@pytest.fixture(scope="module")
def running() -> Iterator[BedrockServer]:
    with bedrock_server() as made, pytest.MonkeyPatch.context() as environ:
        environ.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", made.url)
        yield made


@pytest.fixture
def server(running: BedrockServer) -> BedrockServer:
    running.requests.clear()
    running.behaviours.clear()
    running.refused, running.said = 0, ANSWER
    return running


@pytest.fixture(params=[PROFILE, GPT], ids=["converse", "openai"])
def bedrock(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: BedrockServer
) -> Iterator[Deployment]:
    """A deployment without a model's key: every model is one of Bedrock, in another region than the functions'."""
    del server
    models = {
        "CHAT_URL": f"bedrock:{REGION}",
        "CHAT_MODELS": request.param,
        "EMBEDDING_URL": f"bedrock:{REGION}",
        "EMBEDDING_MODEL": TITAN,
        "EMBEDDING_DIMENSION": "256",
        "RERANK_URL": f"bedrock:{REGION}",
        "BREAKER_THRESHOLD": "1000",
    }
    with deployed(tmp_path, monkeypatch, **models) as made:
        for module in made.handlers.values():
            del module.app.ports.embedder, module.app.ports.chat  # those of the settings, in place of the fakes
        yield made


def paths(server: BedrockServer) -> set[str]:
    return {path for path, _, _ in server.requests}


def test_a_document_is_indexed_found_and_cited_by_models_of_bedrock(bedrock: Deployment, server: BedrockServer) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)

    status, body = bedrock.post("generate", ASKED)

    assert (status, body["answer"]) == (200, ANSWER)
    assert [each["quote"] for each in body["citations"]] == ["The pump's code is QX-5521."]
    used = {"prompt_tokens": 7, "completion_tokens": 5, "embedding_tokens": 3, "reader_pairs": 0, "reader_ms": 0}
    assert body["usage"] == used
    assert body["cost"] == {PROFILE: 3.2e-05, GPT: 2e-06}[body["model"]]  # at list prices
    assert f"/model/{TITAN.replace(':', '%3A')}/invoke" in paths(server)
    assert {region for _, _, region in server.requests} == {REGION}
    assert server.refused == 0


def test_a_streamed_answer_has_the_same_text_and_citation(bedrock: Deployment) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)
    event = bedrock.event("ask", body=json.dumps({**ASKED, "stream": True}))

    text = bedrock.handlers["generate"].handler(event, LocalContext())["body"]
    done = json.loads(text.partition("event: done\ndata: ")[2].partition("\n\n")[0])

    assert done["answer"] == ANSWER
    assert len(done["citations"]) == 1


@pytest.mark.parametrize(
    ("error", "message", "status", "code", "words"),
    [
        ("ThrottlingException", "Too many requests", 503, "GENERATION_ERROR", "Service Quotas"),
        ("AccessDeniedException", "You don't have access to the model", 502, "MODEL_NOT_FOUND", "Model catalog"),
        ("ValidationException", "The provided model identifier is invalid.", 502, "MODEL_NOT_FOUND", "bedrock:REGION"),
    ],
)
def test_what_bedrock_refuses_is_reported_to_the_caller_with_what_to_do(
    bedrock: Deployment, server: BedrockServer, error: str, message: str, status: int, code: str, words: str
) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)
    for model in (PROFILE, GPT):
        server.behave(model, error=error, message=message)

    found, body = bedrock.post("generate", ASKED)

    assert (found, body["error"]["code"]) == (status, code)
    assert words in body["error"]["message"]


def test_a_guardrail_is_named_to_the_caller(bedrock: Deployment, server: BedrockServer) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)
    server.behave(PROFILE, stop="guardrail_intervened")
    server.behave(GPT, stop="guardrail")

    _, body = bedrock.post("generate", ASKED)

    assert (body["error"]["code"], body["error"]["details"]["reason"]) == ("GENERATION_ERROR", "guardrail")


def test_a_search_continues_by_words_while_embedding_is_throttled(bedrock: Deployment, server: BedrockServer) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)
    server.behave(TITAN, error="ThrottlingException")

    status, body = bedrock.post("query", ASKED)

    assert (status, body["fallback_level"], len(body["results"])) == (200, 2, 1)


def test_a_reranker_orders_what_was_found_and_one_that_is_throttled_leaves_the_order_with_a_warning(
    bedrock: Deployment, server: BedrockServer
) -> None:
    bedrock.put_object("demo/handbook/pump.md", TEXT)
    bedrock.put_object("demo/handbook/valve.md", "# Valve\n\nThe valve has no code of its own.")
    _, well = bedrock.post("query", {**ASKED, "query": "pump code"})
    assert f"/model/{RERANKER.replace(':', '%3A')}/invoke" in paths(server)
    assert not well["degraded"]
    server.behave(RERANKER, error="ThrottlingException")

    status, body = bedrock.post("query", ASKED)

    assert (status, body["degraded"]) == (200, True)
    assert "reranker" in str(body["warnings"])


def test_health_is_well_where_bedrock_answers(bedrock: Deployment) -> None:
    status, body = health(bedrock)

    assert status == 200
    assert {body["dependencies"][name]["status"] for name in ("embedding", "chat")} == {"healthy"}


def health(bedrock: Deployment) -> tuple[int, Any]:
    return bedrock.send("GET", "/health")
