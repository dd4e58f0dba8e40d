"""llama.cpp's server, a peer of the chat protocol that is not ours, answers over a World: `make test-long` calls it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ragdrop.domain.answers import Answer, Question
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query
from ragdrop.generate.ask import SourcesFound
from ragdrop.models.chat import OpenAiChatModel
from ragdrop.models.http import OpenAiHttp
from tests.world import World

PYTHON = os.environ.get("RAGDROP_LLAMA_CPP_PYTHON")
SERVER_S, START_S, ANSWER_S = 600.0, 90.0, 240.0

pytestmark = pytest.mark.skipif(not PYTHON, reason="RAGDROP_LLAMA_CPP_PYTHON names no python")


@pytest.fixture(scope="module")
def chat() -> Iterator[OpenAiChatModel]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = Path(__file__).with_name("llama_cpp_server.py")
    command = [str(PYTHON), str(script), str(port), str(SERVER_S)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            wait_for(f"{url}/models", server)
            yield OpenAiChatModel(OpenAiHttp(url, api_key=lambda: None, timeout_s=ANSWER_S), models=["smollm2"])
        finally:
            server.kill()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(url, trust_env=False, timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    pytest.fail(f"llama.cpp did not start (exit code {server.poll()})")


@pytest.fixture
def asking(world: World, chat: OpenAiChatModel) -> World:
    world.put("team/pump.md", "# Pump\n\nThe code of the pump is QX-5521.")
    world.app.ports.chat = chat
    return world


def question() -> Question:
    return Question(Query("What is the code of the pump?"), style="brief")


def test_a_whole_answer_has_its_text_model_usage_and_finish_reason(asking: World) -> None:
    answer = asking.app.generate.ask(question(), asking.caller, Deadline.after(ANSWER_S))

    assert answer.text
    assert answer.model
    assert answer.finish_reason in {"stop", "length"}
    assert (answer.prompt_tokens or 0) > 20
    assert (answer.completion_tokens or 0) > 0


def test_a_streamed_answer_comes_in_pieces_and_ends_with_the_same_facts(asking: World) -> None:
    events = list(asking.app.generate.ask.stream(question(), asking.caller, Deadline.after(ANSWER_S)))

    last = events[-1]
    assert isinstance(events[0], SourcesFound)
    assert isinstance(last, Answer)
    assert last.finish_reason in {"stop", "length"}
    assert (last.completion_tokens or 0) > 0
    assert last.abstain_reason or sum(isinstance(event, str) for event in events) > 1
