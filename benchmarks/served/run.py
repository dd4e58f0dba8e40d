"""Searches a second at saturation: the query function beside LlamaIndex and Haystack behind their own servers.

    python -m benchmarks.served [--write] [--quick] [--chunks N]

10,000 generated documents of one chunk (`--quick`: 1,000), one OpenSearch node, one embedding server that answers after
5 milliseconds.  Each server is one process under uvicorn: ragdrop's handler behind a minimal loop that makes events of
API Gateway, LlamaIndex behind FastAPI, Haystack behind Hayhooks.  In turns each is asked by one caller and by eight,
who ask again as soon as they have an answer.  Every question is new.  CPU is of the server's process; the node's own is
beside it.  Loopback only; two and a half minutes of asking after everybody is filled.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.peers.contenders import Contender, running
from benchmarks.peers.embeddings import embedding_server
from benchmarks.peers.generated import documents, questions
from benchmarks.peers.node import pid_of, shared_node
from benchmarks.peers.process import ENVIRONMENTS
from benchmarks.peers_speed import EMBEDDING_S, LIMIT, fill
from benchmarks.served.table import served_table, turn_figures
from benchmarks.stack_processes import cpu_s_of
from localstack.opensearch.assembly import HYBRID_RELEASE, RELEASES
from ragdrop import __version__

CALLERS = (1, 8)
ROUNDS, TURN_S, WARM_S, QUICK_TURN_S = 3, 5.0, 2.0, 1.0
QUESTIONS = 40_000  # more than can be asked
ASK_TIMEOUT_S = 30.0
OK = 200
CONTENDERS = {  # title -> name of its environment, its program and how it is set up
    "ragdrop, function": ("", ["benchmarks.served.of_ragdrop", "opensearch"], "search"),
    "ragdrop, function, bucket index": ("", ["benchmarks.served.of_ragdrop", "bucket"], "search"),
    "LlamaIndex, uvicorn": ("llama_index", ["benchmarks.served.of_llama_index"], "hybrid"),
    "Haystack, Hayhooks": ("haystack", ["benchmarks.served.of_haystack"], "hybrid"),
}


@dataclass(frozen=True)
class ServedContender:
    """One that answers at *url*."""

    contender: Contender
    url: str

    def cpu_s(self) -> float:
        """Processor seconds of its process so far."""
        return float(self.contender.peer.ask("spent")["cpu_s"])


def opened(stack: ExitStack, count: int, node: str, embeddings: str) -> Iterator[tuple[str, ServedContender]]:
    """Everybody by title, filled with *count* documents and serving."""
    sources = list(documents(count))
    for called, (name, program, configuration) in CONTENDERS.items():
        python = f"{ENVIRONMENTS}/peer-{name}/bin/python" if name else sys.executable
        contender = stack.enter_context(
            running(
                name or "ragdrop",
                opensearch_url=node,
                embedding_url=embeddings,
                label=f"served {called} {count}",
                command=[python, "-m", *program],
            )
        )
        contender.switch(configuration)
        fill(contender.peer, sources)
        yield called, ServedContender(contender, contender.peer.ask("serve")["url"])


def asked_for(url: str, seconds: float, callers: int, asked: Iterator[str]) -> dict[str, Any]:
    """Let *callers* ask until *seconds* are over: milliseconds of each answer, and how long it all took.

    Raises:
        RuntimeError: An answer was not 200, or had no results.
    """
    place = urlsplit(url)
    until_s = time.perf_counter() + seconds

    def ask() -> list[float]:
        taken: list[float] = []
        connection = http.client.HTTPConnection(place.netloc, timeout=ASK_TIMEOUT_S)
        while (begun_s := time.perf_counter()) < until_s:
            body = json.dumps({"query": next(asked), "limit": LIMIT})
            connection.request("POST", place.path, body, {"content-type": "application/json"})
            reply = connection.getresponse()
            text = reply.read()
            taken.append((time.perf_counter() - begun_s) * 1_000)
            if reply.status != OK or b"text" not in text:
                raise RuntimeError(f"{url}: {reply.status} {text[:500]!r}")
        connection.close()
        return taken

    begun_s = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        taken = [each for one in [pool.submit(ask) for _ in range(callers)] for each in one.result()]
    return {"ms": taken, "wall_s": time.perf_counter() - begun_s}


def measure(count: int, turn_s: float, node: str, embeddings: str) -> dict[str, Any]:
    """Figures by callers and contender."""
    asked = iter(questions(QUESTIONS))
    turns: dict[int, dict[str, list[dict[str, Any]]]] = {callers: {} for callers in CALLERS}
    pid = pid_of(node) or 0
    with ExitStack() as stack, OpenSearch(node, timeout=600) as client:
        everybody = dict(opened(stack, count, node, embeddings))
        client.indices.forcemerge(index="_all", max_num_segments=1)
        client.indices.refresh(index="_all")
        for one, callers in itertools.product(everybody.values(), CALLERS):
            asked_for(one.url, min(WARM_S, turn_s), callers, asked)
        for turn, callers in itertools.product(range(ROUNDS), CALLERS):
            order = list(everybody.items())
            for called, one in order if turn % 2 else reversed(order):
                before_s, node_before_s = one.cpu_s(), cpu_s_of(pid)
                told = asked_for(one.url, turn_s, callers, asked)
                told |= {"cpu_s": one.cpu_s() - before_s, "node_cpu_s": cpu_s_of(pid) - node_before_s}
                turns[callers].setdefault(called, []).append(told)
    figures = {
        str(callers): {called: turn_figures(told[called]) for called in CONTENDERS} for callers, told in turns.items()
    }
    return {"chunks": count, "callers": figures}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the record")
    parser.add_argument("--quick", action="store_true", help="1,000 chunks and a second a turn")
    parser.add_argument("--chunks", type=int, help="in place of 10,000")
    options = parser.parse_args(arguments)
    count = options.chunks or (1_000 if options.quick else 10_000)
    turn_s = QUICK_TURN_S if options.quick else TURN_S
    with shared_node() as node, embedding_server(EMBEDDING_S, generated=True, keeps=True) as embeddings:
        found = measure(count, turn_s, node, embeddings)
    versions = {"ragdrop": __version__, "OpenSearch": RELEASES[HYBRID_RELEASE].version}
    written = records.keep if options.write else records.made
    print(served_table(written("served", found, versions, quick=options.quick)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
