"""A chat server for tests: it speaks the OpenAI protocol over real HTTP, and misbehaves on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

TEXT = "It is so [1]. And so."


class ChatServer:
    """Behaviours by model name; `requests` counts what arrived, `bodies` keeps it."""

    def __init__(self) -> None:
        self.behaviours: dict[str, Any] = {}
        self.bodies: list[dict[str, Any]] = []
        self.broken_pipes = 0
        self.url = ""
        self.client: httpx.Client | None = None

    def behave(self, model: str = "m", **how: Any) -> None:
        """From now on *model* answers like this: `status`, `headers`, `raw`, `text`, `finish`, `hang_s`, and so on.

        `refuses` has, by a field of the request, the answer to requests that have it; `deltas` are those of a stream.
        """
        self.behaviours[model] = how


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    """A server on a free port of the loopback, gone with the block."""
    told = ChatServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told.bodies.append(body)
            how = told.behaviours.get(body["model"], {})
            time.sleep(how.get("hang_s", 0))
            for field, refusal in how.get("refuses", {}).items():
                if field in body:
                    how = refusal
            try:
                if body.get("stream") and how.get("status", 200) == 200 and "raw" not in how:
                    self._stream(body["model"], how)
                else:
                    self._whole(body["model"], how)
            except (BrokenPipeError, ConnectionResetError):
                told.broken_pipes += 1
                self.close_connection = True

        def _whole(self, model: str, how: dict[str, Any]) -> None:
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": how.get("text", TEXT)},
                "finish_reason": how.get("finish", "stop"),
            }
            usage = {"prompt_tokens": 7, "completion_tokens": 5}
            raw = how.get("raw") or json.dumps({"model": model, "choices": [choice], "usage": usage})
            self.send_response(how.get("status", 200))
            self.send_header("content-type", how.get("type", "application/json"))
            for name, value in how.get("headers", {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw.encode())

        def _stream(self, model: str, how: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for delta in how.get("deltas", ()):
                self._event(json.dumps({"model": model, "choices": [{"index": 0, "delta": delta}]}))
            words = how.get("text", TEXT).split(" ") if "deltas" not in how else []
            for place, word in enumerate(words):
                if place == how.get("die_after"):
                    return
                if place == how.get("garble_after"):
                    self._event("{not json")
                if place == how.get("stall_after"):
                    time.sleep(how["stall_s"])
                if place == how.get("error_after"):
                    self._event(json.dumps({"error": {"message": "out of memory"}}))
                delta = {"content": word if place == 0 else f" {word}"}
                event = {"model": model, "choices": [{"index": 0, "delta": delta}]}
                self._event(json.dumps(event, ensure_ascii=not how.get("raw_unicode")))
            ending = {"index": 0, "delta": {}, "finish_reason": how.get("finish", "stop")}
            self._event(json.dumps({"model": model, "choices": [ending]}))
            self._event(
                json.dumps({"model": model, "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}})
            )
            self._event("[DONE]")

        def _event(self, data: str) -> None:
            self.wfile.write(f"data: {data}\n\n".encode())
            self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
