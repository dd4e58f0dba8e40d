"""The reading half of benchmarks/snapshot.py: a new process fetches a snapshot and searches it, and prints figures."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import boto3

from ragdrop.domain.chunks import CandidateQuery, ChunkRange, Filters, Hit, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.tenants import IndexRef
from ragdrop.stores.s3.object_store import S3ObjectStore
from ragdrop.stores.sqlite.files import SqliteFiles
from ragdrop.stores.sqlite.snapshot_index import SnapshotIndex
from ragdrop.stores.sqlite.vectors import INT8

TENANT, INDEX, BUCKET, DIMENSION, CENTRES = "bench", "ragdrop-bench", "state", 384, 1_000
REF = IndexRef(TENANT, INDEX, DIMENSION)
LIMIT, QUESTIONS, COMPARED = 30, 40, 12
SPREAD = 0.8  # of the noise around a centre: neighbours then have cosines of some 0.6, as a model's have
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "eu-central-1"}


@cache
def centre(number: int) -> list[float]:
    """One of the directions that vectors gather around, of length about 1."""
    source = random.Random(number)
    return [source.gauss(0.0, DIMENSION**-0.5) for _ in range(DIMENSION)]


def near(number: int, source: random.Random) -> Vector:
    """A vector near centre *number*."""
    scale = SPREAD * DIMENSION**-0.5 / 73.6  # the spread of an even distribution over 0 to 255
    return vector(
        [at + scale * (byte - 127.5) for at, byte in zip(centre(number), source.randbytes(DIMENSION), strict=True)]
    )


def questions() -> list[CandidateQuery]:
    """What is asked: three words, of which none is rare, and a vector near some centre."""
    source = random.Random(7)
    asked = []
    for _ in range(QUESTIONS):
        words = " ".join(f"word{source.randrange(100, 5_000)}" for _ in range(3))
        wanted = near(source.randrange(CENTRES), source)
        asked.append(CandidateQuery(words, wanted, Filters(), LIMIT))
    return asked


def measure(url: str) -> dict[str, float]:
    """Fetch the snapshot from the S3 at *url*, search it, and compare with an exact search; milliseconds."""
    state = S3ObjectStore(BUCKET, boto3.client("s3", endpoint_url=url, **CREDENTIALS))
    asked, figures = questions(), dict[str, float]()
    state.head("warm")  # the connection: a function has one, as it reads its parsed texts by it
    with tempfile.TemporaryDirectory() as folder:
        index = SnapshotIndex(state, Path(folder), clock=time.time, refresh_s=3_600)
        figures["load_before"] = os.getloadavg()[0]
        began = time.perf_counter()
        index.current(TENANT, Deadline.after(60))
        figures["fetched_ms"] = _ms(began)
        index.candidates(REF, asked[:1], Deadline.after(60))
        figures["cold_ms"] = _ms(began)
        kinds: dict[str, Callable[[CandidateQuery], CandidateQuery]] = {
            "hybrid": lambda one: one,
            "words": lambda one: CandidateQuery(one.text, None, one.filters, LIMIT),
            "vectors": lambda one: CandidateQuery(None, one.vector, one.filters, LIMIT),
        }
        found: list[Sequence[Hit]] = []
        for name, kind in kinds.items():
            taken = []
            for one in asked:
                began = time.perf_counter()
                [hits] = index.candidates(REF, [kind(one)], Deadline.after(60))
                taken.append(_ms(began))
                found += [hits.vector] if name == "vectors" else []
            figures |= {f"{name}_p50_ms": median(taken), f"{name}_p95_ms": quantiles(taken, n=20)[18]}
        began = time.perf_counter()
        ranges = [ChunkRange(hit.key, hit.revision, 0, 10) for hit in found[0][:5]]
        index.read(REF, ranges, Deadline.after(60))
        figures["texts_ms"] = _ms(began)
        figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
        figures["recall"] = _recall(Path(folder), asked, found)
    return figures


def _recall(folder: Path, asked: Sequence[CandidateQuery], found: Sequence[Sequence[Hit]]) -> float:
    """The share of the truly nearest by these 8-bit vectors that the search found."""
    [path] = folder.glob("*/*.db")
    connection = SqliteFiles(folder).connect(path)
    shares = []
    for one, hits in list(zip(asked, found, strict=True))[:COMPARED]:
        exact = f"SELECT id, {INT8.cosine} AS score FROM vectors ORDER BY score DESC, id LIMIT {LIMIT}"  # noqa: S608
        wanted = {"vector": INT8.encode(one.vector)} if one.vector else {}
        truly = {row[0] for row in connection.execute(exact, wanted)}
        shares.append(len(truly & {hit.chunk_id for hit in hits}) / LIMIT)
    connection.close()
    return sum(shares) / len(shares)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1_000


def read_in_own_process(url: str) -> dict[str, Any]:
    """The figures of a new process."""
    command = [sys.executable, "-m", "benchmarks.snapshot_reading", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own module
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
