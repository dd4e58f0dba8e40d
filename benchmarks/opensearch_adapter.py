"""What the OpenSearch adapter costs beside raw calls, and how it grows: ratios of one run, their rounds interleaved.

    python -m benchmarks.opensearch_adapter            # some 3 minutes: 2,000 and 20,000 chunks
    python -m benchmarks.opensearch_adapter --full     # the budget's sizes: 10,000 and 100,000 chunks

--write keeps the record.
It starts a node of its own, unless OPENSEARCH_URL names one, and removes its indexes in the end.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch, helpers

from benchmarks.exact_search import nearest, unit
from benchmarks.grids import Grid, tell
from benchmarks.noted_requests import Call, Notes, noting
from localstack.opensearch import start, stop
from ragdrop.domain.chunks import CandidateQuery, Chunk, Filters, IndexedChunk, Vector, vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.tenants import IndexRef
from ragdrop.resilience.retrying import Retries
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from ragdrop_opensearch.mapping import source_of

DIMENSION = 384
LIMIT = 30
CHUNKS_A_DOCUMENT = 5  # a note of 1,000 words
SYLLABLES = [first + second for first in "bcdfgklmnprst" for second in "aeiou"]
VOCABULARY = [one + two + three for three in SYLLABLES[:2] for one in SYLLABLES for two in SYLLABLES][:8_000]
FREQUENCIES = list(itertools.accumulate(1 / rank for rank in range(2, 8_002)))  # Zipf's law, as in real text


def main() -> None:
    """Run all, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10,000 and 100,000 chunks")
    parser.add_argument("--rounds", type=int, default=100, help="queries of each kind")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        node = start(Path(folder))
        try:
            tables = run(node.url, 10_000 if options.full else 2_000, options.rounds)
            release = OpenSearch(node.url).info()["version"]["number"]
        finally:
            stop(node)
    tell("opensearch_adapter", tables, "opensearch-py", write=options.write, OpenSearch=release)


def run(url: str, small: int, rounds: int) -> list[Grid]:
    """All measurements against the node at *url*; *small* and ten times *small* chunks are compared."""
    source = random.Random(384)
    index, client = (
        OpenSearchChunkIndex.from_url(url, retries=Retries()),
        OpenSearch(url),
    )  # raw: the library's client as it comes
    refs = {
        name: IndexRef("acme", f"ragdrop-v1-bench-{name}-1", DIMENSION) for name in ("small", "large", "shared", "raw")
    }
    try:
        directions = [vector(source.gauss(0, 1) for _ in range(DIMENSION)) for _ in range(200)]
        first = bulk(index, client, refs, small, source, directions)
        rows = [row(f"bulk of {small:,} chunks, a second: adapter / raw bulk helper", *first)]
        kept: list[tuple[str, Vector]] = []
        for place in range(0, 10 * small, 1_000):
            chunks = list(pieces("acme", min(1_000, 10 * small - place), source, directions, first=place))
            kept += [(chunk.id, chunk.vector) for chunk in chunks]
            write(index, refs["large"], chunks)
        progress(f"{10 * small:,} chunks written")
        write(index, refs["shared"], list(pieces("acme", small, source, directions)))
        for number in range(20):
            tenant = f"other-{number}"
            ref = IndexRef(tenant, refs["shared"].name, DIMENSION)
            write(index, ref, list(pieces(tenant, small // 2, source, directions)))
        progress("20 other tenants written")
        for ref in refs.values():
            client.indices.forcemerge(index=ref.name, max_num_segments=1, request_timeout=600, ignore_unavailable=True)
        progress("segments merged")
        queries = [near_query(source, directions) for _ in range(rounds)]
        raw, first_alone = against_raw(url, index, refs["small"], queries)
        rows.append(row(f"query p50, {small:,} chunks: adapter / the same requests raw", *raw))
        rows.append(row(f"query p50, {small:,} chunks: adapter / its `_msearch` alone raw", *first_alone))
        larger = against(index, refs["large"], refs["small"], queries, "≤ 1.5")
        rows.append(row(f"query p50: {10 * small:,} / {small:,} chunks", *larger))
        others = against(index, refs["shared"], refs["small"], queries, "≤ 1.10")
        rows.append(row(f"query p50, {small:,} chunks: with 20 other tenants of {small // 2:,} / alone", *others))
        return [Grid(("what", "budget", "ratio", "measured"), rows), recall_table(url, refs["large"], kept)]
    finally:
        for ref in refs.values():
            client.indices.delete(index=ref.name, ignore_unavailable=True)


def row(what: str, ratio: float, budget: str, measured: str) -> tuple[str, ...]:
    """One row of the first table."""
    progress(f"{what}: {ratio:.2f}")
    return what, budget, f"{ratio:.2f}", measured


def progress(step: str) -> None:
    """Say that a step is done."""
    print(step, file=sys.stderr, flush=True)


def bulk(
    index: OpenSearchChunkIndex,
    client: Any,
    refs: dict[str, IndexRef],
    count: int,
    source: random.Random,
    near: list[Vector],
) -> tuple[float, str, str]:
    """The same chunks through the adapter and through the client library's helper, batch by batch in turn."""
    chunks = list(pieces("acme", count, source, near))
    index.upsert(refs["raw"], chunks[:1], soon())
    index.upsert(refs["small"], chunks[:1], soon())
    spent = {"adapter": 0.0, "raw": 0.0}
    for place in range(0, count, 500):
        batch = chunks[place : place + 500]
        documents = [(piece.id, json.loads(source_of(piece))) for piece in batch]  # a raw caller has dicts at hand
        raw = lambda: helpers.bulk(client, raw_actions(refs["raw"].name, documents), chunk_size=100)  # noqa: B023, E731
        own = lambda: index.upsert(refs["small"], batch, soon())  # noqa: B023, E731
        both = [("raw", raw), ("adapter", own)]
        for name, call in both if place // 500 % 2 else reversed(both):
            spent[name] += seconds(call)
    index.refresh([refs["small"], refs["raw"]], soon())
    rates = {name: count / total for name, total in spent.items()}
    told = f"{rates['adapter']:.0f} / {rates['raw']:.0f} a second"
    return rates["adapter"] / rates["raw"], "≥ 0.8", told


def raw_actions(name: str, documents: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The actions that the helper takes."""
    for chunk_id, document in documents:
        yield {"_op_type": "index", "_index": name, "_id": chunk_id, "routing": "acme#0", "_source": document}


def against_raw(
    url: str, index: OpenSearchChunkIndex, ref: IndexRef, queries: list[CandidateQuery]
) -> list[tuple[float, str, str]]:
    """`candidates` beside the very requests that it sends, and beside the first, an `_msearch`, alone.

    Their bodies are ready, and their answers decoded.
    """
    notes: Notes = []
    noted = OpenSearchChunkIndex.from_url(url, connection_class=noting(url, notes))
    sent: list[list[Call]] = []
    for query in queries:
        notes.clear()
        search(noted, ref, query)
        sent.append([call for _, call in notes])
    own = [partial(search, index, ref, query) for query in queries]
    whole = compared(own, [partial(again, calls) for calls in sent], "≤ 1.10")
    return [whole, compared(own, [calls[0] for calls in sent], "")]


def again(calls: Sequence[Call]) -> None:
    """The same requests in the same order."""
    for call in calls:
        call()


def against(
    index: OpenSearchChunkIndex, one: IndexRef, other: IndexRef, queries: list[CandidateQuery], budget: str
) -> tuple[float, str, str]:
    """The same queries to two indexes."""
    first = [partial(search, index, one, query) for query in queries]
    second = [partial(search, index, other, query) for query in queries]
    return compared(first, second, budget)


def search(index: OpenSearchChunkIndex, ref: IndexRef, query: CandidateQuery) -> object:
    """One query, with time enough."""
    return index.candidates(ref, [query], soon())


def compared(
    first: Sequence[Callable[[], object]], second: Sequence[Callable[[], object]], budget: str
) -> tuple[float, str, str]:
    """p50 of two lists of calls, one of each in turn, and which comes first changing."""
    times: tuple[list[float], list[float]] = ([], [])
    for pair in zip(first, second, strict=True):  # each once before anything counts: a node compiles what it runs often
        for call in pair:
            call()
    for place, pair in enumerate(zip(first, second, strict=True)):
        for which in (0, 1) if place % 2 else (1, 0):
            times[which].append(seconds(pair[which]))
    medians = [statistics.median(each) * 1000 for each in times]
    return medians[0] / medians[1], budget, f"{medians[0]:.1f} / {medians[1]:.1f} ms"


def recall_table(url: str, ref: IndexRef, kept: list[tuple[str, Vector]]) -> Grid:
    """recall@10 and p50 of the vector part by ef_search, one tenant alone in its index: nothing but the graph helps."""
    source = random.Random(128)  # vectors like no chunk's: the hardest there are
    wanted = [vector(source.gauss(0, 1) for _ in range(DIMENSION)) for _ in range(30)]
    asked = [CandidateQuery(None, values, Filters(), 10) for values in wanted]
    ids = [name for name, _ in kept]
    numbers = nearest(wanted, (unit(values).tobytes() for _, values in kept), 10)
    exact = [{ids[number] for number in best} for best in numbers]
    progress("nearest chunks found by looking at all")
    rows = []
    for ef_search in (10, 32, 64, 128, 256, 512):
        index = OpenSearchChunkIndex.from_url(url, ef_search=ef_search)
        times, right = [], 0
        for query in asked:
            index.candidates(ref, [query], soon())
        for query, best in zip(asked, exact, strict=True):
            started = time.perf_counter()
            found = index.candidates(ref, [query], soon())[0].vector
            times.append(time.perf_counter() - started)
            right += len(best & {hit.chunk_id for hit in found})
        p50_ms = statistics.median(times) * 1000
        rows.append((str(ef_search), f"{right / (10 * len(asked)):.3f}", f"{p50_ms:.1f}"))
        progress(f"recall with ef_search {ef_search} measured")
    note = f"{len(kept):,} chunks of one tenant, {len(asked)} queries like no chunk there is."
    return Grid(("ef_search", "recall@10", "p50 of the vector part, ms"), rows, note)


def pieces(
    tenant: str, count: int, source: random.Random, directions: list[Vector], *, first: int = 0
) -> Iterator[IndexedChunk]:
    """Chunks of 150 words; vectors gather around some directions, and those of one document closer still."""
    for number in range(first, first + count):
        if number % CHUNKS_A_DOCUMENT == 0:
            subject = near_vector(source, directions)
        values = near_vector(source, [subject])
        text = " ".join(source.choices(VOCABULARY, cum_weights=FREQUENCIES, k=150)) + f" {number}"
        facts = Facts(title=f"Note {number}", version_id="v1", indexed_at="2026-01-01T00:00:00Z")
        key = DocumentKey(tenant, "team", f"notes/{number // CHUNKS_A_DOCUMENT}.md")
        yield IndexedChunk(key, 1, Chunk(number % CHUNKS_A_DOCUMENT, 0, len(text), text, ("Notes",)), facts, values)


def near_vector(source: random.Random, directions: list[Vector]) -> Vector:
    """A vector whose cosine to its direction is about 0.7."""
    middle, spread = source.choice(directions), DIMENSION**-0.5
    return vector(value + source.gauss(0, spread) for value in middle)


def near_query(source: random.Random, directions: list[Vector]) -> CandidateQuery:
    """A question of four words, neither the commonest nor the rarest, with a vector."""
    return CandidateQuery(
        " ".join(source.sample(VOCABULARY[20:2_000], 4)), near_vector(source, directions), Filters(), LIMIT
    )


def write(index: OpenSearchChunkIndex, ref: IndexRef, chunks: Sequence[IndexedChunk]) -> None:
    """Write all, then make them visible."""
    index.upsert(ref, chunks, soon())
    index.refresh([ref], soon())


def seconds(call: Callable[[], object]) -> float:
    """How long *call* took, without the collector's pauses."""
    gc.disable()
    started = time.perf_counter()
    call()
    spent = time.perf_counter() - started
    gc.enable()
    return spent


def soon() -> Deadline:
    """A deadline for one call."""
    return Deadline.after(120)


if __name__ == "__main__":
    main()
