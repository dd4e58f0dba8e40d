"""How long a question takes beside other frameworks, and beside the raw calls that ragdrop cannot do without.

    python -m benchmarks.peers_speed [--write] [--quick]
    python -m benchmarks.peers_speed --chunks 100000 1000000 [--write]     # hours; a separate record

All are asked in turns in one run.  A contender that is not filled in an hour is left out.  Times are of the caller;
`node_cpu_ms` and `embedding_cpu_ms` are of the node and of the embedding server during its turns.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.embeddings import documents, embedding_process, questions
from benchmarks.live_stack import usages
from benchmarks.peers.process import (
    CONFIGURATIONS,
    Contender,
    PeerError,
    PeerProcess,
    pid_of,
    running,
    shared_node,
    title,
)
from benchmarks.peers.serving import in_batches
from benchmarks.records import BenchmarkRecord
from localstack.opensearch.assembly import HYBRID_RELEASE, RELEASES
from ragdrop import __version__

OWN_TITLE = "ragdrop, in process"
OWN_BUCKET_TITLE = "ragdrop, bucket index"
OF_OTHERS = ("node_cpu_ms", "embedding_cpu_ms")
EMBEDDING_S = 0.005  # what a question takes with the local default model (docs/evidence/performance.md)
LIMIT = 10
OWN = {  # title by configuration of benchmarks/peers/ragdrop.py, in the order in which they have to be asked
    "search": "ragdrop, in process",
    "default": "ragdrop, all defaults",
    "function": "ragdrop, function",
    "calls": "its calls again, raw",
    "candidates": "embedding and one `_msearch`, raw",
}
OWN_BUCKET = {"search": OWN_BUCKET_TITLE, "function": "ragdrop, function, bucket index"}
BUCKET_PROGRAM = [sys.executable, "-m", "benchmarks.peers.ragdrop", "bucket"]
SAMPLED = ("wall_ms", "cpu_ms", "node_cpu_ms", "embedding_cpu_ms")
QUESTIONS, QUICK_QUESTIONS, WARM_UP, IN_TURN, CALLERS = 200, 60, 20, 20, 8
ADD_AT_ONCE = 5_000
WHOLE = {"txtai"}  # filled by one call: it chooses its kind of index by the first, and each further one takes longer
FILL_LIMIT_S = 3_600.0
MERGE_TIMEOUT_S = 14_400
LARGE = "peers_speed_large"
Ask = Callable[[Sequence[str], int], dict[str, Any]]
"""Questions and callers -> answers and times."""


def speed_table(record: BenchmarkRecord) -> str:
    """For each size a row a contender: p50, p95, p99 and CPU per question, with one caller and with several.

    CPU of all is that of the caller, of the node and of the embedding server, where these were measured.
    """
    parts = []
    for size in record.results:
        many = max(size["callers"], key=int)
        times = "p50 | p95 | p99 | CPU | CPU of all"
        head = f"| {size['chunks']:,} chunks | {times} | p50 as a share of ragdrop's | {many} callers: {times} |"
        lines = [head, "|---|" + "---|" * 11]
        own = size["callers"]["1"].get(OWN_TITLE)
        for name, one in size["callers"]["1"].items():
            share = f"{one['p50_ms'] / own['p50_ms']:.2f}" if own else ""
            cells = [*_cells(one), share, *_cells(size["callers"][many][name])]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        left_out = [f"{name} is left out: {why}." for name, why in size.get("left_out", {}).items()]
        parts += ["\n".join(lines), *left_out]
    return "\n\n".join(parts)


def _cells(one: Mapping[str, float]) -> list[str]:
    cells = [f"{one[kind]:.1f}" for kind in ("p50_ms", "p95_ms", "p99_ms", "cpu_ms")]
    return [*cells, "" if cpu_of_all(one) is None else f"{cpu_of_all(one):.1f}"]


def cpu_of_all(one: Mapping[str, float]) -> float | None:
    """Milliseconds of processor time of caller, node and embedding server; None where only the caller's is known."""
    return one["cpu_ms"] + sum(one[kind] for kind in OF_OTHERS) if all(kind in one for kind in OF_OTHERS) else None


@dataclass(frozen=True)
class Shared:
    """What all contenders share: the node, the embedding server, and their pids by name."""

    node: str
    embeddings: str
    pids: Mapping[str, int]

    def cpu_s(self) -> dict[str, float]:
        """Processor seconds so far of each and of what it started."""
        spent = dict.fromkeys(self.pids, 0.0)
        for each in usages(self.pids).values():
            spent[each.role] += each.cpu_s
        return spent


@dataclass
class Contest:
    """Who takes part: how each is asked by title, how long filling took, and why others are left out."""

    shared: Shared
    count: int
    asks: dict[str, Ask] = field(default_factory=dict)
    filled: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def enter(self, stack: ExitStack) -> None:
        sources = list(documents(self.count))
        self._add(stack, sources, "ragdrop", OWN, None)
        self._add(stack, sources, "ragdrop-bucket", OWN_BUCKET, BUCKET_PROGRAM)
        for name, configurations in CONFIGURATIONS.items():
            self._add(stack, sources, name, {configurations[0]: title(name, configurations[0])}, None)

    def _add(
        self,
        stack: ExitStack,
        sources: list[dict[str, str]],
        name: str,
        ways: Mapping[str, str],
        program: list[str] | None,
    ) -> None:
        first = next(iter(ways))
        try:
            with ExitStack() as alone:
                contender = alone.enter_context(
                    running(
                        name,
                        opensearch_url=self.shared.node,
                        embedding_url=self.shared.embeddings,
                        label=f"speed {self.count}",
                        command=program,
                    )
                )
                contender.switch(first)
                self.filled[name] = fill(contender.peer, sources)
                stack.push(alone.pop_all())
        except PeerError as exc:
            reason = str(exc).splitlines()[0]
            print(f"{name} is left out: {reason}", file=sys.stderr, flush=True)
            self.left_out |= dict.fromkeys(ways.values(), reason)
            return
        for configuration, called in ways.items():
            self.asks[called] = asker(contender, self.shared, configuration if len(ways) > 1 else None)


def asker(contender: Contender, shared: Shared, configuration: str | None) -> Ask:
    """Asks a contender, switched to *configuration* first where one is given."""

    def ask(asked: Sequence[str], callers: int) -> dict[str, Any]:
        if configuration is not None:
            contender.switch(configuration)
        before = shared.cpu_s()
        answer = contender.peer.ask("search", queries=list(asked), limit=LIMIT, callers=callers)
        for name, cpu_s in shared.cpu_s().items():
            answer[f"{name}_cpu_ms"] = [(cpu_s - before[name]) * 1_000 / len(asked)] * len(asked)
        return answer

    return ask


def fill(peer: PeerProcess, sources: list[dict[str, str]], limit_s: float = FILL_LIMIT_S) -> dict[str, float]:
    """Add the documents; every one has to be one chunk, so that all search the same number.

    Returns:
        Seconds of wall time and of processor time.

    Raises:
        PeerError: It did not add them, or not in *limit_s*.
    """
    chunks, wall_s, cpu_s = 0, 0.0, 0.0
    for batch in in_batches(sources, len(sources) if peer.name in WHOLE else ADD_AT_ONCE):
        if wall_s >= limit_s:
            raise PeerError(f"{peer.name} added {chunks:,} of {len(sources):,} documents in {wall_s:.0f} s")
        reported = peer.ask("fill", documents=list(batch), timeout_s=limit_s)
        chunks, wall_s, cpu_s = chunks + reported["chunks"], wall_s + reported["wall_s"], cpu_s + reported["cpu_s"]
    if chunks != len(sources):
        print(f"{peer.name} made {chunks} chunks of {len(sources)} documents", file=sys.stderr)
    print(f"{peer.name}: filled in {wall_s:.0f} s, {cpu_s:.0f} s of them its own CPU", file=sys.stderr, flush=True)
    return {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)}


def measure(count: int, asked: Sequence[str], shared: Shared) -> dict[str, Any]:
    """Percentiles of wall time and mean CPU time by callers and contender, and who was left out."""
    contest = Contest(shared, count)
    with ExitStack() as stack:
        contest.enter(stack)
        with OpenSearch(shared.node, timeout=MERGE_TIMEOUT_S) as client:
            client.indices.forcemerge(index="_all", max_num_segments=1)
            client.indices.refresh(index="_all")
        found = in_turns(contest.asks, asked)
        return {"chunks": count, "callers": found, "filled": contest.filled, "left_out": contest.left_out}


@contextmanager
def sharing() -> Iterator[Shared]:
    with shared_node() as node, embedding_process(EMBEDDING_S, generated=True, keeps=True) as (embeddings, pid):
        node_pid = pid_of(node)
        yield Shared(node, embeddings, {"embedding": pid} | ({"node": node_pid} if node_pid else {}))


def in_turns(everybody: Mapping[str, Ask], asked: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Figures by callers and contender; some questions go to each in turn, every second time in the other order."""
    taken: dict[str, dict[str, Any]] = {}
    for callers in (1, CALLERS):
        for ask in everybody.values():  # the raw calls are those that ragdrop sent for the same questions
            ask(asked if callers == 1 else asked[:WARM_UP], callers)
        samples: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in SAMPLED} for name in everybody}
        for turn, batch in enumerate(in_batches(asked, IN_TURN)):
            order = list(everybody.items())
            for name, ask in order if turn % 2 else reversed(order):
                answer = ask(batch, callers)
                for kind, values in samples[name].items():
                    values.extend(answer.get(kind, ()))
        taken[str(callers)] = {name: figures(**present) for name, present in samples.items()}
    return taken


def figures(wall_ms: Sequence[float], **cpu_ms: Sequence[float]) -> dict[str, float]:
    """Milliseconds: p50, p95 and p99 of the wall time, mean of each kind of CPU time that was measured.

    >>> figures([1.0, 2.0, 3.0, 4.0], cpu_ms=[1.0, 1.0, 1.0, 3.0], node_cpu_ms=[])
    {'p50_ms': 2.5, 'p95_ms': 3.85, 'p99_ms': 3.97, 'cpu_ms': 1.5}
    """
    cuts = statistics.quantiles(wall_ms, n=100, method="inclusive")
    means = {kind: statistics.fmean(values) for kind, values in cpu_ms.items() if values}
    return {"p50_ms": cuts[49], "p95_ms": cuts[94], "p99_ms": cuts[98]} | means


def main() -> int:
    parser = records.parser(__doc__, quick="1,000 chunks and fewer questions")
    parser.add_argument(
        "--chunks", type=int, nargs="+", metavar="N", help="these sizes alone, in a record of their own"
    )
    options = parser.parse_args()
    if options.quick and options.chunks:
        parser.error("--chunks goes without --quick")
    counts = options.chunks or [1_000 if options.quick else 10_000]
    asked = questions(QUICK_QUESTIONS if options.quick else QUESTIONS)
    stored = records.read(LARGE) if options.chunks else None
    results = [each for each in (stored.results if stored else []) if each["chunks"] not in counts]
    older = stored.left([], [f"{each['chunks']:,} chunks" for each in results]) if stored else {}
    for count in counts:
        with sharing() as shared:
            results.append(measure(count, asked, shared))
    versions = {"ragdrop": __version__, "OpenSearch": RELEASES[HYBRID_RELEASE].version}
    results.sort(key=lambda each: int(each["chunks"]))
    written = records.keep if options.write else records.made
    print(
        speed_table(
            written(LARGE if options.chunks else "peers_speed", results, versions, quick=options.quick, older=older)
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
