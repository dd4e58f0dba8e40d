"""The local default model for benchmarks: its server on a free port, its vectors kept on disk between runs."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from operator import mul
from pathlib import Path
from types import TracebackType

import httpx

PYTHON = Path(".local/env/models/bin/python")
CACHE = Path(tempfile.gettempdir()) / "ragdrop-benchmark-vectors"
BATCH = 32
START_TIMEOUT_S = 120.0


class LocalEmbeddings:
    """Starts the embedding server of the local stack and stops it at the end; `make setup` makes its environment."""

    def __enter__(self) -> LocalEmbeddings:
        """Start the server and wait until it answers."""
        CACHE.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(PYTHON), "-m", "localstack.models.embedding_server"]
        self._server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL)  # noqa: S603
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300.0)
        tokenizer = CACHE / "tokenizer.json"
        subprocess.run([*command, "--write-tokenizer", str(tokenizer)], check=True, timeout=60)  # noqa: S603
        self.tokenizer = tokenizer.read_bytes()
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            if time.monotonic() > deadline or self._server.poll() is not None:
                self.__exit__(None, None, None)
                sys.exit("the embedding server did not start")
            time.sleep(0.2)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._http.close()
        self._server.terminate()
        self._server.wait(timeout=30)

    def ranked(self, questions: list[str], texts: list[str]) -> list[list[int]]:
        """For each question the places of all texts, nearest first by cosine."""
        vectors = self.embed(texts)
        return [
            sorted(range(len(vectors)), key=lambda place, asked=asked: -sum(map(mul, asked, vectors[place])))
            for asked in self.embed(questions)
        ]

    def embed(self, texts: list[str]) -> list[array[float]]:
        """A unit vector each; only texts not seen before are computed."""
        missing = [text for text in dict.fromkeys(texts) if not _place(text).exists()]
        missing.sort(key=len)  # a batch costs what its longest text costs
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            reply = self._http.post("/v1/embeddings", json={"model": "all-MiniLM-L6-v2", "input": batch})
            reply.raise_for_status()
            for text, item in zip(batch, json.loads(reply.content)["data"], strict=True):
                _place(text).write_bytes(array("f", item["embedding"]).tobytes())
        return [array("f", _place(text).read_bytes()) for text in texts]

    def _answers(self) -> bool:
        try:
            return self._http.post("/v1/embeddings", json={"model": "all-MiniLM-L6-v2", "input": ["a"]}).is_success
        except httpx.TransportError:
            return False


def _place(text: str) -> Path:
    return CACHE / hashlib.sha256(text.encode()).hexdigest()
