"""The loop that every peer's program shares: requests come as lines of JSON on stdin, answers go out on stdout.

A peer runs in its own environment, so this module needs the standard library alone.  Whatever a framework
prints goes to stderr.  Requests and answers, one JSON object a line:

    {"op": "open", "embedding_url", "embedding_model", "dimension", "opensearch_url", "index", "configuration"}
        -> {"ok": true, "versions": {distribution: version}, "settings": one line, "shared": bool}
       A second one switches the configuration; where "shared" is true what was added before is found in it too.
    {"op": "add", "documents": [{"id", "title", "text"}]}                -> {"chunks", "wall_s", "cpu_s", "peak_mb"}
    {"op": "fill", "documents": as for add}                              -> as add, for what is measured afterwards
    {"op": "search", "queries", "limit", "callers" (default 1)}          -> {"results", "wall_ms", "cpu_ms"}
    {"op": "sync", "folder"}                                             -> {"chunks", "wall_s", "cpu_s", "peak_mb"}
    {"op": "hits", "queries", "limit"}                                   -> {"hits": [[{"id", "text"}, ...], ...]}
    {"op": "answer", "question"}                                         -> {"answer", "citations", "wall_s", "cpu_s"}
    {"op": "serve"}                                                      -> {"url"}; it answers HTTP beside these lines
    {"op": "spent"}                                                      -> {"cpu_s"} of the process so far
    {"op": "close"}                                                      -> {"ok": true}; its index is removed

An answer with "error" says what went wrong.  Times are of this process; CPU is of all its threads, so with several
callers each query is given its equal share.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

SERVE_TIMEOUT_S = 30.0
SOURCES = 5  # chunks that an answer is written from
CANDIDATES = 3  # chunks asked for a required document, as in ragdrop, so that ten documents can come of chunks


@dataclass(frozen=True)
class PeerPlace:
    """Where a peer finds what it needs, and which of its configurations is required."""

    embedding_url: str
    embedding_model: str
    dimension: int
    opensearch_url: str
    index: str
    configuration: str
    chat_url: str = ""
    chat_model: str = ""
    folder: str = ""
    """A folder for what the peer keeps on disk, such as the records of its sync."""


class Peer:
    """One framework as its documentation sets it up; a program overrides what it can do."""

    distributions: Sequence[str] = ()
    shared = True
    """Whether all configurations search the same index."""

    def open(self, place: PeerPlace) -> str:
        raise NotImplementedError

    def add(self, documents: list[dict[str, str]]) -> int:
        """Index documents with `id`, `title` and `text`; gives the number of chunks written."""
        raise NotImplementedError

    def fill(self, documents: list[dict[str, str]]) -> int:
        """As `add`, to the same index, but not measured: the way there need not be the recommended one."""
        return self.add(documents)

    def search(self, query: str, limit: int) -> list[str]:
        raise NotImplementedError

    def hits(self, query: str, limit: int) -> list[dict[str, str]]:
        """The `id` of the document and the `text` of each of at most *limit* chunks, best first."""
        raise NotImplementedError

    def sync(self, folder: Path) -> int:
        """Make the index agree with the files of *folder*, the way the framework recommends; chunks written."""
        raise NotImplementedError

    def answer(self, question: str) -> dict[str, Any]:
        raise NotImplementedError

    def served(self) -> tuple[Any, str]:
        """The ASGI application that the documentation recommends, and its path; `{"query", "limit"}` are posted."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def best_documents(ids: Sequence[str], limit: int) -> list[str]:
    """Document ids of ranked chunks: each once, where its best chunk stands."""
    return list(dict.fromkeys(ids))[:limit]


def in_batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def serve(peer: Peer) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not end up between the answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _answer(peer, request.pop("op"), request)
        except Exception as exc:  # noqa: BLE001 - whatever a framework raises is reported, and the peer continues
            traceback.print_exc()
            answer = {"error": f"{type(exc).__name__}: {exc}"[:2_000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(peer: Peer, op: str, asked: dict[str, Any]) -> dict[str, Any]:
    if op == "open":
        settings = peer.open(PeerPlace(**asked))
        versions = {name: version(name) for name in peer.distributions}
        return {"ok": True, "versions": versions, "settings": settings, "shared": peer.shared}
    if op == "close":
        peer.close()
        return {"ok": True}
    if op == "serve":
        return {"url": _serve_http(*peer.served())}
    if op == "spent":
        return {"cpu_s": time.process_time()}
    if op == "search":
        return _search(peer, asked["queries"], asked["limit"], asked.get("callers", 1))
    with _measured() as spent:
        if op == "add":
            reported: dict[str, Any] = {"chunks": peer.add(asked["documents"])}
        elif op == "fill":
            reported = {"chunks": peer.fill(asked["documents"])}
        elif op == "sync":
            reported = {"chunks": peer.sync(Path(asked["folder"]))}
        elif op == "answer":
            reported = peer.answer(asked["question"])
        elif op == "hits":
            reported = {"hits": [peer.hits(query, asked["limit"]) for query in asked["queries"]]}
        else:
            return {"error": f"there is no operation {op}"}
    return reported | spent


def _serve_http(app: Any, path: str) -> str:
    """The URL of *path* of *app*, which a thread serves by uvicorn on the loopback until the process ends."""
    import uvicorn  # only in the environments of those that are served

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning"))
    Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    until_s = time.monotonic() + SERVE_TIMEOUT_S
    while not server.started:
        if time.monotonic() > until_s:
            raise TimeoutError("the server did not start")
        time.sleep(0.05)
    return f"http://127.0.0.1:{listening.getsockname()[1]}{path}"


@contextmanager
def _measured() -> Iterator[dict[str, float]]:
    spent: dict[str, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    yield spent
    spent["wall_s"], spent["cpu_s"] = time.perf_counter() - wall, time.process_time() - cpu
    spent["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000


def _search(peer: Peer, queries: list[str], limit: int, callers: int) -> dict[str, Any]:
    results: list[list[str]] = []
    wall_ms: list[float] = []
    cpu_ms: list[float] = []

    def one(query: str) -> tuple[list[str], float]:
        started = time.perf_counter()
        return peer.search(query, limit), (time.perf_counter() - started) * 1_000

    if callers == 1:
        for query in queries:
            before = time.process_time()
            found, wall = one(query)
            cpu_ms.append((time.process_time() - before) * 1_000)
            results.append(found)
            wall_ms.append(wall)
    else:
        before = time.process_time()
        with ThreadPoolExecutor(callers) as pool:
            for found, wall in pool.map(one, queries):
                results.append(found)
                wall_ms.append(wall)
        cpu_ms = [(time.process_time() - before) * 1_000 / len(queries)] * len(queries)
    return {"results": results, "wall_ms": wall_ms, "cpu_ms": cpu_ms}
