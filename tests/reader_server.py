"""A server of `POST /v1/read` for tests, over real HTTP; it reads by words unless a test gives the answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ragdrop.domain.deadlines import Deadline
from ragdrop.models.cached_reader import MODEL
from testing.memory_services import WordReader

VERSION = "1"
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def by_words(body: dict[str, Any]) -> tuple[int, Any]:
    """The readings of WordReader, in another order than that of the pairs."""
    readings = WordReader().read([(query, passage) for query, passage in body["pairs"]], Deadline.after(5))
    items = [
        {
            "index": place,
            "relevance": each.relevance,
            "answerable": each.answerable,
            "supported": each.supported,
            "contradicted": each.contradicted,
            "answer": each.answer,
        }
        for place, each in enumerate(readings)
    ]
    return 200, {"model": MODEL, "version": VERSION, "data": items[::-1]}


def supporting(body: dict[str, Any]) -> tuple[int, Any]:
    """Every passage answers every question and supports every claim, and none states it."""
    status, reply = by_words(body)
    for item in reply["data"]:
        item |= {"answerable": 0.9, "relevance": 0.9, "supported": 0.7, "contradicted": 0.1}
    return status, reply


class ReaderServer:
    """`answer` makes status and body of a reply; `requests` and `keys` hold what came."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""


@contextmanager
def reader_server(answer: Answer = by_words) -> Iterator[ReaderServer]:
    """A server on a free port of the loopback, gone with the block."""
    server = ReaderServer(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.requests.append({"path": self.path, **body})
            server.keys.append(self.headers["authorization"])
            status, reply = server.answer(body)
            raw = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)
