"""The local default model with its vectors cached on disk, generated vectors, and servers of both.

python -m benchmarks.embeddings --port 8123 [--delay-ms 5] [--generated [--keep]]
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from operator import mul
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette

from localstack.models.serving import application, embedding_routes, serve
from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.http import OpenAiHttp
from ragdrop.models.model_protocol import Embedded
from ragdrop.models.reader import HttpReader
from ragdrop.ports.model_services import Reader

PYTHON = Path(".local/env/models/bin/python")
MODEL = "all-MiniLM-L6-v2"
READER = Path("models/reader")
SERVER = (str(PYTHON), "-m", "localstack.models.server", "--embedding", MODEL, "--reader", str(READER))
START_TIMEOUT_S = 120.0
READ_TIMEOUT_S = 300.0
AT_ONCE = 500  # values of one statement; SQLite takes 999 in any build
LOCK_TIMEOUT_S = 60.0
DIMENSION = 384
SPACE = EmbeddingSpace(MODEL, DIMENSION)
BATCH = 64
SYLLABLES = [first + second for first in "bcdfgklmnprst" for second in "aeiou"]
VOCABULARY = [one + two for one in SYLLABLES for two in SYLLABLES]
FREQUENCIES = list(itertools.accumulate(1 / rank for rank in range(2, len(VOCABULARY) + 2)))  # Zipf's law
WORDS_A_DOCUMENT = 60  # one chunk for every framework: about 150 tokens
DIRECTIONS = 200  # the subjects that vectors gather around
THREAD_TIMEOUT_S = 30.0


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(command: Sequence[str], url: str, **how: Any) -> subprocess.Popen[bytes]:
    """A server's process as soon as it answers at *url*; ends the program if it does not."""
    process = subprocess.Popen(command, **how)  # noqa: S603 - our own
    deadline = time.monotonic() + START_TIMEOUT_S
    with httpx.Client(trust_env=False, timeout=60.0) as http:
        while True:
            with suppress(httpx.HTTPError):
                http.get(url).raise_for_status()
                return process
            if process.poll() is not None or time.monotonic() > deadline:
                process.terminate()
                sys.exit("the embedding server did not start")
            time.sleep(0.1)


class EmbeddingServer:
    """Started when it is made, and answering then; `close` stops it.  `make setup` makes its environment."""

    def __init__(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/v1"
        address = f"http://127.0.0.1:{port}/health"
        self._process = started([*SERVER, "--port", str(port)], address, stdout=subprocess.DEVNULL)
        self._http = httpx.Client(timeout=300.0, trust_env=False)
        self.post(["a"])  # the model is loaded then

    def post(self, texts: list[str]) -> bytes:
        """The body of the server's answer, vectors as lists of numbers."""
        reply = self._http.post(f"{self.url}/embeddings", json={"model": MODEL, "input": texts})
        reply.raise_for_status()
        return reply.content

    def close(self) -> None:
        self._http.close()
        self._process.terminate()
        self._process.wait(timeout=30)


def cache_folder() -> Path:
    folder = Path(os.environ.get("RAGDROP_BENCH_CACHE") or ".local/bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class EmbeddingsCache:
    """Unit vectors of one model by text."""

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self._model = model
        self._file = sqlite3.connect(
            (folder or cache_folder()) / "embeddings.db",
            timeout=LOCK_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS embeddings (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )

    def close(self) -> None:
        self._file.close()

    def get(self, texts: Sequence[str]) -> dict[str, array[float]]:
        keys = {self._key(text): text for text in texts}
        names = list(keys)
        found: dict[str, array[float]] = {}
        for first in range(0, len(names), AT_ONCE):
            requested = names[first : first + AT_ONCE]
            marks = ", ".join("?" * len(requested))
            rows = self._file.execute(f"SELECT key, vector FROM embeddings WHERE key IN ({marks})", requested)  # noqa: S608
            found.update((keys[key], array("f", vector)) for key, vector in rows)
        return found

    def put(self, vectors: Mapping[str, array[float]]) -> None:
        rows: Iterable[tuple[bytes, bytes]] = ((self._key(text), values.tobytes()) for text, values in vectors.items())
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)
        self._file.execute("COMMIT")

    def _key(self, text: str) -> bytes:
        model = self._model.encode()
        return hashlib.sha256(len(model).to_bytes(4, "big") + model + text.encode()).digest()


class LocalEmbeddings:
    """An Embedder whose server starts with the first text that was never seen; `make setup` makes its environment.

    Leaving the block stops the server.
    """

    def __enter__(self) -> LocalEmbeddings:
        self._cache = EmbeddingsCache(MODEL)
        self._server: EmbeddingServer | None = None
        self._client: httpx.Client | None = None  # of the reader
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.close()
        self._cache.close()

    @cached_property
    def tokenizer(self) -> bytes:
        stored = cache_folder() / f"{MODEL}.tokenizer.json"
        if not stored.exists():
            draft = stored.with_suffix(f".{os.getpid()}")
            command = [str(PYTHON), "-m", "localstack.models.weights", str(draft)]
            subprocess.run(command, check=True, timeout=60)  # noqa: S603 - our own
            draft.replace(stored)
        return stored.read_bytes()

    def similarity(self, question: str, passages: Sequence[str]) -> list[float]:
        asked, *given = self.embed([question, *passages])
        return [sum(map(mul, asked, each)) for each in given]

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        return self.embed([text])[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """A unit vector each; only texts not seen before are computed, and are stored batch by batch."""
        found = self._cache.get(texts)
        missing = sorted(set(texts) - found.keys(), key=len)  # a batch costs what its longest text costs
        for start in range(0, len(missing), BATCH):
            made = self.computed(missing[start : start + BATCH])
            self._cache.put(made)
            found |= made
            if sys.stderr.isatty() or start // BATCH % 10 == 0:
                print(f"embedded {start + len(made)} of {len(missing)} new texts", file=sys.stderr, flush=True)
        return [found[text] for text in texts]

    @property
    def server(self) -> EmbeddingServer:
        """Serves the reader too; started when it is asked for."""
        self._server = self._server or EmbeddingServer()
        return self._server

    @cached_property
    def reader(self) -> Reader | None:
        """The reader of the same server, with a cache; None where none was trained."""
        if not (READER / "reader.onnx").exists():
            return None
        self._client = httpx.Client()
        http = OpenAiHttp(self.server.url, api_key=lambda: None, timeout_s=READ_TIMEOUT_S, client=self._client)
        return CachedReader(HttpReader(http))

    def computed(self, texts: Sequence[str]) -> dict[str, array[float]]:
        vectors = json.loads(self.server.post(list(texts)))["data"]
        return {text: array("f", item["embedding"]) for text, item in zip(texts, vectors, strict=True)}


def documents(count: int, seed: int = 7) -> Iterator[dict[str, str]]:
    """Short documents of unequally frequent words, with a title of their own."""
    source = random.Random(seed)
    for number in range(count):
        title = f"Note {number}"
        words = " ".join(source.choices(VOCABULARY, cum_weights=FREQUENCIES, k=WORDS_A_DOCUMENT))
        yield {"id": f"n{number}", "title": title, "text": f"# {title}\n\n{words}"}


def questions(count: int, seed: int = 11) -> list[str]:
    """Different questions of five words, neither the commonest nor the rarest."""
    source = random.Random(seed)
    return [" ".join(source.sample(VOCABULARY[20:2_000], 5)) for _ in range(count)]


class MadeEmbedder:
    """An Embedder whose vectors a function makes."""

    def __init__(self, made: Callable[[Sequence[str]], list[Vector]]) -> None:
        self._made = made

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        return self._made([text])[0]

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        return self._made(texts)


class GeneratedModel:
    """A model in name only: a text's vector lies near one of some directions, chosen by the text's digest.

    Each request takes at least *delay_s*.  With *keeps* the vectors of passages, texts that come with others, are
    cached for the next who asks; never where filling is measured, as the first to ask would wait longest.
    """

    name, dimension = MODEL, DIMENSION

    def __init__(self, delay_s: float = 0.0, *, keeps: bool = False) -> None:
        self._delay_s, self._keeps = delay_s, keeps
        self._cached: dict[bytes, bytes] = {}

    def embed(self, texts: Sequence[str]) -> Embedded:
        if self._delay_s:
            time.sleep(self._delay_s)
        return Embedded([self._made(text, keep=self._keeps and len(texts) > 1) for text in texts], 0)

    def _made(self, text: str, *, keep: bool) -> bytes:
        digest = hashlib.sha256(text.encode()).digest()
        made = self._cached.get(digest) if keep else None
        if made is None:
            made = self._vector(digest).tobytes()
            if keep:
                self._cached[digest] = made
        return made

    @cached_property
    def _directions(self) -> list[array[float]]:
        source = random.Random(384)
        return [vector(source.gauss(0, 1) for _ in range(DIMENSION)) for _ in range(DIRECTIONS)]

    def _vector(self, digest: bytes) -> array[float]:
        source = random.Random(digest)
        middle, spread = source.choice(self._directions), DIMENSION**-0.5
        return vector(value + source.gauss(0, spread) for value in middle)


class TimedModel(GeneratedModel):
    """Vectors made from digests, after *text_s* a text: as if one core computed them, however busy this machine is.

    `texts` counts texts, `calls` requests; `busy_s` is the time that they took.
    """

    def __init__(self, text_s: float) -> None:
        super().__init__()
        self._text_s, self._lock = text_s, Lock()
        self.texts, self.calls, self.busy_s = 0, 0, 0.0

    def embed(self, texts: Sequence[str]) -> Embedded:
        with self._lock:
            began = time.perf_counter()
            made = super().embed(texts)
            time.sleep(max(0.0, began + self._text_s * len(texts) - time.perf_counter()))
            self.texts, self.calls = self.texts + len(texts), self.calls + 1
            self.busy_s += time.perf_counter() - began
            return made

    def reset(self) -> None:
        self.texts, self.calls, self.busy_s = 0, 0, 0.0


@contextmanager
def in_thread(app: Starlette) -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + THREAD_TIMEOUT_S
        while not server.started:
            if time.monotonic() > until:
                raise TimeoutError("the server did not start")
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.should_exit = True
            thread.join(timeout=10)


class CachedModel:
    """The local default model behind the vectors that earlier runs stored."""

    name, dimension = MODEL, DIMENSION

    def __init__(self, model: LocalEmbeddings, delay_s: float = 0.0) -> None:
        self._model, self._delay_s, self._lock = model, delay_s, Lock()

    def embed(self, texts: Sequence[str]) -> Embedded:
        if self._delay_s:
            time.sleep(self._delay_s)
        with self._lock:
            vectors = self._model.embed(texts)
        return Embedded([vector.tobytes() for vector in vectors], 0)


@contextmanager
def embedding_server(delay_s: float = 0.0, *, generated: bool = False, keeps: bool = False) -> Iterator[str]:
    """The URL (ending in `/v1`) of a server in its own process; see `embedding_process`."""
    with embedding_process(delay_s, generated=generated, keeps=keeps) as (url, _):
        yield url


@contextmanager
def embedding_process(
    delay_s: float = 0.0, *, generated: bool = False, keeps: bool = False
) -> Iterator[tuple[str, int]]:
    """URL (ending in `/v1`) and pid of a server in its own process; its vectors are a model's, or *generated*."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.embeddings", "--port", str(port), "--delay-ms", str(delay_s * 1_000)]
    command += [flag for flag, requested in (("--generated", generated), ("--keep", keeps)) if requested]
    process = started(command, f"http://127.0.0.1:{port}/health")
    try:
        yield f"http://127.0.0.1:{port}/v1", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embeddings")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="each request takes at least so long")
    parser.add_argument("--generated", action="store_true", help="made vectors in place of a model's")
    parser.add_argument("--keep", action="store_true", help="keep made vectors of passages")
    options = parser.parse_args()
    delay_s = options.delay_ms / 1_000
    if options.generated:
        serve(application(embedding_routes(GeneratedModel(delay_s, keeps=options.keep))), "127.0.0.1", options.port)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which uvicorn raises again: the model's server ends too
    with LocalEmbeddings() as model:
        serve(application(embedding_routes(CachedModel(model, delay_s))), "127.0.0.1", options.port)


if __name__ == "__main__":
    main()
