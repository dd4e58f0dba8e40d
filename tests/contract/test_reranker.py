"""What every Reranker does, and what the HTTP one makes of a server's answers: a real one, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RerankError
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.reranker import HttpReranker
from ragdrop.ports.search_services import Reranker
from ragdrop.resilience.breakers import Retries
from testing.memory_services import WordReranker

TEXTS = ("a blue car", "the red pump", "a pump")


class Server:
    """Speaks `POST /v1/rerank`; `answer` makes the body of a request, `requests` keeps what came."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str | None] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, Any]] = self.scored
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append({"path": self.path, **body})
                outer.headers.append(self.headers["authorization"])
                status, reply = outer.answer(body)
                raw = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    @staticmethod
    def scored(body: dict[str, Any]) -> tuple[int, Any]:
        scores = WordReranker().scores(body["query"], body["documents"], Deadline.after(5))
        results = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
        return 200, {"results": sorted(results, key=lambda one: -float(one["relevance_score"]))}


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, daemon=True)
    thread.start()
    yield made
    made.http.shutdown()
    made.http.server_close()
    thread.join(5)


def over_http(server: Server) -> HttpReranker:
    http = OpenAiHttp(server.url, api_key=lambda: "k", timeout_s=5, retries=Retries(sleep=lambda _: None))
    return HttpReranker(http, model="reader-1")


@pytest.fixture(params=["memory", "http"])
def reranker(request: pytest.FixtureRequest, server: Server) -> Reranker:
    return WordReranker() if request.param == "memory" else over_http(server)


def test_each_text_has_its_score_in_the_order_of_the_texts(reranker: Reranker) -> None:
    assert reranker.scores("red pump", TEXTS, Deadline.after(5)) == [0.0, 1.0, 0.5]


def test_no_texts_cost_no_call(server: Server, reranker: Reranker) -> None:
    assert reranker.scores("red pump", (), Deadline.after(5)) == []
    assert server.requests == []


def test_the_request_names_model_question_and_documents_and_carries_the_key(server: Server) -> None:
    over_http(server).scores("red pump", TEXTS, Deadline.after(5))

    expected = {"path": "/v1/rerank", "model": "reader-1", "query": "red pump", "documents": list(TEXTS), "top_n": 3}
    assert server.requests == [expected]
    assert server.headers == ["Bearer k"]


@pytest.mark.parametrize(
    ("status", "reply"),
    [
        (500, {"error": {"message": "down"}}),
        (404, {}),
        (200, {"nothing": 1}),
        (200, []),
        (200, {"results": [{"index": 0, "relevance_score": 1.0}]}),
        (200, {"results": [{"index": place, "relevance_score": 1.0} for place in (0, 1, 1)]}),
        (200, {"results": [{"index": place, "relevance_score": "NaN"} for place in (0, 1, 2)]}),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(server: Server, status: int, reply: Any) -> None:
    server.answer = lambda _: (status, reply)

    with pytest.raises(RerankError):
        over_http(server).scores("red pump", TEXTS, Deadline.after(5))


def test_a_server_that_is_not_there_is_an_error() -> None:
    http = OpenAiHttp("http://127.0.0.1:9/v1", api_key=lambda: None, timeout_s=1, retries=Retries(sleep=lambda _: None))

    with pytest.raises(RerankError):
        HttpReranker(http, model=None).scores("red pump", TEXTS, Deadline.after(5))
