"""The local reader's routes: what ragdrop's own clients read of them, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from localstack.models.serving import application, reader_routes
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError
from ragdrop.models.cached_reader import MAX_PAIRS
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.model_protocol import MAX_CHARACTERS
from ragdrop.models.reader import HttpReader
from ragdrop.models.reranker import HttpReranker
from testing.memory_services import WordReader

PASSAGES = ["Soup needs salt.", "The pump is not red.", "The pump is red."]


@pytest.fixture
def reader() -> WordReader:
    return WordReader()


@pytest.fixture
def client(reader: WordReader) -> Iterator[TestClient]:
    with TestClient(application(reader_routes(reader, "7")), base_url="http://models.example/v1") as client:
        yield client


def over(client: TestClient) -> OpenAiHttp:
    return OpenAiHttp("http://models.example/v1", api_key=lambda: None, timeout_s=5, client=cast("Any", client))


def test_ragdrops_own_reader_gets_the_readings_of_the_model(client: TestClient) -> None:
    pairs = [("The pump is red.", passage) for passage in [*PASSAGES, ""]]

    found = HttpReader(over(client), version="7").read(pairs, Deadline.after(5))

    assert found == WordReader().read(pairs, Deadline.after(5))


def test_ragdrops_own_reranker_gets_the_relevance(client: TestClient) -> None:
    scores = HttpReranker(over(client), model=None).scores("a red pump", PASSAGES, Deadline.after(5))

    readings = WordReader().read([("a red pump", passage) for passage in PASSAGES], Deadline.after(5))
    assert scores == [each.relevance for each in readings]


def test_the_best_documents_come_first_and_no_more_than_are_asked_for(client: TestClient) -> None:
    body = {"model": "ragdrop-reader", "query": "the red pump is", "documents": PASSAGES, "top_n": 2}

    results = client.post("/rerank", json=body).json()["results"]

    assert [each["index"] for each in results] == [1, 2]


@pytest.mark.parametrize(
    ("path", "change", "param"),
    [
        ("/read", {"pairs": None}, "pairs"),
        ("/read", {"pairs": []}, "pairs"),
        ("/read", {"pairs": [["a", "b"]] * (MAX_PAIRS + 1)}, "pairs"),
        ("/read", {"pairs": [["a", "b"], ["a"]]}, "pairs"),
        ("/read", {"pairs": [["a", 1]]}, "pairs"),
        ("/read", {"pairs": [["a", "b" * (MAX_CHARACTERS + 1)]]}, "pairs"),
        ("/rerank", {"documents": "a"}, "documents"),
        ("/rerank", {"documents": [{"text": "a"}]}, "documents"),
        ("/rerank", {"documents": ["a"], "query": None}, "documents"),
        ("/rerank", {"documents": ["a"], "top_n": 0}, "top_n"),
    ],
)
def test_a_wrong_request_is_refused_and_the_field_named(
    client: TestClient, reader: WordReader, path: str, change: dict[str, Any], param: str
) -> None:
    reply = client.post(path, json={"query": "a", **change})

    assert reply.status_code == 400
    assert (reply.json()["error"]["type"], reply.json()["error"]["param"]) == ("invalid_request_error", param)
    assert reader.asked == []


def test_another_model_is_not_found(client: TestClient) -> None:
    reply = client.post("/read", json={"model": "other", "pairs": [["a", "b"]]})

    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")


def test_pairs_that_take_too_long_are_an_error_of_the_server(client: TestClient, reader: WordReader) -> None:
    reader.fail_with = DeadlineError("the reader used up the time", service="reader", stage="read")

    reply = client.post("/read", json={"pairs": [["a", "b"]]})

    assert (reply.status_code, reply.json()["error"]["type"]) == (503, "server_error")
