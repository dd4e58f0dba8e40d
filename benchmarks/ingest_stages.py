"""Where the time of ingest goes: many small files, then one large one, stage by stage in one process.

    python -m benchmarks.ingest_stages [--full] [--write]

The code path of the function is real; S3, DynamoDB and SQS are in memory.  Each of their requests takes a fixed time in
the first row of the table, as inside a region of AWS, and so does the embedding of a text.  The other rows have none of
these waits and are processor time, which other work on the machine does not change; there the embedding is the client
with a server of made vectors.  --write keeps the record, --full measures 10,000 files and 50 MB.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import records
from benchmarks.embeddings import LocalEmbeddings, TimedModel, in_thread
from benchmarks.generated_chunks import FREQUENCIES, VOCABULARY
from benchmarks.ingest import Ingest
from benchmarks.records import Grid, publish
from localstack.models.embedding_server import embedding_app
from ragdrop.bootstrap import Ports
from ragdrop.ingest.reconcile import MIN_TIME_FOR_A_FIT_S

NAME = "ingest_stages"
REQUEST_S = {"documents": 0.015, "state": 0.015, "registry": 0.006, "manifests": 0.006, "queue": 0.010}
TEXT_S = 0.005  # of the embedding service: 32 texts in 160 ms
CONCURRENCY = 5  # IngestConcurrency of the template
STAGES = ("documents", "parser", "splitter", "embedder", "state", "index", "registry")
PACED_FILES, FILES, FULL_FILES = 60, 300, 10_000
LARGE_MB, FULL_LARGE_MB = 2, 50
WORDS = 150  # of a small file, which has a few chunks
LETTERS = 7  # of such a word with its space


class StageTimes:
    """Seconds by port, as the first thread sees them; what a port asks of another counts for the first.

    Args:
        pace: Seconds that each request of a port takes besides.  Where it is empty, seconds are processor time.
    """

    def __init__(self, pace: Mapping[str, float]) -> None:
        self._pace = pace
        self.clock_s: Callable[[], float] = time.perf_counter if pace else time.process_time
        self._main, self._inside = threading.get_ident(), False
        self.clear()

    def clear(self) -> None:
        """Count from nothing."""
        self.seconds: dict[str, float] = dict.fromkeys(STAGES, 0.0)
        self.requests: dict[str, int] = dict.fromkeys(STAGES, 0)

    def around(self, ports: Ports) -> Ports:
        """The *ports*, each behind a stopwatch."""
        for name in ("documents", "state", "registry", "manifests", "queue", "embedder", "parser", "splitter", "index"):
            ports = ports.replace(**{name: Stopwatch(getattr(ports, name), name, self)})  # type: ignore[arg-type]
        return ports

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """One request of the port *name*."""
        self.requests[name] = self.requests.get(name, 0) + 1
        counts = not self._inside and threading.get_ident() == self._main
        self._inside, began = self._inside or counts, self.clock_s()
        try:
            time.sleep(self._pace.get(name, 0.0))
            yield
        finally:
            if counts:
                self._inside = False
                self.seconds[name] = self.seconds.get(name, 0.0) + self.clock_s() - began


class Stopwatch:
    """A port whose methods are timed."""

    def __init__(self, port: Any, name: str, stages: StageTimes) -> None:
        self._port, self._name, self._stages = port, name, stages

    def __getattr__(self, method: str) -> Any:
        """The port's own; a method is timed."""
        found = getattr(self._port, method)
        if not callable(found) or method == "drops_superseded":
            return found

        def timed(*given: Any, **named: Any) -> Any:
            with self._stages.of(self._name):
                return found(*given, **named)

        return timed


def main() -> int:
    """Print the table."""
    options = records.parser(__doc__, full=f"{FULL_FILES:,} files and {FULL_LARGE_MB} MB").parse_args()
    files, large_mb = (FULL_FILES, FULL_LARGE_MB) if options.full else (FILES, LARGE_MB)
    source = Random(7)
    small = [_words(source, WORDS) for _ in range(files)]
    large = _words(source, large_mb * 1_000_000 // LETTERS)
    with LocalEmbeddings() as model:
        tokenizer = model.tokenizer
    rows = [
        _row(f"{PACED_FILES} small files, requests as on AWS", small[:PACED_FILES], tokenizer, REQUEST_S, TEXT_S),
        _row(f"{files:,} small files, processor alone", small, tokenizer, {}, 0.0),
        _row(
            f"one text of {large_mb} MB, processor alone",
            [large],
            tokenizer,
            {},
            0.0,
        ),
    ]
    columns = ("what", "s", "files a second", *(f"{name}, %" for name in STAGES), "the rest, %", "registry requests")
    times = ", ".join(f"{name} {seconds * 1_000:.0f} ms" for name, seconds in REQUEST_S.items())
    a_second = float(rows[0][2])
    note = (
        f"As on AWS: a request of {times}; {TEXT_S * 1_000:.0f} ms a text of the embedding service. Reckoned of it: "
        f"{CONCURRENCY} functions at once (`IngestConcurrency`) index {CONCURRENCY * a_second:.0f} files a second, "
        f"{FULL_FILES:,} in {FULL_FILES / CONCURRENCY / a_second / 60:.0f} minutes."
    )
    publish(NAME, [Grid(columns, rows, note)], write=options.write)
    return 0


def _words(source: Random, count: int) -> str:
    """*count* words in sentences of twelve, as unequally frequent as those of a language."""
    words = source.choices(VOCABULARY, cum_weights=FREQUENCIES, k=count)
    return ". ".join(" ".join(words[at : at + 12]).capitalize() for at in range(0, count, 12))


def _row(what: str, texts: Sequence[str], tokenizer: bytes, pace: Mapping[str, float], text_s: float) -> Sequence[str]:
    """A row of the table: *texts* arrive, in batches, in an environment that has worked before."""
    stages = StageTimes(pace)
    with in_thread(embedding_app(TimedModel(text_s))) as url, tempfile.TemporaryDirectory() as folder:
        ingest = Ingest(Path(folder), url, tokenizer, around=stages.around)
        ingest.arrive([ingest.put("first.txt", b"It is warm.")])
        keys = [ingest.put(f"{number}.txt", text.encode()) for number, text in enumerate(texts)]
        stages.clear()
        began = stages.clock_s()
        ingest.arrive(keys, deadline_s=MIN_TIME_FOR_A_FIT_S - 1)  # no text of these words could be calibrated
        ingest.drain()
        took_s = stages.clock_s() - began
    shares = [stages.seconds[name] / took_s for name in STAGES]
    shown = [f"{share:.0%}".removesuffix("%") for share in (*shares, 1 - sum(shares))]
    return (
        what,
        f"{took_s:.1f}",
        f"{len(texts) / took_s:.1f}" if len(texts) > 1 else "",
        *shown,
        f"{stages.requests['registry']:,}",
    )


if __name__ == "__main__":
    sys.exit(main())
