"""The halves of benchmarks/bucket_index.py that run in processes of their own, so that their memory is theirs alone.

    python -m benchmarks.bucket_process write FOLDER CHUNKS VECTORS WORDS
    python -m benchmarks.bucket_process read FOLDER VECTORS LIMIT_S

Each prints its figures as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.bucket_corpus import FILTERS, REF, clustered, corpus, index_over, number_of, questions, soon, uniform
from benchmarks.bucket_folder import FolderManifests, FolderObjectStore, PacedObjectStore
from benchmarks.exact_search import unit
from bucketindex.index import BucketChunkIndex
from bucketindex.manifest import Manifest, decoded
from ragdrop.domain.chunks import CandidateQuery

VECTORS = {"clustered": clustered, "uniform": uniform}
BATCH = 500  # chunks of one call: what a batch of messages comes to
RATE, REQUEST_S = 75e6, 0.020  # of S3, as one function reads it
QUESTIONS, COMPARED = 60, 40  # asked, and of those compared with an exact search
FLOATS = "vectors.f32"  # in the folder: every vector at length 1, as an exact search reads it


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
    """What is live."""
    return decoded(FolderManifests(state.folder).read(REF.tenant, REF.name))


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
            "words alone": [CandidateQuery(each.text, None, each.filters, each.limit) for each in asked],
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


def main(arguments: Sequence[str]) -> None:
    """Do one half."""
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
