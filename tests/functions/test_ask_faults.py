"""Each way in which a chat endpoint can fail, through `POST /ask`: what the caller gets, and when."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.resilience.breakers import Retries
from tests.chat_server import ChatServer, chat_server
from tests.functions.asking import Asking
from tests.world import World

ANSWER = "The pump is red [1]. It holds 7 litres [1]."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running, httpx.Client() as client:
        running.client = client
        running.behave("m", text=ANSWER)
        running.behave("n", text=ANSWER)
        yield running


@pytest.fixture
def asking(server: ChatServer) -> Asking:
    found = over(server, "m")
    found.world.put("team/pump.md", "The pump is red. It holds 7 litres.")
    return found


def over(server: ChatServer, *models: str) -> Asking:
    http = OpenAiHttp(
        server.url, api_key=lambda: None, timeout_s=60, retries=Retries(sleep=lambda _: None), client=server.client
    )
    return Asking(OpenAiChatModel(http, models=models), world=World(settings={"CHAT_MODELS": ",".join(models)}))


FAULTS: list[tuple[str, dict[str, Any], int, str, dict[str, Any]]] = [
    # what, how the endpoint behaves, status, code, what the details hold
    ("a rate limit", {"status": 429, "headers": {"retry-after": "7"}}, 503, "GENERATION_ERROR", {"retry_after_s": 7}),
    ("a server error", {"status": 500}, 503, "GENERATION_ERROR", {"retryable": True, "retry_after_s": 5}),
    ("an overload", {"status": 503}, 503, "GENERATION_ERROR", {"retryable": True, "retry_after_s": 5}),
    ("a wrong key", {"status": 401}, 503, "GENERATION_ERROR", {"retryable": False, "service": "chat"}),
    ("a bad request", {"status": 400}, 503, "GENERATION_ERROR", {"retryable": False}),
    ("a missing model", {"status": 404}, 502, "MODEL_NOT_FOUND", {"model": "m"}),
    ("a page of HTML", {"raw": "<html>", "type": "text/html"}, 503, "GENERATION_ERROR", {"retryable": True}),
    ("no choices", {"raw": '{"choices": []}'}, 503, "GENERATION_ERROR", {"reason": "unreadable"}),
    ("an empty answer", {"text": ""}, 503, "GENERATION_ERROR", {"reason": "empty", "retryable": True}),
    (
        "a withheld answer",
        {"text": "", "finish": "content_filter"},
        503,
        "GENERATION_ERROR",
        {"reason": "content_filter", "retryable": False},
    ),
    ("silence", {"hang_s": 2.5}, 504, "TIMEOUT", {"stage": "generate", "service": "chat"}),
]
NAMES = [row[0] for row in FAULTS]


@pytest.mark.parametrize(("what", "how", "status", "code", "details"), FAULTS, ids=NAMES)
def test_a_fault_has_its_status_and_code_within_the_deadline(
    asking: Asking, server: ChatServer, what: str, how: dict[str, Any], status: int, code: str, details: dict[str, Any]
) -> None:
    server.behave("m", **how)
    left_s = 0.8 if "hang_s" in how else 9.0  # a Retry-After of 7 s is waited for, if only by a clock of the test
    start = time.monotonic()

    response = asking.post("pump", left_s=left_s)

    assert time.monotonic() - start < left_s + 1.0, what
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert details.items() <= error["details"].items()
    assert response.headers.get("retry-after") == (str(error["details"]["retry_after_s"]) if status == 503 else None)
    assert "pump is red" not in response.text


@pytest.mark.parametrize(("what", "how", "status", "code", "details"), FAULTS, ids=NAMES)
def test_in_a_stream_the_same_fault_is_the_last_event_behind_what_was_found(
    asking: Asking, server: ChatServer, what: str, how: dict[str, Any], status: int, code: str, details: dict[str, Any]
) -> None:
    server.behave("m", **how)
    left_s = 0.8 if "hang_s" in how else 9.0
    start = time.monotonic()

    events = asking.stream("pump", left_s=left_s)

    assert time.monotonic() - start < left_s + 1.0, what
    assert [name for name, _ in events] == ["retrieval", "error"]
    error = events[-1][1]["error"]
    assert error["code"] == code
    assert details.items() <= error["details"].items()
    assert ("retry_after_s" in error["details"]) is (status == 503)


HALF_WAY: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("dies", {"die_after": 8}, "GENERATION_ERROR", {"reason": "broken_off", "retry_after_s": 5}),
    ("is malformed", {"garble_after": 8}, "GENERATION_ERROR", {"reason": "unreadable", "retry_after_s": 5}),
    ("tells an error", {"error_after": 8}, "GENERATION_ERROR", {"reason": "broken_off", "retry_after_s": 5}),
    ("stalls", {"stall_after": 8, "stall_s": 2.5}, "TIMEOUT", {"stage": "generate"}),
]


@pytest.mark.parametrize(("what", "how", "code", "details"), HALF_WAY, ids=[row[0] for row in HALF_WAY])
def test_a_stream_that_fails_half_way_keeps_what_it_gave_and_ends_with_the_error(
    asking: Asking, server: ChatServer, what: str, how: dict[str, Any], code: str, details: dict[str, Any]
) -> None:
    server.behave("m", text=ANSWER, **how)
    left_s = 1.0 if "stall_s" in how else 9.0
    start = time.monotonic()

    events = asking.stream("pump", left_s=left_s)

    assert time.monotonic() - start < left_s + 1.0, what
    names = [name for name, _ in events]
    assert (names[0], names[-1]) == ("retrieval", "error")
    assert "".join(data["text"] for name, data in events if name == "token").startswith("The pump is red [1].")
    assert names.count("citation") == 1
    assert "done" not in names
    assert events[-1][1]["error"]["code"] == code
    assert details.items() <= events[-1][1]["error"]["details"].items()


@pytest.mark.parametrize(
    ("finish", "warning"),
    [("length", "the answer was cut off after"), ("content_filter", "the chat service's content filter cut")],
)
def test_an_answer_that_was_cut_off_says_so(asking: Asking, server: ChatServer, finish: str, warning: str) -> None:
    server.behave("m", text=ANSWER, finish=finish)

    for body in (asking.ask("pump"), asking.stream("pump")[-1][1]):
        assert body["finish_reason"] == finish
        assert any(warning in told for told in body["warnings"])
        assert body["answer"] == ANSWER


def test_the_answer_says_which_model_gave_it(server: ChatServer) -> None:
    server.behave("m", status=500)
    asking = over(server, "m", "n")
    asking.world.put("team/pump.md", "The pump is red. It holds 7 litres.")

    assert asking.ask("pump")["model"] == "n"
    assert asking.stream("pump")[-1][1]["model"] == "n"


def test_a_model_that_is_named_is_asked_alone(server: ChatServer) -> None:
    server.behave("m", status=500)
    asking = over(server, "m", "n")
    asking.world.put("team/pump.md", "The pump is red. It holds 7 litres.")

    response = asking.post("pump", model="m")

    assert (response.status_code, response.json()["error"]["code"]) == (503, "GENERATION_ERROR")
    assert {body["model"] for body in server.bodies} == {"m"}


def test_an_endpoint_that_is_not_there_is_a_503(asking: Asking, server: ChatServer) -> None:
    with chat_server() as gone:
        server.url = gone.url
    away = over(server, "m")
    away.world.put("team/pump.md", "The pump is red.")

    response = away.post("pump")

    assert (response.status_code, response.json()["error"]["details"]["reason"]) == (503, "unreachable")
