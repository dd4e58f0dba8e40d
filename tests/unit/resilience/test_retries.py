"""Retries: as often as allowed, with growing pauses, within the deadline, never more than a tenth of many calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import EmbeddingServiceError, ModelNotFoundError
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.http import OpenAiHttp
from ragdrop.ports.shared_state import NOW_OPEN
from ragdrop.resilience.breakers import Retries, RetryRules

SPACE = EmbeddingSpace("m", 2)
GOOD = httpx.Response(200, json={"data": [{"index": 0, "embedding": [1.0, 0.0]}]})


class Service:
    """An embedding service without a socket that gives scripted answers; time stands still but for pauses."""

    def __init__(self) -> None:
        self.answer: Callable[[int], httpx.Response] = lambda _: httpx.Response(503)
        self.requests = 0
        self.now_s = 0.0
        self.pauses_s: list[float] = []
        self.client = httpx.Client(transport=httpx.MockTransport(self._respond))
        retries = Retries(
            RetryRules(), sleep=self._sleep, jitter=lambda: 1.0, clock=lambda: self.now_s, stopwatch=lambda: self.now_s
        )
        http = OpenAiHttp(
            "http://embedding.test", api_key=lambda: None, timeout_s=5, client=self.client, retries=retries
        )
        self.embedder = OpenAiEmbedder(http)

    def ask(self, seconds: float = 20.0) -> bool:
        """Whether a call succeeded."""
        try:
            self.embedder.query("a", SPACE, Deadline.after(seconds, clock=lambda: self.now_s))
        except EmbeddingServiceError:
            return False
        return True

    def _respond(self, _request: httpx.Request) -> httpx.Response:
        self.requests += 1
        return self.answer(self.requests)

    def _sleep(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        self.now_s += seconds


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.client.close()


def test_a_call_is_tried_three_times_with_doubling_pauses(service: Service) -> None:
    assert not service.ask()
    assert (service.requests, service.pauses_s) == (3, [0.1, 0.2])


def test_a_service_that_recovers_between_is_not_noticed(service: Service) -> None:
    service.answer = lambda request: GOOD if request == 3 else httpx.Response(500)
    assert service.ask()


def test_what_will_not_pass_is_not_tried_again(service: Service) -> None:
    service.answer = lambda _: httpx.Response(400)
    assert not service.ask()
    assert service.requests == 1


@pytest.mark.parametrize("later", ["3", "Thu, 01 Jan 1970 00:00:03 GMT"])
def test_retry_after_is_waited_for_in_either_form(service: Service, later: str) -> None:
    service.answer = lambda request: GOOD if request == 2 else httpx.Response(429, headers={"retry-after": later})
    assert service.ask()
    assert service.pauses_s == [3.0]


def test_a_retry_after_beyond_the_deadline_ends_the_call_at_once(service: Service) -> None:
    service.answer = lambda _: httpx.Response(429, headers={"retry-after": "30"})
    assert not service.ask(seconds=20)
    assert (service.requests, service.pauses_s) == (1, [])


def test_retries_never_multiply_load(service: Service) -> None:
    for _ in range(1_000):
        service.ask()
    assert service.requests - 1_000 <= 10 + 100 + 0.1 * service.now_s


def test_a_second_outage_finds_retries_again_after_a_while(service: Service) -> None:
    for _ in range(100):
        service.ask()
    service.now_s += 100
    before = service.requests
    service.ask()
    assert service.requests == before + 3


def test_a_missing_model_is_named_with_what_would_mend_it(service: Service) -> None:
    service.answer = lambda _: httpx.Response(404, json={"error": {"message": "no such model"}})
    with pytest.raises(ModelNotFoundError) as raised:
        service.embedder.query("a", SPACE, Deadline.after(5))
    assert raised.value.details["model"] == "m"
    assert "EMBEDDING_MODEL" in raised.value.details["install"]
    assert "embedding.test" not in f"{raised.value.message}{raised.value.details}"  # an address is the operator's alone


def behind_a_breaker(service: Service, *, opens_after: int) -> bool:
    """Whether a call succeeded whose breaker is opened, by other calls, once the service had so many requests."""
    before = NOW_OPEN.set(lambda: service.requests >= opens_after)
    try:
        return service.ask()
    finally:
        NOW_OPEN.reset(before)


def test_nothing_is_tried_again_behind_a_breaker_that_is_open_by_now(service: Service) -> None:
    assert not behind_a_breaker(service, opens_after=1)
    assert (service.requests, service.pauses_s) == (1, [])


def test_a_breaker_that_opens_while_a_call_waits_for_its_next_try_ends_the_call(service: Service) -> None:
    opened = False

    def opening(seconds: float) -> None:
        nonlocal opened
        opened = True

    retries = Retries(sleep=opening)
    before = NOW_OPEN.set(lambda: opened)
    try:
        assert not retries.again(1, Deadline.after(20), "3")
    finally:
        NOW_OPEN.reset(before)
