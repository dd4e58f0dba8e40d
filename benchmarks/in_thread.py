"""An ASGI application on a free port of the loopback, in a thread of this process."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from starlette.applications import Starlette

START_TIMEOUT_S = 30.0


@contextmanager
def in_thread(app: Starlette) -> Iterator[str]:
    """Its URL, ending in `/v1`; it stops with the block.

    Raises:
        TimeoutError: It did not start.
    """
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + START_TIMEOUT_S
        while not server.started:
            if time.monotonic() > until:
                raise TimeoutError("the server did not start")
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.should_exit = True
            thread.join(timeout=10)
