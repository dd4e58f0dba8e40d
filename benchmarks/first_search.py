"""The first search of a new environment, by chunks and dimensions: how long, how many bytes, how exact; then warm.

    python -m benchmarks.first_search [--write] [--cell CHUNKSxDIMENSION ...] [--folder FOLDER]

Each cell is an index of segments as merges leave them, read at S3's pace (75 MB/s, 20 ms a request) by environments
that have nothing, then by one that has copies.  Without --cell those of 10,000, 100,000 and 1,000,000 chunks at 384 and
1,536 dimensions are measured, which takes an hour or more and 20 GB of disk.  A cell that is in FOLDER is not made
again, and stays.  Vectors of cells are made; recall is measured over real ones too, those in the cache of embeddings.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks import records
from benchmarks.bucket_process import MAX_BYTES, RATE, REQUEST_S, WORDS, nearest, number_of, part_of_corpus, soon, unit
from benchmarks.collections import RETRIEVAL, data_folder, load
from benchmarks.embeddings import MODEL, EmbeddingsCache, cache_folder
from benchmarks.generated_chunks import CENTRES, LIMIT, near
from benchmarks.records import Grid, publish
from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import MAX_MERGED_CHUNKS, Manifest, read_manifest
from bucketindex.ranges import WAITS_S
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, IndexedChunk, Vector
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.errors import ObjectStoreError
from testing.folder_object_store import FolderManifests, FolderObjectStore, PacedObjectStore

CELLS = [f"{chunks}x{dimension}" for dimension in (384, 1_536) for chunks in (10_000, 100_000, 1_000_000)]
FIRST, WARM, COMPARED, REAL_ASKED = 5, 100, 20, 200  # environments; questions: warm, compared, and of real vectors
COMPARED_NUMBERS = 400_000_000  # of all vectors: of a larger cell recall is not measured
REAL = 100_000  # vectors at most
FIRST_MS = {384: 900.0, 1_536: 3_000.0}
FIRST_BYTES, WARM_MS, GROWTH, RECALL = 10e6, 45.0, 4.0, 0.99
NEVER, ALWAYS = 1 << 62, -1  # bytes of copies that a search does not wait for
PACKAGES = ("tantivy", "simsimd")
REQUESTS, PREFIX_RATE, PREFIXES = 700, 5_500, (1, 5, 12)  # of a first search; of S3, a second; prefixes simulated


@dataclass(frozen=True)
class Cell:
    """One index of the table."""

    chunks: int
    dimension: int

    @classmethod
    def named(cls, name: str) -> Cell:
        """The cell of a name.

        >>> Cell.named("10000x384")
        Cell(chunks=10000, dimension=384)
        """
        chunks, dimension = name.split("x")
        return cls(int(chunks), int(dimension))

    @property
    def ref(self) -> IndexRef:
        return IndexRef("bench", f"bucket-first-{self.dimension}", self.dimension)

    def vector(self, source: random.Random) -> Vector:
        """A vector near one of a thousand centres, made of as many times 384 numbers as the dimension has."""
        number = source.randrange(CENTRES)
        return array("f", [at for _ in range(self.dimension // 384) for at in near(number, source)])

    def questions(self, count: int) -> list[CandidateQuery]:
        """Three words, none of them rare, and a vector."""
        source = random.Random(7)
        return [
            CandidateQuery(
                " ".join(WORDS[source.randrange(100, 5_000)] for _ in range(3)), self.vector(source), Filters(), LIMIT
            )
            for _ in range(count)
        ]


class LeftStore(PacedObjectStore):
    """A paced folder that can be left: copies that are being made of it end then."""

    left = False

    def __init__(self, folder: Path, *, bytes_a_second: float, request_s: float) -> None:
        super().__init__(folder, bytes_a_second=bytes_a_second, request_s=request_s)
        self.by_range: list[int] = []  # bytes of each request that a search by range made, and no copy

    def get(self, key: str, *, version_id: str | None = None, start: int = 0, end: int | None = None) -> bytes | None:
        if self.left:
            raise ObjectStoreError("the environment is gone", service="object_store", retryable=False)
        body = super().get(key, version_id=version_id, start=start, end=end)
        if threading.current_thread().name.startswith("ranges"):
            self.by_range.append(len(body or b""))
        return body


def index_over(state: FolderObjectStore, copies: Path, far_bytes: int) -> BucketChunkIndex:
    return BucketChunkIndex(state, FolderManifests(state.folder), copies, max_bytes=MAX_BYTES, far_bytes=far_bytes)


def manifest(folder: Path, cell: Cell) -> Manifest:
    return read_manifest(FolderManifests(folder).read(cell.ref.tenant, cell.ref.name))


def fill(folder: Path, cell: Cell, first: int) -> dict[str, float]:
    """Write the segment from chunk *first* on as merges leave it, and its vectors at length 1."""
    numbers = range(first, min(first + MAX_MERGED_CHUNKS, cell.chunks))
    with tempfile.TemporaryDirectory(dir=folder) as copies, (folder / f"{first:08d}.f32").open("wb") as floats:
        index = index_over(FolderObjectStore(folder), Path(copies), NEVER)
        made = part_of_corpus(numbers, 500, cell.vector, random.Random(first))
        pieces = [piece for batch in made for piece in batch]
        for piece in pieces:
            unit(piece.vector).tofile(floats)
        began = time.perf_counter()
        index.upsert(cell.ref, pieces, soon())
        taken_s = time.perf_counter() - began
    return {"written_s": taken_s, "writer_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024}


def ask_first(folder: Path, cell: Cell) -> dict[str, Any]:
    """Environments that have nothing ask a question each, then another one before there are copies."""
    asked = cell.questions(2 * FIRST)
    first_ms, later_ms, cpu_ms, fetched, requests = [], [], [], [], []
    for question, other in zip(asked[:FIRST], asked[FIRST:], strict=True):
        store = LeftStore(folder, bytes_a_second=RATE, request_s=REQUEST_S)
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as copies:
            index = index_over(store, Path(copies), 16 << 20)
            cpu_s, began = time.process_time(), time.perf_counter()
            index.candidates(cell.ref, [question], soon())
            first_ms.append((time.perf_counter() - began) * 1_000)
            cpu_ms.append((time.process_time() - cpu_s) * 1_000)
            fetched.append(sum(store.by_range) or store.bytes_read)
            requests.append(len(store.by_range) or store.requests)
            began = time.perf_counter()
            index.candidates(cell.ref, [other], soon())
            later_ms.append((time.perf_counter() - began) * 1_000)
            store.left = True
            time.sleep(0.2)  # until what is being copied has ended
    return {
        "first_ms": median(first_ms),
        "first_most_ms": max(first_ms),
        "first_cpu_ms": median(cpu_ms),
        "first_bytes": max(fetched),
        "first_requests": max(requests),
        "second_ms": median(later_ms),
    }


def ask_warm(folder: Path, cell: Cell) -> dict[str, Any]:
    """One environment that has copies; which chunks it finds by vector, and which one finds that reads by range."""
    asked = cell.questions(WARM)
    figures: dict[str, Any] = {"load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(dir=folder) as copies:
        index = index_over(FolderObjectStore(folder), Path(copies), NEVER)
        for each in asked[: WARM // 2]:
            index.candidates(cell.ref, [each], soon())
        wall_ms, cpu_ms = [], []
        for each in asked:
            began, cpu_s = time.perf_counter(), time.process_time()
            index.candidates(cell.ref, [each], soon())
            wall_ms.append((time.perf_counter() - began) * 1_000)
            cpu_ms.append((time.process_time() - cpu_s) * 1_000)
        figures |= {"warm_ms": median(wall_ms), "warm_p95_ms": quantiles(wall_ms, n=20)[18], "cpu_ms": median(cpu_ms)}
        figures["reader_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        lone = [CandidateQuery(None, each.vector, each.filters, each.limit) for each in asked[:COMPARED]]
        figures["found"] = [_numbers(index, cell.ref, each) for each in lone]
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as copies:
        figures["found_by_range"] = _by_range(folder, Path(copies), cell.ref, lone)
    return figures


def _by_range(folder: Path, copies: Path, ref: IndexRef, asked: Sequence[CandidateQuery]) -> list[list[int]]:
    store = LeftStore(folder, bytes_a_second=1e12, request_s=0.0)
    index = index_over(store, copies, ALWAYS)
    found = [_numbers(index, ref, each) for each in asked]
    store.left = True
    time.sleep(0.2)
    return found


def _numbers(index: BucketChunkIndex, ref: IndexRef, query: CandidateQuery) -> list[int]:
    [found] = index.candidates(ref, [query], soon())
    return [number_of(hit) for hit in found.vector]


def measured(cell: Cell, folder: Path) -> dict[str, Any]:
    """The figures of one cell, which is made in *folder* unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{cell.chunks}x{cell.dimension}"
    for first in range(0, cell.chunks, MAX_MERGED_CHUNKS):
        if not (folder / f"{first:08d}.f32").exists():
            _process("fill", folder, name, first)
    live = manifest(folder, cell).segments
    figures: dict[str, Any] = {"segments": len(live)}
    figures["bytes_a_chunk"] = sum(each.size_bytes for each in live) / cell.chunks
    figures |= _process("first", folder, name) | _process("warm", folder, name)
    found, by_range = figures.pop("found"), figures.pop("found_by_range")
    if cell.chunks * cell.dimension <= COMPARED_NUMBERS:
        exact = nearest([each.vector or array("f") for each in cell.questions(COMPARED)], _rows(folder, cell), LIMIT)
        figures |= {"recall": share(found, exact), "recall_by_range": share(by_range, exact)}
    return figures


def _rows(folder: Path, cell: Cell) -> Iterator[bytes]:
    for path in sorted(folder.glob("*.f32")):
        with path.open("rb") as file:
            while row := file.read(4 * cell.dimension):
                yield row


def share(found: Sequence[Sequence[int]], exact: Sequence[Sequence[int]]) -> float:
    """How many of the *exact* ones were found.

    >>> share([[1, 2], [3]], [[1, 4], [3, 5]])
    0.5
    """
    return sum(len(set(one) & set(other)) for one, other in zip(found, exact, strict=True)) / sum(map(len, exact))


def _process(*arguments: object) -> Any:
    command = [sys.executable, "-m", "benchmarks.first_search", *map(str, arguments)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603


def real() -> dict[str, float]:
    """Recall over vectors of texts that the local model embedded for other benchmarks; nothing without their cache.

    The questions are those of the collections.  A text that was asked as a question is left out.
    """
    folder = data_folder()
    stored = cache_folder() / "embeddings.db"
    if folder is None or not stored.exists():
        return {}
    cache = EmbeddingsCache(MODEL)
    texts = [text for name in RETRIEVAL for text in load(folder / name).questions.values()]
    required = list(cache.get(texts).values())
    cache.close()
    random.Random(1).shuffle(required)
    required = required[:REAL_ASKED]
    vectors = list(islice(_cached(stored, {each.tobytes() for each in required}), REAL))
    ref = IndexRef("bench", "bucket-first-real", 384)
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-", ignore_cleanup_errors=True) as place:
        index = index_over(FolderObjectStore(Path(place)), Path(place) / "copies", NEVER)
        index.upsert(ref, [_piece(number, each) for number, each in enumerate(vectors)], soon())
        asked = [CandidateQuery(None, each, Filters(), LIMIT) for each in required]
        exact = nearest(required, (unit(each).tobytes() for each in vectors), LIMIT)
        found = {"copies": [_numbers(index, ref, each) for each in asked]}
        found["range"] = _by_range(Path(place), Path(place) / "none", ref, asked)
    return {"vectors": len(vectors), "questions": len(asked)} | {
        name: share(numbers, exact) for name, numbers in found.items()
    }


def _cached(path: Path, without: set[bytes]) -> Iterator[Vector]:
    """The different vectors of a cache of embeddings."""
    seen = set(without)
    file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    for (body,) in file.execute("SELECT vector FROM embeddings"):
        if len(body) == 4 * 384 and body not in seen:
            seen.add(body)
            yield array("f", body)
    file.close()


def _piece(number: int, values: Vector) -> IndexedChunk:
    document, ordinal = divmod(number, 10)
    key = DocumentKey("bench", "v", f"f/{document}.md")
    facts = Facts(f"Document {document}", "v1", "2026-01-01T00:00:00Z")
    return IndexedChunk(key, 1, Chunk(ordinal, 0, 1, "words"), facts, values)


def storm(environments: int, prefixes: int) -> float:
    """The share of searches that fail where so many environments begin in one second, over *prefixes* of S3.

    Simulated in hundredths of a second: each environment sends its requests, all prefixes alike, within half a second.
    A prefix answers 5,500 a second and refuses the others, which are asked again as `RangeReader` does.

    >>> storm(10, 1), storm(100, 12)
    (0.0, 0.0)
    """
    source = random.Random(environments)
    due: dict[int, list[tuple[int, int, int]]] = {}  # by hundredth: the environment, the prefix, how often it was tried
    for environment in range(environments):
        begins = source.randrange(100)
        for request in range(REQUESTS):
            due.setdefault(begins + source.randrange(50), []).append((environment, request % prefixes, 0))
    failed = set[int]()
    while due:
        now = min(due)
        arrived, taken = due.pop(now), [0] * prefixes
        source.shuffle(arrived)
        for environment, prefix, tried in arrived:
            if taken[prefix] < PREFIX_RATE // 100:
                taken[prefix] += 1
            elif tried == len(WAITS_S):
                failed.add(environment)
            else:
                later = now + 1 + int(source.uniform(0.0, 100 * WAITS_S[tried]))
                due.setdefault(later, []).append((environment, prefix, tried + 1))
    return len(failed) / environments


def storms() -> Grid:
    """How many environments may begin at once, by how many prefixes S3 has divided the segments into."""
    rows = [
        (f"{environments}", *(f"{100 * storm(environments, prefixes):.0f} %" for prefixes in PREFIXES))
        for environments in (5, 10, 20, 50, 100, 200)
    ]
    heads = ("environments that begin within a second", *(f"{prefixes} prefixes, failed" for prefixes in PREFIXES))
    return Grid(heads, rows, f"Simulated: {REQUESTS} requests each, {PREFIX_RATE:,} a second and prefix.")


def goals(found: Mapping[str, Mapping[str, Any]], of_model: Mapping[str, float]) -> Grid:
    """What was required and what is seen."""
    rows: list[tuple[str, ...]] = []

    def add(what: str, goal: str, seen: str, *, met: bool) -> None:
        rows.append((what, goal, seen if met else f"**{seen}**", "yes" if met else "no"))

    for name, each in found.items():
        cell = Cell.named(name)
        if cell.chunks < 1_000_000:
            continue
        what, limit_ms = f"{cell.chunks:,} chunks, {cell.dimension:,} dimensions", FIRST_MS[cell.dimension]
        seen = f"{each['first_ms']:,.0f} ms"
        add(f"first search, {what}", f"{limit_ms:,.0f} ms", seen, met=each["first_ms"] <= limit_ms)
        if cell.dimension == 384:
            met = each["first_bytes"] <= FIRST_BYTES
            add(f"fetched by it, {what}", "10 MB", f"{each['first_bytes'] / 1e6:.1f} MB", met=met)
            met = each["warm_ms"] <= WARM_MS
            add(f"hybrid p50, warm, {what}", f"{WARM_MS:.0f} ms", f"{each['warm_ms']:.1f} ms", met=met)
        with suppress(KeyError):
            growth = each["warm_ms"] / found[f"10000x{cell.dimension}"]["warm_ms"]
            add(f"p50 beside 10,000 chunks, {what}", f"{GROWTH:.0f} x", f"{growth:.1f} x", met=growth <= GROWTH)
    for name, kind in (("copies", "of copies"), ("range", "of a first search")):
        if of_model:
            what = f"recall@{LIMIT} {kind}, {of_model['vectors']:,} vectors of the local model"
            add(what, f"{RECALL}", f"{of_model[name]:.4f}", met=of_model[name] >= RECALL)
    return Grid(("what", "goal", "seen", "met"), rows)


def table(found: Mapping[str, Mapping[str, Any]]) -> Grid:
    heads = ["chunks", "dimensions", "segments", "bytes a chunk", "first search, ms", "its CPU, ms", "fetched, MB"]
    heads += ["requests", "second search, ms", "warm p50, ms", "p95, ms", "CPU, ms", "recall: first, warm"]
    rows = []
    for name, each in found.items():
        cell = Cell.named(name)
        recall = f"{each['recall_by_range']:.3f}, {each['recall']:.3f}" if "recall" in each else ""
        figures = ("first_ms", "first_cpu_ms", "first_bytes", "first_requests", "second_ms")
        scale = {"first_bytes": 1e6}
        shown = [f"{each[figure] / scale.get(figure, 1):,.1f}".removesuffix(".0") for figure in figures]
        warm = [f"{each[figure]:.1f}" for figure in ("warm_ms", "warm_p95_ms", "cpu_ms")]
        beginning = (f"{cell.chunks:,}", f"{cell.dimension:,}", str(each["segments"]), f"{each['bytes_a_chunk']:,.0f}")
        rows.append([*beginning, *shown, *warm, recall])
    loads = ", ".join(f"{each['load']:.0f}" for each in found.values())
    return Grid(heads, rows, f"Processes that waited for one of the cores meanwhile (load average): {loads}.")


def main(arguments: Sequence[str]) -> None:
    if arguments and arguments[0] in PARTS:
        kind, folder, name, *rest = arguments
        print(json.dumps(PARTS[kind](Path(folder), Cell.named(name), *map(int, rest))))
        return
    parser = records.parser(__doc__)
    parser.add_argument("--cell", action="append", help="only this one; default: all")
    parser.add_argument("--folder", type=Path, help="where cells are made and stay; default: they are removed")
    options = parser.parse_args(arguments)
    found: dict[str, Mapping[str, Any]] = {}
    for name in options.cell or CELLS:
        with tempfile.TemporaryDirectory(prefix="ragdrop-bench-", ignore_cleanup_errors=True) as place:
            found[name] = measured(Cell.named(name), (options.folder or Path(place)) / name)
        print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)
    of_model = real()
    publish("first_search", [goals(found, of_model), table(found), storms()], *PACKAGES, write=options.write)


PARTS: Mapping[str, Any] = {"fill": fill, "first": ask_first, "warm": ask_warm}


if __name__ == "__main__":
    main(sys.argv[1:])
