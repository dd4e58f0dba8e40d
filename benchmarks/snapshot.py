"""What snapshots cost: written, fetched and searched at 100,000 chunks of 384 dimensions.

    python -m benchmarks.snapshot [--chunks N] [--write]

Texts and vectors are generated: words as unequally frequent as those of a language, vectors around a thousand centres.
What the snapshot is built from, and the registry, are in memory; its object lies in a small S3 on the loopback.
The reader is a process of its own, so that its memory and its first fetch are those of a new `query`.  `--write` keeps
the record.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3

from benchmarks.embedded_index import corpus
from benchmarks.grids import Grid, tell
from benchmarks.loopback_s3 import loopback_s3
from benchmarks.snapshot_reading import (
    BUCKET,
    CENTRES,
    CREDENTIALS,
    DIMENSION,
    INDEX,
    TENANT,
    near,
    read_in_own_process,
)
from ragdrop.domain.chunks import Chunk
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Detail, Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant
from ragdrop.ingest.revision_store import RevisionStore
from ragdrop.operate.snapshot_content import ReadContent
from ragdrop.operate.write_snapshot import WriteSnapshot
from ragdrop.ports import Claim
from ragdrop.stores.s3.object_store import S3ObjectStore
from ragdrop.stores.sqlite.snapshots import SqliteSnapshots
from testing.memory_object_store import MemoryObjectStore
from testing.memory_registry import MemoryRegistry

CHUNKS_A_DOCUMENT = 10
CHANGED = 100  # documents that the second writing finds changed
COLD_BUDGET_MS, QUERY_BUDGET_MS = 2_000, 100
SPACE = EmbeddingSpace("bench", DIMENSION)


class Filled:
    """A tenant in memory: what the sweep would find in the state bucket and the registry."""

    def __init__(self) -> None:
        self.registry = MemoryRegistry()
        self.revisions = RevisionStore(MemoryObjectStore("source"))
        self.registry.create_tenant(Tenant(TENANT, ActiveIndex(INDEX, SPACE, ChunkingPlan())))
        self._source = random.Random(1)

    def fill(self, size: int) -> None:
        """Put *size* chunks in, ten a document."""
        texts: list[str] = []
        for batch in corpus(size, self._source):
            for piece in batch:
                texts.append(piece.chunk.text)
                if len(texts) == CHUNKS_A_DOCUMENT:
                    self.put(f"f{len(batch)}/{piece.key.path}", texts)
                    texts = []

    def change(self, count: int) -> None:
        """Put the next revision of *count* documents."""
        page = self.registry.page(TENANT, vault=None, prefix="", status=None, cursor=None, limit=count)
        for head in page.heads:
            self.put(head.key.path, ["changed words"] * CHUNKS_A_DOCUMENT)

    def put(self, path: str, texts: list[str]) -> None:
        """One document, or its next revision."""
        key, now_s = DocumentKey(TENANT, "team", path), time.time()
        head = self.registry.claim(key, self.registry.head(key), Claim("v1", None, "m", now_s + 60, None, now_s))
        assert head is not None
        chunks, start = [], 0
        for ordinal, text in enumerate(texts):
            chunks.append(Chunk(ordinal, start, start + len(text), text, ("Heading",)))
            start += len(text) + 1
        document = ParsedDocument("\n".join(texts), "text", "text/plain")
        kept = self.revisions.write_text(key, head.revision, document)
        vectors = [near(self._source.randrange(CENTRES), self._source) for _ in chunks]
        self.revisions.write_chunks(kept, INDEX, chunks, vectors)
        facts = Facts(f"Document {path}", "v1", "2026-01-01T00:00:00Z", tags=("a", "b"), char_count=start)
        detail = Detail(key, head.revision, facts, len(chunks), "0" * 64, start, "etag", "text/plain", "stated")
        assert self.registry.activate(detail, now_s) is not None
        self.registry.add_to_tenant(TENANT, vault="team", documents=0, chunks=0)


class Peak:
    """The memory of this process above what it was at the start, megabytes."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._before = self._resident()
        self.mb = 0.0

    def watch(self) -> None:
        """Look twenty times a second until told that it is over."""
        while not self._over.wait(0.05):
            self.mb = max(self.mb, self._resident() - self._before)

    def end(self) -> None:
        """It is over."""
        self._over.set()

    @staticmethod
    def _resident() -> float:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4_096 / 1e6


@contextmanager
def watched() -> Iterator[Peak]:
    """Watches the memory while the block runs."""
    peak = Peak()
    thread = threading.Thread(target=peak.watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        peak.end()
        thread.join()


def measure(size: int) -> dict[str, Any]:
    """All figures of one run."""
    filled = Filled()
    filled.fill(size)
    content = ReadContent(registry=filled.registry, revisions=filled.revisions)
    with loopback_s3() as url, closing(boto3.client("s3", endpoint_url=url, **CREDENTIALS)) as client:
        snapshots = SqliteSnapshots(S3ObjectStore(BUCKET, client))
        write = WriteSnapshot(registry=filled.registry, content=content, snapshots=snapshots, clock=time.time)
        with watched() as peak:
            began = time.perf_counter()
            whole = write(TENANT, Deadline.after(900))
            figures: dict[str, Any] = {"written_s": time.perf_counter() - began}
        figures |= {
            "chunks": whole.snapshot.chunks,
            "writer_mb": peak.mb,
            "file_mb": whole.snapshot.size_bytes / 1e6,
            "object_mb": whole.snapshot.packed_bytes / 1e6,
        }
        figures |= read_in_own_process(url)
        filled.change(min(CHANGED, size // CHUNKS_A_DOCUMENT))
        began = time.perf_counter()
        again = write(TENANT, Deadline.after(900))
        figures |= {"increment_s": time.perf_counter() - began, "changed": again.added, "anew": again.anew}
    return figures


def table(found: dict[str, Any]) -> Grid:
    """The figures as a table."""
    rows = [
        ("written whole, s", "", f"{found['written_s']:.0f}"),
        (f"written again with {found['changed']} documents changed, s", "", f"{found['increment_s']:.0f}"),
        (
            "the file, and the object that is it compressed, MB",
            "300",
            f"{found['file_mb']:.0f}, {found['object_mb']:.0f}",
        ),
        ("memory the writer took, MB", "", f"{found['writer_mb']:.0f}"),
        ("fetched, checked and unpacked in a new process, ms", "", f"{found['fetched_ms']:.0f}"),
        ("the same with the first query, ms", "2,000", f"{found['cold_ms']:.0f}"),
        ("query, words and vector, p50 and p95, ms", "100", _both(found, "hybrid")),
        ("words alone, ms", "100", _both(found, "words")),
        ("vector alone, ms", "100", _both(found, "vectors")),
        ("five whole documents read, ms", "", f"{found['texts_ms']:.1f}"),
        ("of the 30 nearest found", "", f"{found['recall']:.1%}"),
        ("memory of the reading process, MB", "", f"{found['peak_mb']:.0f}"),
    ]
    return Grid((f"{found['chunks']:,} chunks of {DIMENSION} dimensions", "budget", "measured"), rows)


def _both(found: dict[str, Any], name: str) -> str:
    return f"{found[f'{name}_p50_ms']:.0f}, {found[f'{name}_p95_ms']:.0f}"


def main() -> int:
    """Measure, print, and keep the record if asked to; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    found = measure(options.chunks)
    tell("snapshot", [table(found)], "apsw", "sqlite-vec", write=options.write)
    return int(found["cold_ms"] > COLD_BUDGET_MS or found["hybrid_p50_ms"] > QUERY_BUDGET_MS)


if __name__ == "__main__":
    sys.exit(main())
