"""The processes of benchmarks/bucket_index.py: a folder as state bucket, the corpus, writing, reading, exact search.

python -m benchmarks.bucket_process write FOLDER SIZE VECTORS WORDS
python -m benchmarks.bucket_process read FOLDER VECTORS SECONDS
"""

from __future__ import annotations

import heapq
import json
import math
import os
import random
import resource
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import simsimd

from benchmarks.generated_chunks import CENTRES, CHUNKS_A_DOCUMENT, DIMENSION, LIMIT, WORDS_A_CHUNK, near
from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import Manifest, read_manifest
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, Folder, Hit, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from testing.folder_object_store import FolderManifests, FolderObjectStore, PacedObjectStore

AT_ONCE = 4_096  # rows that are compared by one call
TENANT, INDEX = "bench", "bucket-bench"
REF = IndexRef(TENANT, INDEX, DIMENSION)
WORDS = [f"word{number}" for number in range(20_000)]
FREQUENCIES = [1.0 / (number + 1) for number in range(len(WORDS))]  # Zipf's law, as in real text
MAX_BYTES = 8 << 30
FILTERS = {
    "none": Filters(),
    "1 of 10 vaults": Filters(vaults=("v3",)),
    "1 of 100 folders": Filters(folders=(Folder("f7"),)),
    "1 of 7 tags": Filters(tags=("t3",)),
}
MakeVector = Callable[[random.Random], Vector]
BATCH = 500  # chunks of one call: what a batch of messages comes to
RATE, REQUEST_S = 75e6, 0.020  # of S3, as one function reads it
QUESTIONS, COMPARED = 60, 40  # asked, and of those compared with an exact search
FLOATS = "vectors.f32"  # in the folder: every vector at length 1, as an exact search reads it


def unit(values: Vector) -> array[float]:
    length = math.hypot(*values)
    return array("f", [number / length for number in values])


def nearest(required: Sequence[Vector], rows: Iterable[bytes], limit: int) -> list[list[int]]:
    """For each vector the numbers of the *limit* rows with the largest cosine, best first.

    *rows* are vectors at length 1, each as the bytes of its 32-bit floats.

    >>> made = [unit(array("f", each)).tobytes() for each in ([1, 0], [1, 1], [0, 1])]
    >>> nearest([array("f", [2.0, 1.0])], made, 2)
    [[1, 0]]
    """
    size = len(required[0])
    asked = memoryview(b"".join(unit(each).tobytes() for each in required)).cast("f", shape=[len(required), size])
    best: list[list[tuple[float, int]]] = [[] for _ in required]
    first = 0
    left = iter(rows)
    while block := list(islice(left, AT_ONCE)):
        shaped = memoryview(b"".join(block)).cast("f", shape=[len(block), size])
        found: Any = simsimd.cdist(asked, shaped, "dot")
        cosines = memoryview(found).cast("B").cast("d")
        for at, present in enumerate(best):
            own = cosines[at * len(block) : (at + 1) * len(block)].tolist()
            present += [(cosine, -(first + number)) for number, cosine in enumerate(own)]
            best[at] = heapq.nlargest(limit, present)
        first += len(block)
    return [[-number for _, number in present] for present in best]


def clustered(source: random.Random) -> Vector:
    return near(source.randrange(CENTRES), source)


def uniform(source: random.Random) -> Vector:
    """A vector of any direction: the worst that a model could give."""
    return vector(byte - 127.5 for byte in source.randbytes(DIMENSION))


def soon() -> Deadline:
    return Deadline.after(900.0)


def index_over(state: FolderObjectStore, folder: Path) -> BucketChunkIndex:
    """The index whose objects are *state*'s; its copies go into *folder*."""
    return BucketChunkIndex(state, FolderManifests(state.folder), folder, max_bytes=MAX_BYTES)


def corpus(size: int, batch: int, vectors: MakeVector, *, words: int = WORDS_A_CHUNK) -> Iterator[list[IndexedChunk]]:
    """*size* chunks of documents of ten, *batch* at a time, with ten vaults, a hundred folders and seven tags.

    A chunk has *words* words on average, half as many at least.
    """
    yield from part_of_corpus(range(size), batch, vectors, random.Random(size), words=words)


def part_of_corpus(
    numbers: range, batch: int, vectors: MakeVector, source: random.Random, *, words: int = WORDS_A_CHUNK
) -> Iterator[list[IndexedChunk]]:
    """The chunks of these *numbers*, which begin and end with a document."""
    for first in range(numbers.start, numbers.stop, batch):
        count = min(batch, numbers.stop - first)
        lengths = [source.randint(words // 2, words + words // 2) for _ in range(count)]
        drawn = iter(source.choices(WORDS, FREQUENCIES, k=sum(lengths)))
        texts = [" ".join(islice(drawn, length)) for length in lengths]
        yield [_piece(first + at, text, vectors(source)) for at, text in enumerate(texts)]


def _piece(number: int, text: str, values: Vector) -> IndexedChunk:
    document, ordinal = divmod(number, CHUNKS_A_DOCUMENT)
    key = DocumentKey(TENANT, f"v{document % 10}", f"f{document % 100}/{document}.md")
    facts = Facts(f"Document {document}", "v1", "2026-01-01T00:00:00Z", tags=(f"t{document % 7}",))
    start = ordinal * len(text)
    return IndexedChunk(key, 1, Chunk(ordinal, start, start + len(text), text, ("Notes",)), facts, values)


def number_of(hit: Hit) -> int:
    document = int(hit.key.path.partition("/")[2].removesuffix(".md"))
    return document * CHUNKS_A_DOCUMENT + hit.chunk.ordinal


def questions(count: int, vectors: MakeVector, filters: Filters = FILTERS["none"]) -> list[CandidateQuery]:
    """Questions of three words, of which none is rare, and a vector."""
    source = random.Random(7)
    return [
        CandidateQuery(
            " ".join(f"word{source.randrange(100, 5_000)}" for _ in range(3)), vectors(source), filters, LIMIT
        )
        for _ in range(count)
    ]


def write(folder: Path, size: int, vectors: str, words: int) -> dict[str, float]:
    """Fill the index as ingest does, merging whenever it says that one is due."""
    state = FolderObjectStore(folder)
    upsert_s = merge_s = 0.0
    merged_chunks = merges = most = 0
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as copies, (folder / FLOATS).open("wb") as floats:
        index = index_over(state, Path(copies))
        for batch in corpus(size, BATCH, VECTORS[vectors], words=words):
            for piece in batch:
                floats.write(unit(piece.vector).tobytes())
            began = time.perf_counter()
            index.upsert(REF, batch, soon())
            upsert_s += time.perf_counter() - began
            before = manifest(state)
            most = max(most, len(before.segments))
            if not index.merge_is_due(REF):
                continue
            began = time.perf_counter()
            index.merge(REF, soon())
            merge_s += time.perf_counter() - began
            live = {each.name for each in manifest(state).segments}
            merged_chunks += sum(each.chunks for each in before.segments if each.name not in live)
            merges += 1
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    after = manifest(state)
    return {
        "chunks": after.chunks,
        "segments": len(after.segments),
        "most_segments": most,
        "bytes_a_chunk": sum(each.size_bytes for each in after.segments) / after.chunks,
        "core_bytes_a_chunk": sum(each.core_bytes for each in after.segments) / after.chunks,
        "written_a_second": size / upsert_s,
        "merges": merges,
        "merged_a_second": merged_chunks / merge_s if merge_s else 0.0,
        "written_times": (size + merged_chunks) / size,
        "writer_mb": peak_mb,
    }


def manifest(state: FolderObjectStore) -> Manifest:
    return read_manifest(FolderManifests(state.folder).read(REF.tenant, REF.name))


def read(folder: Path, vectors: str, limit_s: float) -> dict[str, Any]:
    """Ask with nothing local, then warm, under each filter; *limit_s* bounds each series of questions."""
    store = PacedObjectStore(folder, bytes_a_second=RATE, request_s=REQUEST_S)
    asked = questions(QUESTIONS, VECTORS[vectors])
    figures: dict[str, Any] = {"load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as copies:
        index, cpu_s, began = index_over(store, Path(copies)), time.process_time(), time.perf_counter()
        index.candidates(REF, asked[:1], soon())
        figures["cold_ms"] = (time.perf_counter() - began) * 1_000
        figures["cold_cpu_ms"] = (time.process_time() - cpu_s) * 1_000
        figures |= {"cold_bytes": store.bytes_read, "cold_requests": store.requests}
        warm = index_over(FolderObjectStore(folder), Path(copies))
        hybrid = {
            name: _taken(warm, questions(QUESTIONS, VECTORS[vectors], each), limit_s) for name, each in FILTERS.items()
        }
        lone = {
            "lexical only": [CandidateQuery(each.text, None, each.filters, each.limit) for each in asked],
            "vector alone": [CandidateQuery(None, each.vector, each.filters, each.limit) for each in asked],
        }
        figures["warm"] = hybrid | {name: _taken(warm, each, limit_s) for name, each in lone.items()}
        figures["reader_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        figures["found"] = [_numbers(warm, each) for each in lone["vector alone"][:COMPARED]]
    return figures


def _taken(index: BucketChunkIndex, asked: Sequence[CandidateQuery], limit_s: float) -> dict[str, float]:
    """Milliseconds a question, every one asked once before it counts, if the time allows."""
    until_s = time.perf_counter() + limit_s
    for each in asked[: len(asked) // 2]:
        index.candidates(REF, [each], soon())
        if time.perf_counter() > until_s:
            break
    wall_ms, cpu_ms = [], []
    until_s = time.perf_counter() + limit_s
    for each in asked:
        began, cpu_s = time.perf_counter(), time.process_time()
        index.candidates(REF, [each], soon())
        wall_ms.append((time.perf_counter() - began) * 1_000)
        cpu_ms.append((time.process_time() - cpu_s) * 1_000)
        if time.perf_counter() > until_s and len(wall_ms) > 4:
            break
    return {"p50_ms": median(wall_ms), "p95_ms": quantiles(wall_ms, n=20)[18], "cpu_ms": median(cpu_ms)}


def _numbers(index: BucketChunkIndex, query: CandidateQuery) -> list[int]:
    [found] = index.candidates(REF, [query], soon())
    return [number_of(hit) for hit in found.vector]


VECTORS = {"clustered": clustered, "uniform": uniform}


def main(arguments: Sequence[str]) -> None:
    kind, folder, *rest = arguments
    if kind == "write":
        size, vectors, words = rest
        figures: dict[str, Any] = write(Path(folder), int(size), vectors, int(words))
    else:
        vectors, limit_s = rest
        figures = read(Path(folder), vectors, float(limit_s))
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
