"""One embedding server for all peers: vectors that were made once come from the cache, new ones from the model.

python -m benchmarks.peers.embeddings --port 8123 [--delay-ms 5] [--generated [--keep]]
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import httpx

from benchmarks.embedding_server import MODEL
from benchmarks.local_embeddings import DIMENSION, LocalEmbeddings
from benchmarks.peers.generated import GeneratedModel
from localstack.models.embedding_server import Embedded, embedding_app
from localstack.models.serving import serve

START_TIMEOUT_S = 60.0


class CachedModel:
    """The local default model behind the vectors that earlier runs kept.

    Args:
        model: What embeds texts never seen.
        delay_s: How long each request takes at least, as a model takes its time for a question.
    """

    name, dimension = MODEL, DIMENSION

    def __init__(self, model: LocalEmbeddings, delay_s: float = 0.0) -> None:
        self._model, self._delay_s, self._lock = model, delay_s, Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Their vectors; tokens are not counted."""
        if self._delay_s:
            time.sleep(self._delay_s)
        with self._lock:
            vectors = self._model.embed(texts)
        return Embedded([vector.tobytes() for vector in vectors], 0)


@contextmanager
def embedding_server(delay_s: float = 0.0, *, generated: bool = False, keeps: bool = False) -> Iterator[str]:
    """The URL (ending in `/v1`) of a server in a process of its own; see `embedding_process`."""
    with embedding_process(delay_s, generated=generated, keeps=keeps) as (url, _):
        yield url


@contextmanager
def embedding_process(
    delay_s: float = 0.0, *, generated: bool = False, keeps: bool = False
) -> Iterator[tuple[str, int]]:
    """URL (ending in `/v1`) and pid of a server in a process of its own; its vectors are a model's, or *generated*.

    For *keeps* see GeneratedModel.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.peers.embeddings", "--port", str(port)]
    command += ["--delay-ms", str(delay_s * 1_000)]
    command += [flag for flag, wanted in (("--generated", generated), ("--keep", keeps)) if wanted]
    process = subprocess.Popen(command)  # noqa: S603 - our own
    try:
        _wait(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}/v1", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with httpx.Client(trust_env=False) as http:
        while True:
            try:
                http.get(url).raise_for_status()
            except httpx.HTTPError:
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit("the embedding server did not start")
                time.sleep(0.1)
            else:
                return


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.embeddings")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="each request takes at least so long")
    parser.add_argument("--generated", action="store_true", help="made vectors in place of a model's")
    parser.add_argument("--keep", action="store_true", help="keep made vectors of passages")
    options = parser.parse_args()
    delay_s = options.delay_ms / 1_000
    if options.generated:
        serve(embedding_app(GeneratedModel(delay_s, keeps=options.keep)), "127.0.0.1", options.port)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which uvicorn raises again: the model's server ends too
    with LocalEmbeddings() as model:
        serve(embedding_app(CachedModel(model, delay_s)), "127.0.0.1", options.port)


if __name__ == "__main__":
    main()
