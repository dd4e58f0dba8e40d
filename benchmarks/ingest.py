"""Ingest against the embedding alone: the same texts in the same requests to the same local embedding server.

    python -m benchmarks.ingest [--rounds N] [--write] [FOLDER]

S3, DynamoDB and SQS are the memory fakes, so that their round trips, which differ from place to place, are not in the
ratio; everything else is real.  Without FOLDER the sample vault is taken.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks import records
from benchmarks.embeddings import MODEL, EmbeddingServer, LocalEmbeddings
from benchmarks.pipeline import SETTINGS, TENANT, delivery, stores_in_memory
from benchmarks.records import Grid, publish
from ragdrop.app import Ports, compose
from ragdrop.config import Settings
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.ports.message_queue import Change
from ragdrop.ports.model_services import Embedder
from testing.memory_object_store import MemoryObjectStore

SAMPLE = Path(__file__).parents[1] / "localstack/sample-vault"
BUDGET = 1.15
ROUNDS = 7  # fewer give one quick round of either side too much weight
BATCH = 5  # messages of one invocation, as in the template
FIRST = {"a.md": b"# Warm\n\nIt is warm.", "a.txt": b"It is warm.", "a.html": b"<html><p>It is warm.", "a.py": b"x = 1"}
TOKENIZER = "tokenizer.json"


class Recorded:
    """An Embedder that keeps what it was asked for, call by call."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.calls: list[tuple[list[str], EmbeddingSpace]] = []

    @property
    def texts(self) -> int:
        return sum(len(texts) for texts, _ in self.calls)

    def query(self, text: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
        return self._embedder.query(text, space, deadline)

    def passages(self, texts: Sequence[str], space: EmbeddingSpace, deadline: Deadline) -> list[Vector]:
        self.calls.append((list(texts), space))
        return self._embedder.passages(texts, space, deadline)

    def alone_s(self) -> float:
        began = time.perf_counter()
        for texts, space in self.calls:
            self._embedder.passages(texts, space, Deadline.after(600))
        return time.perf_counter() - began


class Ingest:
    """ragdrop with an empty bucket, and events that arrive as the queue would bring them."""

    def __init__(self, folder: Path, url: str, tokenizer: bytes) -> None:
        self._documents = MemoryObjectStore("documents")
        settings = Settings.from_environment(SETTINGS | {"EMBEDDING_URL": url, "EMBEDDING_TOKENIZER": TOKENIZER})
        ports = Ports(settings).replace(documents=self._documents, **stores_in_memory(folder))
        ports.state.put(TOKENIZER, tokenizer, media_type="application/json")
        self.embedder = Recorded(ports.embedder)
        app = compose(ports.replace(embedder=self.embedder))
        app.operate.operator.create_tenant(TENANT)
        self._reconcile = app.ingest.reconcile
        self.worked_s = 0.0

    def put(self, path: str, body: bytes) -> str:
        key = f"{TENANT}/vault/{path}"
        self._documents.put(key, body, media_type="application/octet-stream")
        return key

    def arrive(self, keys: Sequence[str]) -> float:
        """Let an event of each key arrive, in batches; seconds until all is indexed."""
        began, worked = time.perf_counter(), time.process_time()
        for at in range(0, len(keys), BATCH):
            failed = self._reconcile([delivery(Change(key)) for key in keys[at : at + BATCH]], Deadline.after(600))
            if failed:
                sys.exit("a document failed: see the log")
        self.worked_s = time.process_time() - worked
        return time.perf_counter() - began


def main() -> int:
    parser = records.parser(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    if arguments.write and arguments.folder != SAMPLE:
        parser.error("a record is of the whole: --write goes without FOLDER")
    folder = arguments.folder
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    with LocalEmbeddings() as model, closing(EmbeddingServer()) as server:
        rounds = [_round(files, server.url, model.tokenizer) for _ in range(arguments.rounds)]
    whole_s, alone_s, worked_s = zip(*rounds, strict=True)
    ratio, a_minute = min(whole_s) / min(alone_s), len(files) / min(whole_s) * 60
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = [
        ("ingest / embedding alone, shortest rounds", str(BUDGET), f"{ratio:.3f}"),
        ("ingest, shortest and longest round, s", "", _span(whole_s)),
        ("embedding alone, s", "", _span(alone_s)),
        ("ingest's own processor time, s", "", _span(worked_s)),
        ("documents a minute", "", f"{a_minute:.0f}"),
        ("peak of memory, MB", "", f"{peak_mb:.0f}"),
    ]
    note = f"{len(files)} files, {len(rounds)} rounds, {MODEL}."
    publish("ingest", [Grid(("what", "budget", "measured"), rows, note)], "tantivy", write=arguments.write)
    return int(ratio > BUDGET)


def _span(times: Sequence[float]) -> str:
    return f"{min(times):.2f} to {max(times):.2f}"


def _round(files: dict[str, bytes], url: str, tokenizer: bytes) -> tuple[float, float, float]:
    """Seconds of ingest, of its embedding alone right after it, and of ingest's own processor time.

    What an environment does once is not in it.
    """
    with tempfile.TemporaryDirectory() as folder:
        ingest = Ingest(Path(folder), url, tokenizer)
        ingest.arrive([ingest.put(name, body) for name, body in FIRST.items()])
        ingest.embedder.calls.clear()
        whole_s = ingest.arrive([ingest.put(name, body) for name, body in files.items()])
        alone_s = ingest.embedder.alone_s()
        print(f"ingest {whole_s:.2f} s, embedding alone {alone_s:.2f} s", file=sys.stderr, flush=True)
        return whole_s, alone_s, ingest.worked_s


if __name__ == "__main__":
    sys.exit(main())
