"""What every ChatModel keeps, and what becomes of each way in which a chat endpoint can fail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, DependencyError, GenerationError, ModelNotFoundError
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.model_services import ChatModel, Completion, Message
from ragdrop.resilience.breakers import Retries
from testing.models import ScriptedChatModel
from tests.chat_server import TEXT, ChatServer, chat_server

MESSAGES = [Message("system", "Be true."), Message("user", "Is it so?")]
LEFT_S = 2.0


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running, httpx.Client() as client:
        running.client = client
        yield running


def model_of(server: ChatServer, *models: str) -> OpenAiChatModel:
    http = OpenAiHttp(
        server.url, api_key=lambda: None, timeout_s=60, retries=Retries(sleep=lambda _: None), client=server.client
    )
    return OpenAiChatModel(http, models=models or ("m",))


@pytest.fixture(params=["fake", "http"])
def chat(request: pytest.FixtureRequest, server: ChatServer) -> ChatModel:
    return ScriptedChatModel(TEXT, model="m") if request.param == "fake" else model_of(server)


def whole(chat: ChatModel, left_s: float = LEFT_S, model: str | None = None) -> Completion:
    return chat.complete(MESSAGES, max_tokens=50, deadline=Deadline.after(left_s), model=model)


def streamed(chat: ChatModel, left_s: float = LEFT_S, model: str | None = None) -> list[str | Completion]:
    return list(chat.stream(MESSAGES, max_tokens=50, deadline=Deadline.after(left_s), model=model))


def test_a_whole_answer_has_text_model_reason_and_usage(chat: ChatModel) -> None:
    completion = whole(chat)

    assert (completion.text, completion.model, completion.finish_reason) == (TEXT, "m", "stop")
    assert completion.prompt_tokens
    assert completion.completion_tokens


def test_a_streamed_answer_comes_in_pieces_and_ends_with_the_whole(chat: ChatModel) -> None:
    *pieces, completion = streamed(chat)

    assert len(pieces) > 1
    assert isinstance(completion, Completion)
    assert "".join(map(str, pieces)) == completion.text == TEXT
    assert (completion.model, completion.finish_reason) == ("m", "stop")


def test_a_model_that_is_named_is_the_one_that_answers(chat: ChatModel) -> None:
    assert whole(chat, model="other").model == "other"
    assert streamed(chat, model="other")[-1].model == "other"  # type: ignore[union-attr]


def test_a_stream_may_be_left_before_its_end(chat: ChatModel) -> None:
    stream = chat.stream(MESSAGES, max_tokens=50, deadline=Deadline.after(LEFT_S))
    with closing(stream):  # type: ignore[type-var]
        assert next(stream)


FAULTS: list[tuple[str, dict[str, Any], type[DependencyError], str | None, bool]] = [
    # what, how the server behaves, the error, its reason, whether trying again can help
    ("a rate limit", {"status": 429, "headers": {"retry-after": "0"}}, GenerationError, "refused", True),
    ("a server error", {"status": 500}, GenerationError, "refused", True),
    ("an overload", {"status": 503}, GenerationError, "refused", True),
    ("a wrong key", {"status": 401}, GenerationError, "refused", False),
    ("a bad request", {"status": 400}, GenerationError, "refused", False),
    ("a missing model", {"status": 404}, ModelNotFoundError, None, False),
    ("a page of HTML", {"raw": "<html>", "type": "text/html"}, GenerationError, None, True),
    ("no choices", {"raw": '{"choices": []}'}, GenerationError, "unreadable", True),
    ("an empty answer", {"text": ""}, GenerationError, "empty", True),
    ("a filtered answer", {"text": "", "finish": "content_filter"}, GenerationError, "content_filter", False),
    ("silence", {"hang_s": 3.0}, DeadlineError, None, True),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("what", "how", "error", "reason", "retryable"), FAULTS, ids=[row[0] for row in FAULTS])
def test_each_fault_has_its_error_within_the_deadline(
    server: ChatServer,
    what: str,
    how: dict[str, Any],
    error: type[DependencyError],
    reason: str | None,
    *,
    retryable: bool,
    stream: bool,
) -> None:
    server.behave("m", **how)
    left_s = 0.5 if "hang_s" in how else LEFT_S
    start = time.monotonic()

    with pytest.raises(error) as failed:
        streamed(model_of(server), left_s) if stream else whole(model_of(server), left_s)

    assert time.monotonic() - start < left_s + 1.0, what
    assert failed.value.service == "chat"
    assert failed.value.retryable is retryable
    if reason is not None:
        assert failed.value.details["reason"] == reason


STREAM_FAULTS: list[tuple[str, dict[str, Any], type[DependencyError], str | None]] = [
    ("dies half-way", {"die_after": 2}, GenerationError, "broken_off"),
    ("is malformed", {"garble_after": 2}, GenerationError, "unreadable"),
    ("reports an error", {"error_after": 2}, GenerationError, "broken_off"),
    ("stalls", {"stall_after": 2, "stall_s": 2.5}, DeadlineError, None),
]


@pytest.mark.parametrize(("what", "how", "error", "reason"), STREAM_FAULTS, ids=[row[0] for row in STREAM_FAULTS])
def test_a_stream_that_fails_half_way_says_so_after_what_it_gave(
    server: ChatServer, what: str, how: dict[str, Any], error: type[DependencyError], reason: str | None
) -> None:
    server.behave("m", **how)
    left_s = 0.8 if "stall_s" in how else LEFT_S
    given: list[str | Completion] = []
    start = time.monotonic()

    with pytest.raises(error) as failed:
        given.extend(model_of(server).stream(MESSAGES, max_tokens=50, deadline=Deadline.after(left_s)))

    assert time.monotonic() - start < left_s + 1.0, what
    assert len(server.bodies) == 1, "nothing is asked again once tokens have come"
    if reason is not None:
        assert failed.value.details["reason"] == reason


def test_a_truncated_answer_is_given_with_its_reason(server: ChatServer) -> None:
    server.behave("m", finish="length")

    assert whole(model_of(server)).finish_reason == "length"
    assert streamed(model_of(server))[-1].finish_reason == "length"  # type: ignore[union-attr]


def test_what_may_pass_is_tried_three_times_and_no_more(server: ChatServer) -> None:
    server.behave("m", status=503)

    with pytest.raises(GenerationError):
        whole(model_of(server))

    assert len(server.bodies) == 3


def test_the_next_model_answers_where_one_is_down_and_the_answer_says_which(server: ChatServer) -> None:
    server.behave("m", status=500)

    assert whole(model_of(server, "m", "n")).model == "n"
    assert streamed(model_of(server, "m", "n"))[-1].model == "n"  # type: ignore[union-attr]


def test_a_model_that_hangs_leaves_time_for_the_next(server: ChatServer) -> None:
    server.behave("m", hang_s=3.0)

    assert whole(model_of(server, "m", "n"), left_s=2.0).model == "n"


@pytest.mark.parametrize(("timeout_s", "left_s", "advice"), [(0.3, 5.0, "raise CHAT_TIMEOUT_S"), (9.0, 0.5, "stream")])
def test_a_model_that_begins_no_answer_in_time_names_what_to_change(
    server: ChatServer, timeout_s: float, left_s: float, advice: str
) -> None:
    server.behave("m", hang_s=1.5)
    http = OpenAiHttp(server.url, api_key=lambda: None, timeout_s=timeout_s)

    with pytest.raises(DeadlineError, match=advice):
        whole(OpenAiChatModel(http, models=["m"]), left_s=left_s)


def test_where_every_model_is_down_the_first_one_says_why(server: ChatServer) -> None:
    server.behave("m", status=404)
    server.behave("n", status=500)

    with pytest.raises(ModelNotFoundError) as failed:
        whole(model_of(server, "m", "n"))

    assert failed.value.details["model"] == "m"


def test_an_endpoint_that_does_not_stream_is_read_whole(server: ChatServer) -> None:
    server.behave("m", raw='{"choices": [{"message": {"content": "It is so [1]."}, "finish_reason": "stop"}]}')

    *pieces, completion = streamed(model_of(server))

    assert pieces == ["It is so [1]."]
    assert isinstance(completion, Completion)


def test_leaving_a_stream_stops_the_model(server: ChatServer) -> None:
    server.behave("m", text="word " * 20_000)
    stream = model_of(server).stream(MESSAGES, max_tokens=50, deadline=Deadline.after(10))
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    until = time.monotonic() + 5
    while not server.broken_pipes and time.monotonic() < until:
        time.sleep(0.02)
    assert server.broken_pipes == 1


def test_an_endpoint_that_is_not_there_is_unreachable(server: ChatServer) -> None:
    with chat_server() as gone:
        server.url = gone.url

    with pytest.raises(GenerationError) as failed:
        whole(model_of(server))

    assert failed.value.details["reason"] == "unreachable"


def test_a_line_separator_in_a_text_ends_no_event(server: ChatServer) -> None:
    server.behave("m", text="one\u2028two\u0085three four", raw_unicode=True)

    assert streamed(model_of(server))[-1].text == "one\u2028two\u0085three four"  # type: ignore[union-attr]
