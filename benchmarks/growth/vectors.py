"""How long the nearest of a million vectors take without an approximate index: float32, and 8-bit with signs first.

The statements are the embedded index's and the snapshot's own, over their own tables, which hold vectors alone here: a
million chunks with their texts would take a quarter of an hour to write and 5 GB.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.generated_chunks import DIMENSION
from ragdrop.domain.chunks import vector
from ragdrop.stores.sqlite.files import SqliteFiles
from ragdrop.stores.sqlite.vectors import FLOAT32, INT8, VectorFormat

LIMIT, ASKED, FORMATS = 30, 7, (FLOAT32, INT8)
TABLE = "CREATE TABLE vectors (number INTEGER PRIMARY KEY, id TEXT NOT NULL, vector BLOB NOT NULL);"
INSERT = "INSERT INTO vectors VALUES (?, ?, ?)"
SIGNS = "INSERT INTO signs SELECT number, vec_quantize_binary(vec_int8(vector)) FROM vectors"
POOL = 4_000_000  # random numbers that vectors are windows of: making a million times 384 would take minutes


def rows(count: int, format_: VectorFormat, source: random.Random) -> Iterator[tuple[int, str, bytes]]:
    """Vectors of even noise, each a window of one long row of numbers; no two are equal."""
    noise = source.randbytes(POOL)
    numbers = noise if format_ is INT8 else array("f", [(byte - 127.5) / 127.5 for byte in noise]).tobytes()
    width = 1 if format_ is INT8 else 4
    for number in range(count):
        at = (number * 397) % (POOL - DIMENSION)  # a prime step: each window begins somewhere else
        yield number, str(number), numbers[at * width : (at + DIMENSION) * width]


def measure_one(name: str, count: int) -> dict[str, Any]:
    """Figures of one format at one size; its memory is this process's."""
    [format_] = [each for each in FORMATS if each.name == name]
    with tempfile.TemporaryDirectory(prefix="ragdrop-growth-") as folder:
        path = Path(folder) / "vectors.db"
        connection = SqliteFiles(Path(folder)).connect(path, create=True)
        connection.execute(f"PRAGMA page_size = 8192; {TABLE} CREATE TABLE chunks (number INTEGER); {format_.schema}")
        with connection:
            connection.executemany(INSERT, rows(count, format_, random.Random(1)))
            if format_ is INT8:
                connection.execute(SIGNS)
        wanted = vector(random.Random(2).gauss(0, 1) for _ in range(DIMENSION))
        bound: dict[str, Any] = {"vector": format_.encode(wanted), "limit": LIMIT}
        taken = []
        for _ in range(ASKED + 1):
            began = time.perf_counter()
            assert len(connection.execute(format_.nearest(""), bound).fetchall()) == LIMIT
            taken.append((time.perf_counter() - began) * 1_000)
        connection.close()
        return {
            "p50_ms": round(median(taken[1:]), 1),
            "first_ms": round(taken[0], 1),
            "file_mb": round(path.stat().st_size / 1e6),
            "process_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024),
        }


def measure(sizes: Sequence[int]) -> dict[str, Any]:
    """Figures by format and size, each in a process of its own."""
    found: dict[str, Any] = {}
    for format_ in FORMATS:
        for size in sizes:
            command = [sys.executable, "-m", "benchmarks.growth.vectors", format_.name, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own module
            found.setdefault(format_.name, {})[str(size)] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measure_one(sys.argv[1], int(sys.argv[2]))))
