"""As much of S3 as one object needs, on the loopback: PUT, HEAD and GET by range, for boto3's own client."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

MISSING = b"<Error><Code>NoSuchKey</Code></Error>"


@dataclass
class Stored:
    """An object: its bytes, and the headers that came with them."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    """One connection; objects live with the class."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, Stored]

    def do_PUT(self) -> None:
        """Keep an object with its metadata."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {name: value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}
        etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
        self.objects[self.path.partition("?")[0]] = Stored(body, told | {"ETag": f'"{etag}"'})
        self._answer(200, b"", {"ETag": f'"{etag}"'})

    def do_HEAD(self) -> None:
        """What is known of an object."""
        found = self.objects.get(self.path.partition("?")[0])
        if found is None:
            bucket = self.path.strip("/").count("/") == 0
            self._answer(200 if bucket else 404, b"")
        else:
            self._answer(200, found.body, found.headers)

    def do_GET(self) -> None:
        """An object, or a range of it."""
        found = self.objects.get(self.path.partition("?")[0])
        if found is None:
            self._answer(404, MISSING)
            return
        ranged = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if ranged is None:
            self._answer(200, found.body, found.headers)
            return
        start, end = int(ranged[1]), int(ranged[2] or len(found.body) - 1) + 1
        self._answer(206, memoryview(found.body)[start:end], found.headers)

    def log_message(self, *_told: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes | memoryview, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Last-Modified", self.date_time_string())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def loopback_s3() -> Iterator[str]:
    """The URL of an empty store, for the block."""
    handler = type("OneStore", (Handler,), {"objects": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
