"""Under uvicorn an answer leaves word by word, and nobody goes on for a listener who left."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import openai
import pytest

from ragdrop.api.streams import EventStream
from ragdrop.client import RagdropClient
from ragdrop.client.events import Cited, Done, Retrieved, Said
from ragdrop.ports.model_services import Completion, Message
from testing.models import ScriptedChatModel
from tests.served import answering_api, served
from tests.world import World

REPLY = "The pump is red [1]. And so it stays forever."


class GatedChatModel(ScriptedChatModel):
    """Says its next word only when it is let."""

    def __init__(self) -> None:
        super().__init__(REPLY)
        self.gate = threading.Semaphore(0)

    def stream(self, messages: Sequence[Message], **how: Any) -> Iterator[str | Completion]:
        for piece in super().stream(messages, **how):
            assert self.gate.acquire(timeout=20)
            yield piece

    def let(self, pieces: int) -> None:
        self.gate.release(pieces)


ASKED: dict[str, dict[str, object]] = {
    "/ask": {"query": "pump"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "pump"}]},
    "/v1/responses": {"input": "pump"},
}


@pytest.fixture
def chat() -> GatedChatModel:
    return GatedChatModel()


@pytest.fixture
def url(world: World, chat: GatedChatModel) -> Iterator[str]:
    world.put("team/pump.md", "The pump is red.")
    world.app.ports.chat = chat
    with served(answering_api(world)) as url:
        yield url


def test_sources_come_before_the_model_speaks_and_each_word_as_soon_as_it_is_said(
    url: str, chat: GatedChatModel
) -> None:
    with RagdropClient(url, "rd_x") as client:
        events = client.ask_stream("pump")
        found = next(events)
        chat.let(2)  # the second may not be the start of the sentinel any more
        first = next(events)
        chat.let(100)
        rest = list(events)

    assert isinstance(found, Retrieved)
    assert isinstance(first, Said)
    assert "The" in first.text
    said = first.text + "".join(event.text for event in rest if isinstance(event, Said))
    assert isinstance(rest[-1], Done)
    assert said == rest[-1].answer["answer"]
    [cited] = [event for event in rest if isinstance(event, Cited)]
    assert (cited.fields["quote"], cited.fields["status"]) == ("The pump is red", "verified")


def test_the_openai_client_gets_each_word_as_soon_as_it_is_said(url: str, chat: GatedChatModel) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="rd_x", max_retries=0) as client:
        chat.let(2)
        stream = client.chat.completions.create(
            model="default", messages=[{"role": "user", "content": "pump"}], stream=True
        )
        begun = [next(stream).choices[0].delta.content or "" for _ in range(2)]
        chat.let(100)
        rest = [chunk.choices[0].delta.content or "" for chunk in stream]

    assert begun[0] == ""
    assert "The" in begun[1]
    assert "".join(begun) + "".join(rest) == REPLY


@pytest.mark.parametrize("route", ASKED)
def test_comments_keep_the_connection_while_a_slow_model_says_nothing(
    url: str, chat: GatedChatModel, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EventStream, "waits_s", 0.05)
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url + route, json={**ASKED[route], "stream": True}) as reply,
    ):
        lines = reply.iter_lines()
        before = list(itertools.takewhile(lambda line: not line.startswith(":"), lines))
        chat.let(100)
        after = "\n".join(lines)

    assert "forever" not in "".join(before)
    assert "forever" in after


@pytest.mark.parametrize("route", ASKED)
def test_a_listener_who_leaves_stops_the_model(url: str, chat: GatedChatModel, route: str) -> None:
    chat.reply = "word " * 5_000
    chat.let(5)
    with (
        httpx.Client(trust_env=False) as client,
        client.stream("POST", url + route, json={**ASKED[route], "stream": True}) as reply,
    ):
        next(reply.iter_bytes())

    until = time.monotonic() + 10
    while not chat.closed and time.monotonic() < until:
        chat.let(1)
        time.sleep(0.05)

    assert chat.closed == 1
