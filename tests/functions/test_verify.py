"""`POST /v1/verify`, `rag_verify` and `ragdrop verify`: one check, reached in three ways."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ragdrop.api.apis import ask_first_api
from testing.memory_services import WordReader
from tests.agent_world import eager_world, key_of, text_of
from tests.functions.test_mcp_tools import called
from tests.world import World

SOURCES = [
    {"id": "pump.md", "text": "The pump is red. It holds 7 litres."},
    {"id": "valve.md", "text": "The valve may leak."},
]
ANSWER = "The pump is red [1]. It holds 70 litres [1]. The valve leaks [2]. Whales sing."
STATUSES = ["verified", "contradicted", "unsupported", "unsupported"]


@pytest.fixture
def world() -> World:
    return eager_world()


def post(world: World, **body: Any) -> tuple[int, dict[str, Any]]:
    client = TestClient(ask_first_api(world.app), headers={"x-api-key": key_of(world)})
    reply = client.post("/v1/verify", json={"answer": ANSWER, "sources": SOURCES, **body})
    return reply.status_code, reply.json()


def test_each_sentence_gets_a_status_a_reason_and_the_passage_that_decided(world: World) -> None:
    status, body = post(world)

    assert status == 200
    assert [each["status"] for each in body["sentences"]] == STATUSES
    assert [each["reason"] for each in body["sentences"]] == [None, "number", "modality", "words"]
    assert body["sentences"][1]["evidence"] == [
        {"source": "pump.md", "start": 17, "end": 35, "quote": "It holds 7 litres."}
    ]
    assert [ANSWER[each["start"] : each["end"]] for each in body["sentences"]] == [
        each["text"] for each in body["sentences"]
    ]


def test_a_true_answer_that_does_not_answer_its_question_has_both_verdicts(world: World) -> None:
    world.app.ports.reader = WordReader()

    _, body = post(world, answer="The pump is red [1].", question="How many litres does the pump hold?")

    assert [each["status"] for each in body["sentences"]] == ["verified"]
    assert (body["answers_question"]["status"], body["answers_question"]["reason"]) == ("no", "no_number")


def test_an_agent_gets_the_same(world: World) -> None:
    result = called(world, "rag_verify", answer=ANSWER, sources=SOURCES)

    assert result.structured_content["sentences"] == post(world)[1]["sentences"]
    assert "contradicted (number): It holds 70 litres [1]." in text_of(result)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"answer": ""}, "answer"),
        ({"answer": "x" * 20_001}, "answer"),
        ({"sources": []}, "sources"),
        ({"sources": [{"id": "a", "text": "x"}] * 51}, "sources"),
        ({"sources": [{"id": "a", "text": ""}]}, "sources.0.text"),
        ({"sources": [{"id": "a", "text": "x" * 300_000}, {"id": "b", "text": "x" * 300_000}]}, "body"),
        ({"sources": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "body"),
        ({"vaults": ["team"]}, "vaults"),
    ],
)
def test_what_is_too_large_empty_or_unknown_is_refused_by_its_name(
    world: World, body: dict[str, Any], field: str
) -> None:
    status, refused = post(world, **body)

    assert (status, refused["error"]["code"]) == (400, "INVALID_PARAMS")
    assert refused["error"]["details"]["field"] == field


def test_the_longest_request_is_answered_in_time(world: World) -> None:
    text = "The pump holds 7 litres of oil and stands in hall four. "
    sources = [{"id": str(place), "text": (text * 200)[:10_000]} for place in range(50)]

    status, body = post(
        world, answer=("The valve is older than the pump in hall nine. " * 500)[:20_000], sources=sources
    )

    assert status == 200
    assert len(body["sentences"]) > 400
