"""Searches a second at saturation: the query function beside LlamaIndex and Haystack behind their own servers.

    python -m benchmarks.served [--write] [--quick] [--chunks N]

Each server is one process under uvicorn, over one node and one embedding server.  In turns each is asked by one caller
and by eight, who ask again as soon as they have an answer.
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.embeddings import documents, embedding_server, questions
from benchmarks.live_stack import cpu_s_of
from benchmarks.load import percentile
from benchmarks.peers.process import Contender, pid_of, running, shared_node
from benchmarks.peers_speed import BUCKET_PROGRAM, EMBEDDING_S, LIMIT, fill
from benchmarks.records import BenchmarkRecord
from localstack.opensearch.assembly import HYBRID_RELEASE, RELEASES
from ragdrop import __version__

OWN = "ragdrop"
CALLERS = (1, 8)
ROUNDS, TURN_S, WARM_S, QUICK_TURN_S = 3, 5.0, 2.0, 1.0
QUESTIONS = 40_000  # more than can be asked
ASK_TIMEOUT_S = 30.0
OK = 200
CONTENDERS: dict[str, tuple[str, list[str] | None, str]] = {  # title -> its module, its program, its configuration
    "ragdrop, function": ("ragdrop", None, "search"),
    "ragdrop, function, bucket index": ("ragdrop", BUCKET_PROGRAM, "search"),
    "LlamaIndex, uvicorn": ("llama_index", None, "hybrid"),
    "Haystack, Hayhooks": ("haystack", None, "hybrid"),
}


def turn_figures(turns: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of turns (`ms` of each search, `wall_s`, `cpu_s`, `node_cpu_s`) the figures of a row.

    Searches a second and of a core are medians of the turns; percentiles are of all searches.

    Raises:
        ValueError: A turn has no search.

    >>> turn = {"ms": [10.0, 20.0], "wall_s": 1.0, "cpu_s": 0.01, "node_cpu_s": 0.04}
    >>> turn_figures([turn])["a_second"], turn_figures([turn])["a_second_a_core"]
    (2.0, 200.0)
    """
    if not all(each["ms"] for each in turns):
        raise ValueError("a turn has no search")
    every = [one for each in turns for one in each["ms"]]
    return {
        "searches": len(every),
        "a_second": statistics.median(len(each["ms"]) / each["wall_s"] for each in turns),
        "a_second_a_core": statistics.median(len(each["ms"]) / each["cpu_s"] for each in turns),
        "cpu_ms": 1_000 * sum(each["cpu_s"] for each in turns) / len(every),
        "node_cpu_ms": 1_000 * sum(each["node_cpu_s"] for each in turns) / len(every),
        "p50_ms": percentile(every, 0.5),
        "p95_ms": percentile(every, 0.95),
    }


def served_table(record: BenchmarkRecord) -> str:
    found = record.results
    parts = []
    for callers, rows in found["callers"].items():
        who = "1 caller" if callers == "1" else f"{callers} callers"
        figures = "searches a second a core | CPU | node's CPU | searches a second | p50 | p95"
        lines = [f"| {found['chunks']:,} chunks, {who} | {figures} |", "|---|" + "---|" * 6]
        for called, row in rows.items():
            cells = [f"{row['a_second_a_core']:.0f}"]
            cells += [f"{row[name]:.1f}" for name in ("cpu_ms", "node_cpu_ms", "a_second", "p50_ms", "p95_ms")]
            lines.append(f"| {called} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def slowest_own_and_best_other(found: Mapping[str, Any]) -> tuple[tuple[str, float], tuple[str, float]]:
    """At most callers: the slower of ragdrop's and the faster of the others, each with its searches a second a core.

    >>> rows = {"ragdrop, a": 90.0, "ragdrop, b": 80.0, "X": 50.0, "Y": 60.0}
    >>> slowest_own_and_best_other({"callers": {"8": {name: {"a_second_a_core": n} for name, n in rows.items()}}})
    (('ragdrop, b', 80.0), ('Y', 60.0))
    """
    rows = found["callers"][max(found["callers"], key=int)]
    rates = {called: row["a_second_a_core"] for called, row in rows.items()}
    own = min((name for name in rates if name.startswith(OWN)), key=rates.__getitem__)
    other = max((name for name in rates if not name.startswith(OWN)), key=rates.__getitem__)
    return (own, rates[own]), (other, rates[other])


@dataclass(frozen=True)
class ServedContender:
    """One that answers at *url*."""

    contender: Contender
    url: str

    def cpu_s(self) -> float:
        return float(self.contender.peer.ask("spent")["cpu_s"])


def opened(stack: ExitStack, count: int, node: str, embeddings: str) -> Iterator[tuple[str, ServedContender]]:
    sources = list(documents(count))
    for called, (name, program, configuration) in CONTENDERS.items():
        contender = stack.enter_context(
            running(
                name, opensearch_url=node, embedding_url=embeddings, label=f"served {called} {count}", command=program
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
                reported = asked_for(one.url, turn_s, callers, asked)
                reported |= {"cpu_s": one.cpu_s() - before_s, "node_cpu_s": cpu_s_of(pid) - node_before_s}
                turns[callers].setdefault(called, []).append(reported)
    figures = {
        str(callers): {called: turn_figures(reported[called]) for called in CONTENDERS}
        for callers, reported in turns.items()
    }
    return {"chunks": count, "callers": figures}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = records.parser(__doc__, quick="1,000 chunks and a second a turn")
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
