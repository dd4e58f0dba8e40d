"""How fast the embedded index is: each figure against the bare SQLite call, and blobs against sqlite-vec's own table.

    python -m benchmarks.embedded_index [--write] [CHUNKS ...]      # 10,000 where no sizes are named
    python -m benchmarks.embedded_index --full [--write]            # 10,000 and 100,000

Medians in milliseconds of one run on one machine; only the ratios mean something elsewhere.  --write keeps the record.
"""

# ruff: noqa: S608 - the statements are constants of this file

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.grids import Grid, tell
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, Folder, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.stores.sqlite.chunk_index import SqliteChunkIndex
from ragdrop.stores.sqlite.files import SqliteFiles

DIMENSION, WORDS_A_CHUNK, CHUNKS_A_DOCUMENT, LIMIT, RUNS = 384, 150, 10, 30, 9
USUAL, FULL = (10_000,), (10_000, 100_000)
REF = IndexRef("bench", "ragdrop-bench", DIMENSION)
COLUMNS = (
    *("chunks", "filter", "adapter, ms", "bare call, ms", "ratio"),
    *("sqlite-vec's own table, ms", "words, ms"),
)
FILTERS = {
    "none": (Filters(), "1"),
    "1 of 10 vaults": (Filters(vaults=("v3",)), "vault = 'v3'"),
    "1 of 100 folders": (Filters(folders=(Folder("f7"),)), "path > 'f7/' AND path < 'f70'"),
    "1 of 7 tags": (Filters(tags=("t3",)), "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = 't3')"),
}


def deadline() -> Deadline:
    """Time enough for one call."""
    return Deadline.after(600.0)


def random_vector(source: random.Random) -> Vector:
    """A vector of any direction."""
    return vector(byte - 127.5 for byte in source.randbytes(DIMENSION))


def corpus(size: int, source: random.Random) -> Iterator[list[IndexedChunk]]:
    """Chunks of words that are as unequally frequent as those of a language (Zipf), a hundred at a time."""
    words = [f"word{number}" for number in range(20_000)]
    weights = [1.0 / (number + 1) for number in range(len(words))]
    for first in range(0, size, 100):
        drawn = source.choices(words, weights, k=100 * WORDS_A_CHUNK)
        batch = []
        for number in range(first, min(first + 100, size)):
            document, ordinal = divmod(number, CHUNKS_A_DOCUMENT)
            at = (number - first) * WORDS_A_CHUNK
            text = " ".join(drawn[at : at + WORDS_A_CHUNK])
            key = DocumentKey(REF.tenant, f"v{document % 10}", f"f{document % 100}/{document}.md")
            facts = Facts(f"Document {document}", "v1", "2026-01-01T00:00:00Z", tags=(f"t{document % 7}",))
            batch.append(IndexedChunk(key, 1, Chunk(ordinal, at, at + len(text), text), facts, random_vector(source)))
        yield batch


def median_ms(call: Callable[[], Any]) -> float:
    """The median of some runs of *call*, behind one that is not counted."""
    call()
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def measure(size: int, folder: Path) -> tuple[list[tuple[str, ...]], str]:
    """A row for each filter, and how fast the chunks were written."""
    source = random.Random(size)
    index, files = SqliteChunkIndex(folder), SqliteFiles(folder)
    spent_s = 0.0
    for batch in corpus(size, source):
        began = time.perf_counter()
        index.upsert(REF, batch, deadline())
        spent_s += time.perf_counter() - began
    written = f"{size:,} chunks written at {size / spent_s:,.0f} a second, 100 a call."
    print(written, file=sys.stderr, flush=True)
    with files.writing(REF, deadline()) as connection:
        connection.execute(f"CREATE VIRTUAL TABLE beside USING vec0(vector float[{DIMENSION}] distance_metric=cosine)")
        connection.execute("INSERT INTO beside (rowid, vector) SELECT number, vector FROM vectors")

    def search(query: CandidateQuery) -> object:
        return index.candidates(REF, [query], deadline())

    def rows(connection: Any, sql: str, blob: bytes) -> list[Any]:
        return list(connection.execute(sql, (blob,)).fetchall())

    wanted = random_vector(source)
    blob = wanted.tobytes()
    measured: list[tuple[str, ...]] = []
    for name, (filters, sql) in FILTERS.items():
        near, words = (
            CandidateQuery(None, wanted, filters, LIMIT),
            CandidateQuery("what is word300 or word1200 and word5000", None, filters, LIMIT),
        )
        adapter_ms = median_ms(partial(search, near))
        words_ms = median_ms(partial(search, words))
        with files.reading(REF, deadline()) as reading:
            assert reading is not None
            within = "" if sql == "1" else f" IN (SELECT number FROM chunks WHERE {sql})"
            bare = "SELECT number, vec_distance_cosine(vector, ?) AS far FROM vectors" + (
                f" WHERE number{within} ORDER BY far LIMIT {LIMIT}" if within else f" ORDER BY far LIMIT {LIMIT}"
            )
            table = f"SELECT rowid FROM beside WHERE vector MATCH ? AND k = {LIMIT}" + (
                f" AND rowid{within}" if within else ""
            )
            bare_ms = median_ms(partial(rows, reading, bare, blob))
            table_ms = median_ms(partial(rows, reading, table, blob))
        times = (f"{adapter_ms:.1f}", f"{bare_ms:.1f}", f"{adapter_ms / bare_ms:.2f}", f"{table_ms:.1f}")
        measured.append((f"{size:,}", name, *times, f"{words_ms:.1f}"))
        print(f"{size:,} chunks, filter {name}: measured", file=sys.stderr, flush=True)
    return measured, written


def main() -> None:
    """Measure each size, print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, metavar="CHUNKS")
    parser.add_argument("--full", action="store_true", help="10,000 and 100,000 chunks")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    if options.full and options.sizes:
        parser.error("--full says the sizes")
    rows, notes = [], []
    for size in options.sizes or (FULL if options.full else USUAL):
        with tempfile.TemporaryDirectory() as folder:
            measured, note = measure(size, Path(folder))
        rows += measured
        notes.append(note)
    tell("embedded_index", [Grid(COLUMNS, rows, " ".join(notes))], "apsw", "sqlite-vec", write=options.write)


if __name__ == "__main__":
    main()
