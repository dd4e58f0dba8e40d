"""Many passages in requests that run beside each other: order, bound, and what a failure leaves undone."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.errors import EmbeddingServiceError
from ragdrop.models.embedder import OpenAiEmbedder
from ragdrop.models.http import OpenAiHttp

SPACE = EmbeddingSpace("m", 8)
TEXTS = [str(number) for number in range(1, 12)]
MEET_S = 10.0


class Service:
    """An embedding service without a socket: text "3" has its 1 at place 3 of 8; requests wait at a *gate*."""

    def __init__(self, parties: int = 1) -> None:
        self.gate = threading.Barrier(parties)
        self.refused = ""
        self.under_way = self.most_at_once = self.requests = 0
        self._counting = threading.Lock()
        self.client = httpx.Client(transport=httpx.MockTransport(self._answer))

    def embedder(self, *, batch_size: int, concurrency: int) -> OpenAiEmbedder:
        http = OpenAiHttp("http://embedding.test", api_key=lambda: None, timeout_s=5, client=self.client)
        return OpenAiEmbedder(http, batch_size=batch_size, concurrency=concurrency)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        with self._counting:
            self.requests += 1
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            texts = json.loads(request.content)["input"]
            if self.refused in texts:
                return httpx.Response(400, json={"error": {"message": "no"}})
            self.gate.wait(MEET_S)
            data = [
                {"index": at, "embedding": [float(place == int(text) % 8) for place in range(8)]}
                for at, text in enumerate(texts)
            ]
            return httpx.Response(200, json={"data": data})
        finally:
            with self._counting:
                self.under_way -= 1


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    made = Service(getattr(request, "param", 1))
    yield made
    made.client.close()


def test_vectors_come_in_the_order_of_the_texts_whoever_was_quicker(service: Service) -> None:
    made = service.embedder(batch_size=2, concurrency=3).passages(TEXTS, SPACE, Deadline.after(20))

    assert [list(found).index(1.0) for found in made] == [int(text) % 8 for text in TEXTS]
    assert service.requests == 6


@pytest.mark.parametrize("service", [2], indirect=True)
def test_as_many_requests_as_are_allowed_are_under_way_at_once(service: Service) -> None:
    service.embedder(batch_size=1, concurrency=2).passages(TEXTS[:6], SPACE, Deadline.after(20))

    assert service.most_at_once == 2  # the gate opens only for two together, and never were there more


def test_one_batch_needs_no_threads(service: Service) -> None:
    service.embedder(batch_size=32, concurrency=2).passages(TEXTS, SPACE, Deadline.after(20))

    assert service.requests == 1


def test_a_batch_that_fails_is_the_callers_error_and_what_has_not_begun_is_left(service: Service) -> None:
    service.refused = TEXTS[0]
    many = [*TEXTS, *(str(number) for number in range(12, 400))]

    with pytest.raises(EmbeddingServiceError, match="no"):
        service.embedder(batch_size=1, concurrency=2).passages(many, SPACE, Deadline.after(20))

    assert service.requests < len(many)
