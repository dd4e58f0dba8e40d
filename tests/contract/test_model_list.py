"""What every ModelList does, in memory and over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from ragdrop.domain.deadlines import REQUEST_ID, Deadline
from ragdrop.errors import EmbeddingServiceError, GenerationError
from ragdrop.models.http import OpenAiHttp, OpenAiModelList
from ragdrop.ports.model_services import ModelList
from testing.memory_services import MemoryModelList


def soon() -> Deadline:
    return Deadline.after(2)


def over_http(answer: Callable[[httpx.Request], httpx.Response], service: str = "embedding") -> OpenAiModelList:
    client = httpx.Client(transport=httpx.MockTransport(answer))
    http = OpenAiHttp("http://models.example", api_key=lambda: None, timeout_s=2, client=client)
    return OpenAiModelList(http, service=service)


def named(*names: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _request: httpx.Response(200, json={"object": "list", "data": [{"id": name} for name in names]})


@pytest.mark.parametrize("held", [MemoryModelList("a", "b"), over_http(named("a", "b"))])
def test_the_names_of_all_models_are_given(held: ModelList) -> None:
    assert held.models(soon()) == frozenset({"a", "b"})


@pytest.mark.parametrize(
    "held",
    [
        MemoryModelList(listed=False),
        over_http(lambda _request: httpx.Response(404)),
        over_http(lambda _request: httpx.Response(200, text="hello")),
        over_http(lambda _request: httpx.Response(200, json={"models": []})),
    ],
)
def test_an_endpoint_without_a_list_answers_all_the_same(held: ModelList) -> None:
    assert held.models(soon()) is None


def failing_memory() -> MemoryModelList:
    held = MemoryModelList()
    held.fail_with = EmbeddingServiceError("away", service="embedding")
    return held


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


@pytest.mark.parametrize(
    "held", [failing_memory(), over_http(unreachable), over_http(lambda _request: httpx.Response(500))]
)
def test_an_endpoint_that_is_away_is_an_error_of_its_service(held: ModelList) -> None:
    with pytest.raises(EmbeddingServiceError) as raised:
        held.models(soon())
    assert raised.value.service == "embedding"


def test_the_chat_service_has_its_own_error() -> None:
    with pytest.raises(GenerationError, match="did not answer in time"):
        over_http(slow, "chat").models(soon())


def slow(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("slow", request=request)


def test_it_is_asked_once_and_reported_which_request_it_is_for() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(503)

    token = REQUEST_ID.set("r-9")
    with pytest.raises(EmbeddingServiceError):
        over_http(answer).models(soon())
    REQUEST_ID.reset(token)

    assert [(one.method, one.url.path, one.headers["x-request-id"]) for one in seen] == [("GET", "/v1/models", "r-9")]
