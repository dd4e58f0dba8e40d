"""How fast and how exact the bucket index is, and what it takes: the goals of issue 21.

    python -m benchmarks.bucket_index [--write] [--chunks N ...]     # 10,000 and 100,000
    python -m benchmarks.bucket_index --million [--write]            # 1,000,000 too: some hours

Writing and reading are separate processes over a folder, which the first query reads at S3's pace.  Recall is compared
with an exact search, where RAGDROP_EVAL_DATA names collections over vectors of the local model too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import records
from benchmarks.bucket_process import COMPARED, FILTERS, FLOATS, QUESTIONS, VECTORS, nearest, questions, unit
from benchmarks.collections import RETRIEVAL, data_folder, index_ref, indexed_chunks, load
from benchmarks.embeddings import LocalEmbeddings
from benchmarks.generated_chunks import DIMENSION, LIMIT, WORDS_A_CHUNK
from benchmarks.pipeline import bucket_index
from benchmarks.records import Grid, publish
from pages.cost_index import bucket_month
from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.deadlines import Deadline

USUAL, MILLION = (10_000, 100_000), (10_000, 100_000, 1_000_000)
MOST_UNIFORM = 100_000  # chunks of the worst case: a million would only be slower
FEW_WORDS = 8  # of a chunk where vectors alone are asked for
SERIES_S = 60.0  # one series of questions at most
P50_MS = {10_000: 3.0, 100_000: 8.0, 1_000_000: 45.0}
COLD_MS = {100_000: 1_200.0, 1_000_000: 4_000.0}
RECALL, BYTES_A_CHUNK, IDLE_USD = 0.99, 2_500.0, 0.10
PACKAGES = ("tantivy", "simsimd")
ROW_BYTES = 4 * DIMENSION
Row = tuple[str, ...]


@dataclass
class Figures:
    """What was measured, by size; `recall` by kind of vectors and size."""

    written: dict[int, dict[str, float]] = field(default_factory=dict)
    asked: dict[int, dict[str, Any]] = field(default_factory=dict)
    recall: dict[tuple[str, int], float] = field(default_factory=dict)


def measure(sizes: Sequence[int]) -> Figures:
    found = Figures()
    for size in sizes:
        found.written[size], found.asked[size] = _measured(size, "clustered", WORDS_A_CHUNK)
        found.recall["around 1,000 centres", size] = found.asked[size].pop("recall")
        print(f"{size:,} chunks: measured", file=sys.stderr, flush=True)
    for size in sizes:
        if size <= MOST_UNIFORM:
            found.recall["of any direction", size] = _measured(size, "uniform", FEW_WORDS)[1]["recall"]
            print(f"{size:,} chunks of any direction: measured", file=sys.stderr, flush=True)
    return found


def _measured(size: int, vectors: str, words: int) -> tuple[dict[str, float], dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        written: dict[str, float] = _process("write", folder, size, vectors, words)
        asked = _process("read", folder, vectors, SERIES_S)
        required = [
            each.vector for each in questions(QUESTIONS, VECTORS[vectors])[:COMPARED] if each.vector is not None
        ]
        exact = nearest(required, _rows(Path(folder) / FLOATS), LIMIT)
        asked["recall"] = _share(asked.pop("found"), exact)
        return written, asked


def _process(*arguments: object) -> Any:
    command = [sys.executable, "-m", "benchmarks.bucket_process", *map(str, arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603


def _rows(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while row := file.read(ROW_BYTES):
            yield row


def _share(found: Sequence[Sequence[int]], exact: Sequence[Sequence[int]]) -> float:
    return sum(len(set(one) & set(other)) for one, other in zip(found, exact, strict=True)) / sum(map(len, exact))


def of_local_model() -> dict[tuple[str, int], float]:
    """Recall over each collection, the questions its own; nothing without the data."""
    folder = data_folder()
    found: dict[tuple[str, int], float] = {}
    if folder is None:
        return found
    with LocalEmbeddings() as model:
        for name in RETRIEVAL:
            collection = load(folder / name)
            chunks = indexed_chunks(collection, model)
            required = model.embed(list(collection.questions.values()))
            ids = [each.id for each in chunks]
            exact = nearest(required, (unit(each.vector).tobytes() for each in chunks), LIMIT)
            with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as copies:
                index, ref = bucket_index(Path(copies)), index_ref("bench")
                index.upsert(ref, chunks, Deadline.after(900.0))
                queries = [CandidateQuery(None, vector, Filters(), LIMIT) for vector in required]
                hits = [index.candidates(ref, [each], Deadline.after(60.0))[0].vector for each in queries]
            places = {id_: place for place, id_ in enumerate(ids)}
            numbers = [[places[hit.chunk_id] for hit in each] for each in hits]
            found[f"of the local model, {name}", len(chunks)] = _share(numbers, exact)
            print(f"{name}: recall measured", file=sys.stderr, flush=True)
    return found


def goals(found: Figures) -> Grid:
    """What was required and what is seen; what this benchmark cannot see is not in it."""
    rows: list[Row] = []

    def add(what: str, goal: str, seen: str, *, met: bool) -> None:
        rows.append((what, goal, seen if met else f"**{seen}**", "yes" if met else "no"))

    for size, asked in found.asked.items():
        hybrid = asked["warm"]["none"]
        if size in P50_MS:
            goal = P50_MS[size]
            seen = f"{hybrid['p50_ms']:.1f} ms, CPU {hybrid['cpu_ms']:.1f} ms"
            add(f"candidates p50, {size:,} chunks, warm", f"{goal:.0f} ms", seen, met=hybrid["p50_ms"] <= goal)
        if size in COLD_MS:
            seen = f"{asked['cold_ms']:,.0f} ms"
            met = asked["cold_ms"] <= COLD_MS[size]
            add(f"first query with nothing local, {size:,} chunks", f"{COLD_MS[size]:,.0f} ms", seen, met=met)
    for (kind, size), share in found.recall.items():
        add(f"recall@30, {size:,} vectors {kind}", f"{RECALL}", f"{share:.4f}", met=share >= RECALL)
    for size, written in found.written.items():
        met = written["bytes_a_chunk"] <= BYTES_A_CHUNK
        seen = f"{written['bytes_a_chunk']:,.0f}"
        add(f"bytes in the bucket a chunk, {size:,} chunks", f"{BYTES_A_CHUNK:,.0f}", seen, met=met)
    idle = sum(bucket_month(100_000, 0).values())
    add("idle cost, 100,000 chunks, computed", f"{IDLE_USD:.2f} USD a month", f"{idle:.3f} USD", met=idle <= IDLE_USD)
    return Grid(("what", "goal", "seen", "met"), rows)


def searched(found: Figures) -> Grid:
    rows = [
        (
            f"{size:,}",
            f"hybrid, filter: {name}" if name in FILTERS else name,
            *(f"{each[kind]:.1f}" for kind in ("p50_ms", "p95_ms", "cpu_ms")),
        )
        for size, asked in found.asked.items()
        for name, each in asked["warm"].items()
    ]
    loads = ", ".join(f"{asked['load']:.0f}" for asked in found.asked.values())
    note = (
        f"{LIMIT} hits of each retriever. Processes that waited for one of the cores meanwhile (load average): {loads}."
    )
    return Grid(("chunks", "asked", "p50, ms", "p95, ms", "CPU, ms"), rows, note)


def shown(found: Mapping[int, Mapping[str, Any]], figures: Mapping[str, Callable[[Any], str]], note: str = "") -> Grid:
    """A row a size with the *figures* of each, by their columns."""
    rows = [(f"{size:,}", *(figure(each) for figure in figures.values())) for size, each in found.items()]
    return Grid(("chunks", *figures), rows, note)


FETCHED: Mapping[str, Callable[[Any], str]] = {
    "first query, ms": lambda each: f"{each['cold_ms']:,.0f}",
    "its CPU, ms": lambda each: f"{each['cold_cpu_ms']:,.0f}",
    "fetched, MB": lambda each: f"{each['cold_bytes'] / 1e6:,.0f}",
    "at 75 MB/s alone, ms": lambda each: f"{each['cold_bytes'] / 75e3:,.0f}",
    "requests": lambda each: f"{each['cold_requests']:,}",
    "peak memory of the reader, MB": lambda each: f"{each['reader_mb']:,.0f}",
}
FILLED: Mapping[str, Callable[[Any], str]] = {
    "segments in the end, at most": lambda each: f"{each['segments']:.0f}, {each['most_segments']:.0f}",
    "bytes a chunk": lambda each: f"{each['bytes_a_chunk']:,.0f}",
    "of them fetched first": lambda each: f"{each['core_bytes_a_chunk']:,.0f}",
    "written a second": lambda each: f"{each['written_a_second']:,.0f}",
    "merged a second": lambda each: f"{each['merged_a_second']:,.0f}",
    "times that each is written": lambda each: f"{each['written_times']:.1f}",
    "peak memory of the writer, MB": lambda each: f"{each['writer_mb']:,.0f}",
}
FILLED_NOTE = "500 chunks a segment, merged whenever a merge is due."


def main() -> None:
    parser = records.parser(__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", metavar="N", help="these sizes alone")
    parser.add_argument("--million", action="store_true", help="1,000,000 chunks too")
    options = parser.parse_args()
    if options.chunks and (options.write or options.million):
        parser.error("a record is of the usual sizes: --chunks goes alone")
    found = measure(options.chunks or (MILLION if options.million else USUAL))
    found.recall |= of_local_model()
    grids = [goals(found), searched(found), shown(found.asked, FETCHED), shown(found.written, FILLED, FILLED_NOTE)]
    publish("bucket_index", grids, *PACKAGES, write=options.write)


if __name__ == "__main__":
    main()
