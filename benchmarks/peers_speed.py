"""How long a question takes beside other frameworks, and beside the raw calls that ragdrop cannot do without.

    python -m benchmarks.peers_speed [--write] [--quick] [--full] [--chunks N ...]

10,000 generated documents of one chunk each (`--quick`: 1,000; `--full`: 100,000 besides; `--chunks`: these, and a kept
record keeps its other sizes), one OpenSearch node whose
indexes are merged to one segment, one embedding server that answers after 5 milliseconds; all warm, asked in turns in
one run, ten documents a question.  Times are of the caller; CPU is of the caller's process alone, not the node's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.peers.contenders import CONFIGURATIONS, Contender, running, title
from benchmarks.peers.embeddings import embedding_server
from benchmarks.peers.generated import documents, questions
from benchmarks.peers.node import shared_node
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.serving import in_batches
from benchmarks.peers_speed_table import speed_table
from localstack.opensearch.releases import HYBRID_RELEASE, RELEASES
from ragdrop import __version__

EMBEDDING_S = 0.005  # what a question takes with the local default model (docs/performance.md)
LIMIT = 10
OWN = {  # title by configuration of benchmarks/peers/ragdrop_peer.py, in the order in which they have to be asked
    "search": "ragdrop, in process",
    "default": "ragdrop, all defaults",
    "function": "ragdrop, function",
    "calls": "its calls again, raw",
    "candidates": "embedding and one `_msearch`, raw",
}
OWN_BUCKET = {"search": "ragdrop, bucket index", "function": "ragdrop, function, bucket index"}
OWN_PROGRAM = [sys.executable, "-m", "benchmarks.peers.ragdrop_peer"]
BUCKET_PROGRAM = [sys.executable, "-m", "benchmarks.peers.bucket_peer"]
QUESTIONS, QUICK_QUESTIONS, WARM_UP, IN_TURN, CALLERS = 200, 60, 20, 20, 8
ADD_AT_ONCE = 5_000
WHOLE = {"txtai"}  # filled by one call: it chooses its kind of index by the first, and each further one takes longer


Ask = Callable[[Sequence[str], int], dict[str, Any]]
"""Questions and callers -> answers and times."""


def contenders(stack: ExitStack, count: int, node: str, embeddings: str) -> Iterator[tuple[str, Ask]]:
    """Everybody by title, filled with *count* documents."""
    sources = list(documents(count))
    own, bucket, *others = [
        stack.enter_context(
            running(name, opensearch_url=node, embedding_url=embeddings, label=f"speed {count}", command=program)
        )
        for name, program in (
            ("ragdrop", OWN_PROGRAM),
            ("ragdrop-bucket", BUCKET_PROGRAM),
            *((name, None) for name in CONFIGURATIONS),
        )
    ]
    for contender, ways in ((own, OWN), (bucket, OWN_BUCKET)):
        contender.switch("search")
        fill(contender.peer, sources)
        for configuration, called in ways.items():
            yield called, asker(contender, configuration)
    for contender, (name, configurations) in zip(others, CONFIGURATIONS.items(), strict=True):
        contender.switch(configurations[0])
        fill(contender.peer, sources)
        yield title(name, configurations[0]), asker(contender)


def asker(contender: Contender, configuration: str | None = None) -> Ask:
    """Asks a contender, switched to *configuration* first where one is given."""

    def ask(asked: Sequence[str], callers: int) -> dict[str, Any]:
        if configuration is not None:
            contender.switch(configuration)
        return contender.peer.ask("search", queries=list(asked), limit=LIMIT, callers=callers)

    return ask


def fill(peer: PeerProcess, sources: list[dict[str, str]]) -> None:
    """Add the documents; every one has to be one chunk, so that all search the same number."""
    chunks, wall_s, cpu_s = 0, 0.0, 0.0
    for batch in in_batches(sources, len(sources) if peer.name in WHOLE else ADD_AT_ONCE):
        told = peer.ask("fill", documents=list(batch), timeout_s=3_600)
        chunks, wall_s, cpu_s = chunks + told["chunks"], wall_s + told["wall_s"], cpu_s + told["cpu_s"]
    if chunks != len(sources):
        print(f"{peer.name} made {chunks} chunks of {len(sources)} documents", file=sys.stderr)
    print(f"{peer.name}: filled in {wall_s:.0f} s, {cpu_s:.0f} s of them its own CPU", file=sys.stderr, flush=True)


def measure(count: int, asked: Sequence[str], node: str, embeddings: str) -> dict[str, Any]:
    """Percentiles of wall time and mean CPU time by callers and contender."""
    with ExitStack() as stack:
        everybody = dict(contenders(stack, count, node, embeddings))
        with OpenSearch(node, timeout=600) as client:
            client.indices.forcemerge(index="_all", max_num_segments=1)
            client.indices.refresh(index="_all")
        return {"chunks": count, "callers": in_turns(everybody, asked)}


def in_turns(everybody: Mapping[str, Ask], asked: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Figures by callers and contender; some questions go to each in turn, every second time in the other order."""
    taken: dict[str, dict[str, Any]] = {}
    for callers in (1, CALLERS):
        for ask in everybody.values():  # the raw calls are those that ragdrop sent for the same questions
            ask(asked if callers == 1 else asked[:WARM_UP], callers)
        samples: dict[str, dict[str, list[float]]] = {name: {"wall_ms": [], "cpu_ms": []} for name in everybody}
        for turn, batch in enumerate(in_batches(asked, IN_TURN)):
            order = list(everybody.items())
            for name, ask in order if turn % 2 else reversed(order):
                answer = ask(batch, callers)
                for kind, values in samples[name].items():
                    values.extend(answer[kind])
        taken[str(callers)] = {name: figures(**held) for name, held in samples.items()}
    return taken


def figures(wall_ms: Sequence[float], cpu_ms: Sequence[float]) -> dict[str, float]:
    """Milliseconds: p50, p95 and p99 of the wall time, mean of the CPU time.

    >>> figures([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 3.0])["cpu_ms"]
    1.5
    """
    cuts = statistics.quantiles(wall_ms, n=100, method="inclusive")
    return {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98], "cpu_ms": statistics.fmean(cpu_ms)}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the record")
    parser.add_argument("--quick", action="store_true", help="1,000 chunks and fewer questions")
    parser.add_argument("--full", action="store_true", help="100,000 chunks besides")
    parser.add_argument("--chunks", type=int, nargs="+", metavar="N", help="these sizes alone")
    options = parser.parse_args()
    counts = options.chunks or ([1_000] if options.quick else [10_000, *([100_000] if options.full else [])])
    asked = questions(QUICK_QUESTIONS if options.quick else QUESTIONS)
    kept = records.read("peers_speed") if options.chunks and not options.quick else None
    results = [each for each in (kept.results if kept else []) if each["chunks"] not in counts]
    older = kept.left([], [f"{each['chunks']:,} chunks" for each in results]) if kept else {}
    for count in counts:
        with shared_node() as node, embedding_server(EMBEDDING_S, generated=True, keeps=True) as embeddings:
            results.append(measure(count, asked, node, embeddings))
    versions = {"ragdrop": __version__, "OpenSearch": RELEASES[HYBRID_RELEASE].version}
    results.sort(key=lambda each: int(each["chunks"]))
    written = records.keep if options.write else records.made
    print(speed_table(written("peers_speed", results, versions, quick=options.quick, older=older)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
