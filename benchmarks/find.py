"""How long finding as one types takes on the bucket index: every keystroke of some hundred texts.

    python -m benchmarks.find [--write] [--chunks N]     # 100,000

Measured is what the function computes: both looks at the index, the excerpts and the order.  Its one request to the
registry, for the change counts, comes on top.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

from benchmarks import records
from benchmarks.generated_chunks import VOCABULARY, batches
from benchmarks.pipeline import bucket_index, soon
from benchmarks.records import Grid, publish
from bucketindex.index import BucketChunkIndex
from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.tenants import IndexRef
from ragdrop.query.find import NAMED, PASSAGES, findings

REF = IndexRef("bench", "bucket-bench", 384)
GOAL_MS = 100.0
TEXTS = 40  # of each kind
LIMIT = 8


def typed(chunks: int) -> dict[str, list[str]]:
    """What is typed, by kind, whole."""
    source = random.Random(11)
    common, rare = VOCABULARY[:200], VOCABULARY[200:4_000]
    return {
        "two words": [" ".join(source.sample(rare, 2)) for _ in range(TEXTS)],
        "a common word": source.sample(common, TEXTS),
        "a code": [str(source.randrange(chunks // 10, chunks)) for _ in range(TEXTS)],
        "a title": [f"note {source.randrange(chunks // 10)}" for _ in range(TEXTS)],
        "a quotation": [f'"{" ".join(source.sample(common, 2))}"' for _ in range(TEXTS)],
    }


def milliseconds(index: BucketChunkIndex, text: str) -> float:
    """One keystroke."""
    started = time.perf_counter()
    names = CandidateQuery(text, None, Filters(), NAMED, match="names")
    asked = [names, CandidateQuery(text, None, Filters(), 200 if '"' in text else PASSAGES, match="begun")]
    named, worded = (each.lexical for each in index.candidates(REF, asked, soon()))
    findings(text, named, worded, limit=LIMIT)
    return (time.perf_counter() - started) * 1_000


def main() -> None:
    parser = records.parser(__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        index = bucket_index(Path(folder))
        for batch in batches(REF.tenant, given.chunks, random.Random(3)):
            index.upsert(REF, batch, soon())
        index.merge(REF, soon(), everything=True)
        print(f"{given.chunks:,} chunks: written", file=sys.stderr, flush=True)
        index.candidates(REF, [CandidateQuery("note", None, Filters(), 1)], soon())  # opens the segments
        first = milliseconds(index, "note")
        rows, every = [], list[float]()
        for kind, texts in typed(given.chunks).items():
            taken = [milliseconds(index, text[:end]) for text in texts for end in range(1, len(text) + 1)]
            every += taken
            rows.append(_row(kind, taken))
        rows.append(_row("all", every))
    note = f"{given.chunks:,} chunks. The goal is a p95 of {GOAL_MS:.0f} ms. "
    note += f"The first keystroke took {first:.0f} ms: it reads the names."
    grid = Grid(("typed", "keystrokes", "p50, ms", "p95, ms", "most, ms"), rows, note)
    publish("find", [grid], "tantivy", write=given.write)


def _row(kind: str, taken: list[float]) -> tuple[str, ...]:
    cuts = quantiles(taken, n=20)
    return kind, f"{len(taken):,}", f"{cuts[9]:.1f}", f"{cuts[18]:.1f}", f"{max(taken):.1f}"


if __name__ == "__main__":
    main()
