"""Chat models of this machine are found, and an endpoint is tried with a key that nothing repeats."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx

from ragdrop.domain.deadlines import Deadline
from ragdrop.models.chat import LocalModels
from ragdrop.ports.model_services import NearServer

SECRET = "sk-very-secret"
ANSWER = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}


def models(answer: Callable[[httpx.Request], httpx.Response]) -> LocalModels:
    return LocalModels("http://127.0.0.1:8081/v1", client=lambda: httpx.Client(transport=httpx.MockTransport(answer)))


def soon() -> Deadline:
    return Deadline.after(5)


def test_servers_that_list_models_are_found_by_their_ports() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.port == 11434:
            return httpx.Response(200, json={"data": [{"id": "qwen3"}, {"id": "mistral"}]})
        if request.url.port == 8080:
            return httpx.Response(200, text="<html>another server</html>")
        raise httpx.ConnectError("refused", request=request)

    assert models(answer).near(soon()) == [NearServer("Ollama", "http://127.0.0.1:11434/v1", ("mistral", "qwen3"))]


def test_a_model_that_answers_works_and_gets_the_key() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=ANSWER)

    assert models(answer).attempt("https://api.example/v1", "small", SECRET, soon()) is None
    [request] = seen
    assert str(request.url) == "https://api.example/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert json.loads(request.content)["model"] == "small"


def test_a_model_that_only_thought_works() -> None:
    empty = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}]}

    assert models(lambda _: httpx.Response(200, json=empty)).attempt("http://a/v1", "m", None, soon()) is None


def test_a_refusal_says_why_and_never_repeats_the_key() -> None:
    said = {"error": {"message": f"no quota for {SECRET}"}}

    refused = models(lambda _: httpx.Response(401, json=said)).attempt("http://a/v1", "m", SECRET, soon())
    limited = models(lambda _: httpx.Response(400, json=said)).attempt("http://a/v1", "m", SECRET, soon())

    assert refused is not None
    assert limited is not None
    assert "401" in refused
    assert "no quota for …" in limited
    assert SECRET not in refused + limited
