"""A Runtime API as "Using the Lambda runtime API" and "Using the Lambda extensions API" (docs.aws.amazon.com) have it.

It hands out events one at a time and takes the answers, whole or as they stream; between two events the process that
answers is stopped, as Lambda freezes it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LIMIT_BYTES = 6 * 1024 * 1024  # of a whole response, as AWS has it
TIMEOUT_S = 29.0
PRELUDE_END = b"\0" * 8  # between the status with its headers, and the body, of a response that streams


@dataclass
class Answer:
    """What came back for an event.

    Args:
        kind: The last part of the address: `response` or `error`.
        streams: Whether it came with the response mode for streams.
        chunks: The body as it came, each part with the time when it was there.
    """

    kind: str
    streams: bool
    chunks: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(each for _, each in self.chunks)

    def parts(self) -> tuple[dict[str, Any], bytes]:
        """Prelude and body of a response that streams."""
        prelude, _, body = self.body.partition(PRELUDE_END)
        return json.loads(prelude), body


class RuntimeApi:
    """Hands events to one function, one at a time, and takes its answers; between them the process is stopped."""

    def __init__(self) -> None:
        self.events: queue.Queue[Mapping[str, Any] | None] = queue.Queue()
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.pids: list[int] = []
        self.ended = threading.Event()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two writes, and the second would wait 40 ms

            def handle(self) -> None:
                with suppress(ConnectionResetError):  # the function was ended
                    super().handle()

            def log_message(self, *args: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                if "/extension/" in self.path:
                    api.ended.wait()  # an extension hears of the next event here; the adapter wants none
                    self.close_connection = True
                    return
                event = api.events.get()
                if event is None:
                    self.close_connection = True
                    return
                self._say(200, event)

            def do_POST(self) -> None:
                if "/extension/" in self.path:
                    self.rfile.read(int(self.headers.get("content-length", 0)))
                    self._say(200, {"functionName": "f", "functionVersion": "1", "handler": "h"})
                    return
                mode = self.headers.get("lambda-runtime-function-response-mode", "")
                answer = Answer(self.path.rpartition("/")[2], mode == "streaming")
                if "chunked" in self.headers.get("transfer-encoding", ""):
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        answer.chunks.append((time.monotonic(), self.rfile.read(size)))
                        self.rfile.readline()
                    while self.rfile.readline().strip():
                        """Trailers, such as the error of a stream."""
                else:
                    answer.chunks.append((time.monotonic(), self.rfile.read(int(self.headers["content-length"]))))
                    if len(answer.body) > LIMIT_BYTES:
                        answer.kind = "too large"
                self._say(202, {"status": "OK"})
                api.answers.put(answer)

            def _say(self, status: int, content: Mapping[str, Any]) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Lambda-Extension-Identifier", "5b0c1d2e-0000-4000-8000-000000000000")
                self.send_header("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
                self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + TIMEOUT_S) * 1_000)))
                self.send_header(
                    "Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:f"
                )
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Host and port, for AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self.server.server_port}"

    def invoke(self, event: Mapping[str, Any]) -> Answer:
        """The function's answer to *event*; it runs for no longer than that."""
        self._tell(signal.SIGCONT)
        self.events.put(event)
        answer = self.answers.get(timeout=TIMEOUT_S)
        self._tell(signal.SIGSTOP)
        assert answer.kind == "response", answer
        return answer

    def close(self) -> None:
        """Let go of whoever waits; the processes run on."""
        self._tell(signal.SIGCONT)
        self.ended.set()
        self.events.put(None)
        self.server.shutdown()
        self.server.server_close()

    def _tell(self, told: signal.Signals) -> None:
        for pid in self.pids:
            with suppress(ProcessLookupError):
                os.kill(pid, told)
