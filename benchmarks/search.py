"""Search against the calls that it cannot do without: the same requests, sent again as they are, in turns in one run.

    python -m benchmarks.search [--write]            # both indexes; --write keeps the record
    python -m benchmarks.search --index bucket       # one of them, or opensearch

OpenSearch is a node of its own, unless OPENSEARCH_URL names one.

A first pass notes what each question asks of index and registry; the raw sequence is the query's embedding and those
calls again.  Over OpenSearch they are the very HTTP requests, sent by the client library as it comes; over the bucket
index the adapter's own calls, for it has no rawer ones.  The registry is in memory: no time on either side.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch

from benchmarks import records
from benchmarks.peers.ragdrop import Call, Notes, noting
from benchmarks.records import Grid, publish
from benchmarks.stores_in_memory import bucket_index
from localstack.opensearch import UnavailableError, start, stop
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.models import EmbeddingSpace
from ragdrop.domain.queries import Query
from ragdrop.resilience.retrying import Retries
from ragdrop_opensearch.engine import OpenSearchChunkIndex
from testing.memory_registry import MemoryRegistry
from tests.world import World

DOCUMENTS, PARAGRAPHS, ROUNDS, CRITICAL = 40, 30, 60, 2
EMBEDDING_S = 0.005  # what a question takes with the local default model (docs/evidence/performance.md)
BUDGET = 1.25
COLUMNS = (
    *("what", "index", "p50, ms", "its own calls again, ms", "ratio"),
    *("embedding, candidates and heads alone, ms", "ratio"),
)


@dataclass(frozen=True, slots=True)
class MeasuredSearch:
    """One index: how many chunks lay in it, and its rows."""

    chunks: int
    rows: list[tuple[str, ...]]


class Noted:
    """A port whose calls are noted, so that they can be made again."""

    def __init__(self, port: Any, notes: Notes) -> None:
        self._port = port
        self._notes = notes

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            self._notes.append((name, lambda: found(*given, **named)))
            return found(*given, **named)

        return call


def main() -> int:
    """Print both medians and their ratio, without and with critical documents, links and whole documents.

    1 where a record was asked for and could not be made, as there can be no OpenSearch here.
    """
    parser = records.parser(__doc__)
    parser.add_argument("--index", choices=("bucket", "opensearch"), help="measure only this one")
    options = parser.parse_args()
    if options.write and options.index:
        parser.error("a record is of both indexes: --write goes without --index")
    results: list[MeasuredSearch] = []
    versions, missing = {}, False
    if options.index != "opensearch":
        results.append(over_bucket())
    if options.index != "bucket":
        try:
            over_node, versions["OpenSearch"] = opensearch_index()
            results.append(over_node)
        except UnavailableError as exc:
            missing = True
            kept = "; the record is not kept" if options.write else ""
            print(f"search: OpenSearch is not measured{kept}: {exc}", file=sys.stderr)
    rows = [row for measured in results for row in measured.rows]
    sizes = " and ".join(sorted({f"{measured.chunks:,}" for measured in results}))
    note = f"{sizes} chunks, {ROUNDS} questions, in turns; the first ratio has a budget of {BUDGET}."
    write = options.write and not missing
    publish(
        "search",
        [Grid(COLUMNS, rows, note)] if rows else [],
        "tantivy",
        "simsimd",
        "opensearch-py",
        write=write,
        **versions,
    )
    return int(options.write and missing)


def over_bucket() -> MeasuredSearch:
    """Over segments in memory."""
    notes: Notes = []
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        return measure("bucket", Noted(bucket_index(Path(folder)), notes), notes)


def opensearch_index() -> tuple[MeasuredSearch, str]:
    """Over a node, whose version is told.

    Raises:
        UnavailableError: There can be no node here.
    """
    notes: Notes = []
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        node = start(Path(folder))
        try:
            index = OpenSearchChunkIndex.from_url(
                node.url, shards=1, connection_class=noting(node.url, notes), retries=Retries()
            )
            measured = measure("OpenSearch", index, notes)
            return measured, OpenSearch(node.url).info()["version"]["number"]
        finally:
            stop(node)


def measure(name: str, index: Any, notes: Notes) -> MeasuredSearch:
    """Fill a world, then search it and replay what the searches asked, in turns."""
    source = random.Random(7)
    words = vocabulary(source)
    often = [1 / rank for rank in range(1, len(words) + 1)]  # Zipf's law: in each text few words are most of it
    world = World(index=index, registry=Noted(MemoryRegistry(), notes))
    for number in range(DOCUMENTS):
        parts = (" ".join(source.choices(words, often, k=120)) for _ in range(PARAGRAPHS))
        level = "critical" if number < CRITICAL else "standard"
        links = f"[one]({(number + 1) % DOCUMENTS}.md), [two]({(number + 2) % DOCUMENTS}.md)"
        body = "\n\n".join(f"# Part\n\n{part}" for part in parts)
        world.put(f"team/{number}.md", f"---\npromotion_level: {level}\n---\n{links}\n\n{body}")
    questions = [" ".join(source.choices(words[50:], often[50:], k=6)) for _ in range(ROUNDS)]
    tenant = world.registry.tenant(world.tenant)
    assert tenant is not None
    vectors = {text: world.embedder.query(text, tenant.active.space, Deadline.after(60)) for text in questions}

    def embedded(text: str, _tenant: str, _space: EmbeddingSpace, _deadline: Deadline) -> Vector:
        time.sleep(EMBEDDING_S)
        return vectors[text]

    world.app.query.query_vectors = embedded  # type: ignore[assignment]  # before the first search is built
    print(f"search: {world.chunk_count():,} chunks written, {name}", file=sys.stderr, flush=True)
    off: dict[str, Any] = {"include_critical": False, "follow_links": False, "expand": "neighbours"}
    rows = []
    for title, fields in (("critical documents, links and whole documents off", off), ("all defaults", {})):
        queries = [Query(text, **fields) for text in questions]
        rows.append((title, name, *medians(world, notes, queries, embedded, tenant.active.space)))
        print(f"search: {title}, {name}: measured", file=sys.stderr, flush=True)
    return MeasuredSearch(world.chunk_count(), rows)


def vocabulary(source: random.Random) -> list[str]:
    """3,000 words that begin and end as differently as those of a language."""
    parts = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < 3_000:
        found["".join(source.choices(parts, k=source.randint(2, 4)))] = None
    return list(found)


def medians(world: World, notes: Notes, queries: list[Query], embedded: Any, space: EmbeddingSpace) -> tuple[str, ...]:
    """The cells of a row: the search, its own calls again, and the first three of these alone."""

    def search(query: Query) -> Notes:
        notes.clear()
        world.app.query.uncached_search(query, world.caller, Deadline.after(600))
        return list(notes)

    search(queries[0])
    asked = [search(query) for query in queries]
    taken: dict[str, list[float]] = {"search": [], "all": [], "three": []}
    for query, calls in zip(queries, asked, strict=True):
        first = {name: call for name, call in reversed(calls) if name in {"candidates", "heads"}}
        ways: dict[str, Call] = {
            "search": partial(search, query),
            "all": partial(replay, query, calls, embedded, space),
            "three": partial(replay, query, list(first.items()), embedded, space),
        }
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - started)
    whole, again, three = (statistics.median(times) * 1_000 for times in taken.values())
    return f"{whole:.1f}", f"{again:.1f}", f"{whole / again:.2f}", f"{three:.1f}", f"{whole / three:.2f}"


def replay(query: Query, calls: Notes, embedded: Any, space: EmbeddingSpace) -> None:
    """The query's embedding, then the calls as they were."""
    embedded(query.text, "", space, None)
    for _, call in calls:
        call()


if __name__ == "__main__":
    sys.exit(main())
