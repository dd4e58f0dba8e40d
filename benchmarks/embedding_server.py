"""The local embedding server on a free port, as a process of the benchmark's own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

PYTHON = Path(".local/env/models/bin/python")
SERVER = (str(PYTHON), "-m", "localstack.models.embedding_server")
MODEL = "all-MiniLM-L6-v2"
START_TIMEOUT_S = 120.0


class EmbeddingServer:
    """Started when it is made, and answering then; `close` stops it.  `make setup` makes its environment."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._process = subprocess.Popen([*SERVER, "--port", str(port)], stdout=subprocess.DEVNULL)  # noqa: S603 - our own
        self._http = httpx.Client(timeout=300.0, trust_env=False)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.close()
                sys.exit("the embedding server did not start")
            time.sleep(0.2)

    def post(self, texts: list[str]) -> bytes:
        """The body of the server's answer, vectors as lists of numbers."""
        reply = self._http.post(f"{self.url}/embeddings", json={"model": MODEL, "input": texts})
        reply.raise_for_status()
        return reply.content

    def close(self) -> None:
        """Stop the server."""
        self._http.close()
        self._process.terminate()
        self._process.wait(timeout=30)

    def _answers(self) -> bool:
        try:
            self.post(["a"])
        except httpx.HTTPError:
            return False
        return True
