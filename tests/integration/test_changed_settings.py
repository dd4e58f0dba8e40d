"""A stack that comes up again with other settings, on another port: what was asked for last is in force."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from localstack.deploy import variables_for
from localstack.home import read_json
from localstack.launch_options import PASSED_ON
from ragdrop.config import DOCUMENT_KEY
from tests.chat_server import chat_server
from tests.integration.stub_embeddings import DIMENSION, StubEmbeddings
from tests.stacks import LocalStack, run_launcher

pytestmark = pytest.mark.long

# Another value than the default of every variable that `make up` passes on, but those of models, which name servers.
OTHER = {
    "EMBEDDING_MODEL": "counting",
    "EMBEDDING_DIMENSION": str(DIMENSION),
    "EMBEDDING_API_KEY": "embedding-key",
    "CHAT_MODELS": "second",
    "CHAT_API_KEY": "chat-key",
    "RERANK_URL": "http://127.0.0.1:9/rerank",
    "READER_URL": "http://127.0.0.1:9/read",
    "OCR_URL": "http://127.0.0.1:9/ocr",
    "RERANK_API_KEY": "rerank-key",
    "INDEX_PASSWORD": "index-password",
    "INGEST_CONCURRENCY": "3",
    "CORS_ALLOW_ORIGINS": "https://app.example",
}
NOT_OF_FUNCTIONS = {"INGEST_CONCURRENCY"}  # of the event source
DOCUMENT = {  # those that functions read from the settings document
    "embedding_max_tokens": 200,
    "embedding_query_prefix": "query: ",
    "embedding_passage_prefix": "passage: ",
    "chat_prices": {"second": [1.0, 2.0]},
    "rerank_model": "reranker",
    "ingest_retry_base_s": 2,
    "breaker_threshold": 7,
    "breaker_window_s": 50,
    "breaker_open_s": 40,
    "retry_attempts": 2,
    "retry_base_ms": 50,
    "retry_cap_ms": 1_000,
    "keep_last_good": True,
    "citation_policy": "drop",
    "verifier": "rules",
    "log_level": "DEBUG",
}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Up with the defaults; then up with all of OTHER, while something else listens where the emulator was."""
    home = tmp_path_factory.mktemp("changed-stack")
    embeddings = StubEmbeddings()
    embeddings.start()
    with chat_server() as chat, socket.socket() as squatter:
        chat.behave("second", text="The pump is red [1].")
        named = {**OTHER, **variables_for(DOCUMENT), "EMBEDDING_URL": embeddings.url, "CHAT_URL": chat.url}
        try:
            _up(home, {})
            assert run_launcher("down", home).returncode == 0
            squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            squatter.bind(("127.0.0.1", read_json(home / "stacks/bucket/ports.json")["emulator"]))
            squatter.listen()
            _up(home, named)
            with closing(LocalStack(home, json.loads((home / "stack.json").read_text("utf-8")))) as running:
                yield running
        finally:
            run_launcher("down", home)
            embeddings.stop()


def _up(home: Path, named: Mapping[str, str]) -> None:
    options = ("--tenant", "second") if named else ()  # a tenant stays with the model that it began with
    started = run_launcher("up", home, *options, **named)
    assert started.returncode == 0, f"{started.stdout}\n{started.stderr}"


def _in_force(changed: LocalStack, function: str) -> dict[str, Any]:
    """The environment of the version that callers reach."""
    client = changed.client("lambda")
    configuration = client.get_function_configuration(FunctionName=function, Qualifier="live")
    return dict(configuration["Environment"]["Variables"])


def test_every_variable_that_is_passed_on_is_in_force_in_every_function(changed: LocalStack) -> None:
    assert set(OTHER) == set(PASSED_ON)
    functions = [each["FunctionName"] for each in changed.client("lambda").list_functions()["Functions"]]
    assert len(functions) == 5

    for function in functions:
        environment = _in_force(changed, function)
        expected = {name: value for name, value in OTHER.items() if name not in NOT_OF_FUNCTIONS}
        assert {name: environment.get(name) for name in expected} == expected
    lanes = changed.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    concurrency = {"MaximumConcurrency": int(OTHER["INGEST_CONCURRENCY"])}
    assert [lane["ScalingConfig"] for lane in lanes] == [concurrency] * 2


def test_every_other_variable_is_in_the_settings_document(changed: LocalStack) -> None:
    state = changed.environment["STATE_BUCKET"]
    body = changed.client("s3").get_object(Bucket=state, Key=DOCUMENT_KEY)["Body"].read()

    assert json.loads(body) == DOCUMENT


def test_a_document_is_ingested_and_answered_by_the_second_chat_server(changed: LocalStack) -> None:
    headers = {"x-api-key": changed.api_key}
    put = httpx.put(
        f"{changed.api_url}/documents/team/pump.md",
        content=b"The pump is red.",
        headers={**headers, "content-type": "text/markdown"},
        timeout=60,
        trust_env=False,
    )
    assert put.status_code == 202, put.text

    answer = _answer(changed, headers)

    assert (answer["model"], answer["answer"]) == ("second", "The pump is red [1].")
    assert answer["cost"] is not None


def _answer(changed: LocalStack, headers: Mapping[str, str]) -> dict[str, Any]:
    for _ in range(60):
        asked = {"query": "Which colour is the pump?", "min_relevance": 0}
        response = httpx.post(f"{changed.api_url}/ask", json=asked, headers=headers, timeout=60, trust_env=False)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        if not body["abstained"]:
            return body
    raise AssertionError("the document was not found")
