"""One server has all local models: others are not found, and the answerer compares by the model in its process."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from threading import Event

import pytest
from starlette.testclient import TestClient

from localstack.models.serving import answerer_routes, application, embedding_routes
from ragdrop.models.answerer import similarity_by
from ragdrop.models.model_protocol import Embedded
from testing.models import word_vector


class Words:
    """An EmbeddingModel in which equal words give near vectors, once it may answer."""

    name, dimension = "words", 8

    def __init__(self) -> None:
        self.may_answer = Event()
        self.may_answer.set()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Embedded:
        self.may_answer.wait(10)
        self.asked += texts
        return Embedded([array("f", word_vector(text, 8)).tobytes() for text in texts], len(texts))


def test_meanings_are_compared_by_the_model_in_the_same_process() -> None:
    same, other = similarity_by(Words())("the pump", ["the pump", "a valve"]) or (0.0, 0.0)

    assert same == pytest.approx(1.0)
    assert other < same


def test_a_text_that_was_compared_is_not_embedded_again() -> None:
    model = Words()
    similarity = similarity_by(model)

    first = similarity("the pump", ["the pump", "a valve"])
    again = similarity("the pump", ["a valve", "a hose", "a hose"]) or []

    assert model.asked == ["the pump", "a valve", "a hose"]
    assert first is not None
    assert (again[0], again[1]) == (first[1], again[2])


def test_words_decide_where_the_embedding_of_documents_takes_too_long() -> None:
    model = Words()
    model.may_answer.clear()

    assert similarity_by(model, timeout_s=0.01)("the pump", ["the pump"]) is None
    model.may_answer.set()


def test_the_models_of_one_server_are_listed_together_and_others_are_not_found() -> None:
    with TestClient(application(embedding_routes(Words()) | answerer_routes())) as client:
        listed = [each["id"] for each in client.get("/v1/models").json()["data"]]
        reply = client.post("/v1/read", json={"pairs": [["a", "b"]]})

    assert listed == ["words", "ragdrop-extractive"]
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "model_not_found"
    assert reply.json()["error"]["message"] == (
        "No model for /v1/read is loaded here; this server has words, ragdrop-extractive."
    )
