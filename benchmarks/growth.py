"""Growth: query time, memory and size by chunks and tenants, on both indexes, with the exponents of the fits.

    python -m benchmarks.growth [--quick] [--write] [--part NAME ...]

Every index of a part is there from the beginning, and the questions go to them in turns, so that what else the machine
does is in all of them alike.  A part that is not run keeps its figures.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import linear_regression, median, quantiles
from typing import Any

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.generated_chunks import DIMENSION, batches, questions, soon
from benchmarks.live_stack import cpu_s_of
from benchmarks.peers.process import pid_of
from benchmarks.pipeline import MAX_COPIES_BYTES
from benchmarks.plots import draw
from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import read_manifest
from localstack.opensearch import start, stop
from ragdrop.domain.chunks import CandidateQuery
from ragdrop.domain.tenants import IndexRef
from ragdrop.ports.indexes import ChunkIndex
from ragdrop.resilience.breakers import Retries
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.folder_object_store import FolderManifests, FolderObjectStore

BLOCK = 5  # questions asked in a row before the next index has its turn
TEN_TIMES, OTHERS = 1.5, 1.10  # p50 with ten times the chunks; with other tenants' data (issue 10, goal 6)
TITLES = {"bucket": "The bucket index", "opensearch": "OpenSearch"}
GROWING = {"p50_ms": "p50", "p95_ms": "p95", "own_cpu_ms": "CPU here", "index_cpu_ms": "CPU of the node"}
PACKAGES = ("tantivy", "simsimd", "opensearch-py")
MERGE_S = 900
PEAK = "import sys; from benchmarks.growth import peak_mb; print(peak_mb(*sys.argv[1:]))"


class BucketEngine:
    """A state bucket in a folder; an index is a tenant's segments."""

    name = "bucket"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state, self._index = _opened(folder)
        self.index: ChunkIndex = self._index

    def ref(self, name: str, tenant: str) -> IndexRef:
        return IndexRef(tenant, f"bucket-growth-{name}", DIMENSION)

    def settle(self, ref: IndexRef) -> None:
        while self._index.merge(ref, soon()):
            pass

    def cpu_s(self) -> float:
        return 0.0

    def size_bytes(self, ref: IndexRef) -> int:
        present = read_manifest(FolderManifests(self._state.folder).read(ref.tenant, ref.name))
        return sum(each.size_bytes for each in present.segments)

    def memory_mb(self, ref: IndexRef) -> dict[str, float]:
        """The peak of a new process that asks 20 questions, mapped pages of the segments included."""
        command = [sys.executable, "-c", PEAK, str(self._folder), ref.tenant, ref.name]
        return {"process": float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)}  # noqa: S603


class NodeEngine:
    """An OpenSearch node on this machine."""

    name = "opensearch"

    def __init__(self, url: str) -> None:
        self.index: ChunkIndex = OpenSearchChunkIndex.from_url(url, retries=Retries())
        self._client = OpenSearch(url, timeout=MERGE_S)
        self._pid = pid_of(url) or 0

    @property
    def version(self) -> str:
        return str(self._client.info()["version"]["number"])

    def ref(self, name: str, tenant: str) -> IndexRef:
        return IndexRef(tenant, f"ragdrop-v1-growth-{name}-1", DIMENSION)

    def settle(self, ref: IndexRef) -> None:
        self._client.indices.forcemerge(index=ref.name, max_num_segments=1)
        self._client.indices.refresh(index=ref.name)

    def cpu_s(self) -> float:
        """Of the node's process; the node's own statistics of it are up to a second old."""
        return cpu_s_of(self._pid)

    def size_bytes(self, ref: IndexRef) -> int:
        reported = self._client.indices.stats(index=ref.name)["_all"]["primaries"]
        return int(reported["store"]["size_in_bytes"])

    def memory_mb(self, ref: IndexRef) -> dict[str, float]:
        """Heap in use; the index itself is in the file system's cache."""
        del ref
        memory = self._node()["jvm"]["mem"]
        return {"heap": memory["heap_used_in_bytes"] / 1e6}

    def _node(self) -> Any:
        return next(iter(self._client.nodes.stats(metric="jvm")["nodes"].values()))


Engine = BucketEngine | NodeEngine


@contextmanager
def bucket() -> Iterator[BucketEngine]:
    """A state bucket in a folder that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-growth-") as folder:
        yield BucketEngine(Path(folder))


@contextmanager
def opensearch() -> Iterator[NodeEngine]:
    """A separate node, with the half gigabyte of heap that the laptop's has, removed in the end."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-growth-") as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        node = start(Path(folder))
        try:
            yield NodeEngine(node.url)
        finally:
            stop(node)


def _opened(folder: Path) -> tuple[FolderObjectStore, BucketChunkIndex]:
    state = FolderObjectStore(folder / "state")
    return state, BucketChunkIndex(state, FolderManifests(state.folder), folder / "copies", max_bytes=MAX_COPIES_BYTES)


def peak_mb(folder: str, tenant: str, name: str) -> float:
    """Megabytes that this process has taken at most, when it has asked 20 questions."""
    _, index = _opened(Path(folder))
    for question in questions(20, random.Random(11)):
        index.candidates(IndexRef(tenant, name, DIMENSION), [question], soon())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


ENGINES: dict[str, Callable[[], AbstractContextManager[Engine]]] = {"bucket": bucket, "opensearch": opensearch}
KINDS: dict[str, Callable[[Engine, Extent], dict[str, Any]]] = {
    "sizes": lambda engine, extent: measure_sizes(engine, extent.sizes, extent.rounds),
    "tenants": lambda engine, extent: measure_tenants(engine, extent.tenants, extent.tenant_chunks, extent.rounds),
}
PARTS = [f"{engine}-{kind}" for engine in ENGINES for kind in KINDS]


@dataclass
class Taken:
    """What questions to one index took."""

    wall_ms: list[float] = field(default_factory=list)
    own_cpu_s: float = 0.0
    index_cpu_s: float = 0.0

    def figures(self) -> dict[str, float]:
        asked = len(self.wall_ms)
        return {
            "p50_ms": round(median(self.wall_ms), 2),
            "p95_ms": round(quantiles(self.wall_ms, n=20)[18], 2),
            "own_cpu_ms": round(1_000 * self.own_cpu_s / asked, 2),
            "index_cpu_ms": round(1_000 * self.index_cpu_s / asked, 2),
        }


def fill(engine: Engine, ref: IndexRef, count: int, *, seed: int) -> float:
    """Write *count* chunks of the tenant of *ref*, to be settled; seconds of writing without making the chunks."""
    spent_s = 0.0
    for batch in batches(ref.tenant, count, random.Random(seed)):
        began = time.perf_counter()
        engine.index.upsert(ref, batch, soon())
        spent_s += time.perf_counter() - began
    return spent_s


def ask(engine: Engine, refs: Mapping[str, IndexRef], rounds: int) -> dict[str, dict[str, float]]:
    """The same questions to every index, some in a row, then the next index, their order changing; by name."""
    asked = questions(rounds, random.Random(5))
    for ref in refs.values():  # all of them once before anything counts: a node compiles what it runs often
        _ask(engine, ref, asked, Taken())
    taken = {name: Taken() for name in refs}
    names = list(refs)
    for first in range(0, rounds, BLOCK):
        for name in names:
            _ask(engine, refs[name], asked[first : min(first + BLOCK, rounds)], taken[name])
        names.append(names.pop(0))
    return {name: each.figures() for name, each in taken.items()}


def _ask(engine: Engine, ref: IndexRef, asked: Sequence[CandidateQuery], taken: Taken) -> None:
    index_cpu_s, own_cpu_s = engine.cpu_s(), time.process_time()
    for question in asked:
        began = time.perf_counter()
        engine.index.candidates(ref, [question], soon())
        taken.wall_ms.append((time.perf_counter() - began) * 1_000)
    taken.own_cpu_s += time.process_time() - own_cpu_s
    taken.index_cpu_s += engine.cpu_s() - index_cpu_s


def measure_sizes(engine: Engine, sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Figures by number of chunks, as text, for JSON has no other keys."""
    refs = {str(size): engine.ref(str(size), "acme") for size in sizes}
    found: dict[str, dict[str, Any]] = {}
    for name, ref in refs.items():
        written_s = fill(engine, ref, int(name), seed=int(name))
        engine.settle(ref)
        found[name] = {
            "written_a_second": round(int(name) / written_s),
            "memory_mb": {kind: round(mb) for kind, mb in engine.memory_mb(ref).items()},
        }
    for name, figures in ask(engine, refs, rounds).items():
        found[name] |= figures | {"bytes_a_chunk": round(engine.size_bytes(refs[name]) / int(name))}
    return found


def measure_tenants(engine: Engine, tenants: Sequence[int], chunks: int, rounds: int) -> dict[str, Any]:
    """Figures of the first tenant's questions by number of tenants, each with *chunks* chunks."""
    refs = {}
    for count in tenants:
        name = f"shared-{count}"
        for number in range(count):
            ref = engine.ref(name, f"tenant-{number}")
            fill(engine, ref, chunks, seed=number)
        refs[str(count)] = engine.ref(name, "tenant-0")
        engine.settle(refs[str(count)])
    return {"chunks_a_tenant": chunks} | ask(engine, refs, rounds)


def exponent(costs: Mapping[int, float]) -> float:
    """The exponent of the power law that fits costs by size best: 0 does not grow, 1 grows as the size does.

    >>> round(exponent({10: 3.0, 100: 30.0, 1000: 300.0}), 6)
    1.0
    """
    slope, _ = linear_regression([log(size) for size in costs], [log(cost) for cost in costs.values()])
    return slope


def tables(found: dict[str, Any]) -> str:
    blocks = [_sizes(found[f"{name}-sizes"], name) for name in TITLES if f"{name}-sizes" in found]
    blocks += [block for block in (_tenants(found),) if block]
    short = missed_growth(found)
    if {"opensearch-sizes", "opensearch-tenants"} <= set(found):
        blocks.append(f"**Missed**: {'; '.join(short)}." if short else "No budget of growth is missed.")
    return "\n\n".join(blocks)


def missed_growth(found: dict[str, Any]) -> list[str]:
    lines = []
    for (small, one), (large, other) in pairwise(found.get("opensearch-sizes", {}).items()):
        if (ratio := other["p50_ms"] / one["p50_ms"]) > TEN_TIMES and int(small) >= 10_000:
            lines.append(
                f"p50 at {int(large):,} chunks is {ratio:.2f} x that at {int(small):,}, {TEN_TIMES} is allowed"
            )
    for count, ratio in others(found.get("opensearch-tenants", {})).items():
        if ratio > OTHERS:
            lines.append(f"with {count} tenants p50 is {ratio:.2f} x that of one alone, {OTHERS} is allowed")
    return lines


def others(tenants: dict[str, Any]) -> dict[str, float]:
    """By number of tenants the p50 of one beside all others, as a multiple of the smallest number's; empty if none."""
    counts = _counts(tenants)
    return {count: tenants[count]["p50_ms"] / tenants[counts[0]]["p50_ms"] for count in counts[1:]}


def _counts(found: dict[str, Any]) -> list[str]:
    return sorted((key for key in found if key.isdigit()), key=int)


def _of(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: found[f"{name}-{kind}"] for name in TITLES if f"{name}-{kind}" in found}


def _sizes(measured: dict[str, Any], name: str) -> str:
    sizes = {int(size): measured[size] for size in _counts(measured)}
    kinds = {key: kind for key, kind in GROWING.items() if all(each[key] for each in sizes.values())}
    heads = (f"{TITLES[name]}: chunks", *(f"{kind}, ms" for kind in kinds.values()), "memory, MB", "bytes a chunk")
    rows = [
        (
            f"{size:,}",
            *(f"{each[key]:.1f}" for key in kinds),
            ", ".join(f"{kind} {mb:,}" for kind, mb in each["memory_mb"].items()),
            f"{each['bytes_a_chunk']:,}",
            f"{each['written_a_second']:,}",
        )
        for size, each in sizes.items()
    ]
    few, many = list(sizes)[-2:]
    ratios = (f"{sizes[many][key] / sizes[few][key]:.2f} x" for key in kinds)
    fits = (f"{exponent({size: each[key] for size, each in sizes.items()}):.2f}" for key in kinds)
    rows += [(f"{many:,} / {few:,}", *ratios, "", "", ""), ("exponent of the fit", *fits, "", "", "")]
    return records.markdown((*heads, "written a second"), rows)


def _tenants(found: dict[str, Any]) -> str:
    rows = [
        (
            *(name, count, f"{tenants['chunks_a_tenant']:,}"),
            *(f"{tenants[count][key]:.1f}" for key in ("p50_ms", "p95_ms")),
            f"{others(tenants)[count]:.2f}" if count in others(tenants) else "",
        )
        for name, tenants in _of(found, "tenants").items()
        for count in _counts(tenants)
    ]
    heads = ("index", "tenants", "chunks of each", "p50, ms", "p95, ms", "p50 / one tenant alone")
    return records.markdown(heads, rows) if rows else ""


@dataclass(frozen=True)
class Extent:
    """How far one run goes."""

    sizes: tuple[int, ...]
    tenants: tuple[int, ...]
    tenant_chunks: int
    rounds: int


WHOLE = Extent((1_000, 10_000, 100_000), (1, 10, 100), 200, 100)
QUICK = Extent((300, 1_000, 3_000), (1, 10), 100, 20)


def main() -> int:
    """Measure, print, and keep if asked to; 1 where a whole run misses a budget."""
    parser = records.parser(__doc__, quick="small sizes, a minute")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one; default: all")
    options = parser.parse_args()
    found = _measured(options.part or list(PARTS), quick=options.quick, write=options.write)
    print(tables(found))
    if options.write and not options.quick:
        draw("growth")
    short = missed_growth(found)
    for line in short:
        print(line, file=sys.stderr)
    return int(bool(short) and not options.quick)


def _measured(parts: Sequence[str], *, quick: bool, write: bool) -> dict[str, Any]:
    """What the parts found, each stored as soon as it is known, with what was stored of the others."""
    record = records.read("growth", records.QUICK if quick else records.WHOLE) if write else None
    stored = record.results if record else {}
    found: dict[str, Any] = {name: stored[name] for name in stored if name in {*PARTS, "server"}}
    again = {"server"}
    for part in _parts(parts, QUICK if quick else WHOLE):
        found |= part
        again |= part.keys()
        print(f"{', '.join(part)}: measured", file=sys.stderr, flush=True)
        if write:
            versions = {name: version(name) for name in PACKAGES} | {"OpenSearch": found.get("server", "not measured")}
            older = record.left(again, record.results) if record else {}
            records.keep("growth", found, versions, quick=quick, older=older)
    return found


def _parts(required: Sequence[str], extent: Extent) -> Iterator[dict[str, Any]]:
    """The requested parts one by one; those of one engine on one opening of it."""
    for name, opened in ENGINES.items():
        kinds = [kind for kind in KINDS if f"{name}-{kind}" in required]
        if not kinds:
            continue
        with opened() as engine:
            for kind in kinds:
                yield {f"{name}-{kind}": KINDS[kind](engine, extent)}
            if isinstance(engine, NodeEngine):
                yield {"server": engine.version}


if __name__ == "__main__":
    sys.exit(main())
