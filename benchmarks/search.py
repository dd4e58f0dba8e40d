"""Search against the calls that it cannot do without: the same requests, sent again as they are, in turns in one run.

    python -m benchmarks.search                # the embedded index
    python -m benchmarks.search --opensearch   # a node of its own, unless OPENSEARCH_URL names one

A first pass notes what each question asks of index and registry; the raw sequence is the query's embedding and those
calls again.  Over OpenSearch they are the very HTTP requests, sent by the client library as it comes; over the embedded
index the adapter's own calls, for SQLite has no rawer ones.  The registry is in memory: no time on either side.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch

from localstack.opensearch import start, stop
from ragdrop.adapters.memory_registry import MemoryRegistry
from ragdrop.adapters.opensearch_chunk_index import OpenSearchChunkIndex
from ragdrop.adapters.opensearch_client import QuietConnection
from ragdrop.adapters.sqlite_chunk_index import SqliteChunkIndex
from ragdrop.domain.chunks import Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from ragdrop.domain.tenants import EmbeddingSpace
from tests.world import World

DOCUMENTS, PARAGRAPHS, ROUNDS, CRITICAL = 40, 30, 60, 2
EMBEDDING_S = 0.005  # what a question takes with the local default model (docs/performance.md)
BUDGET = 1.25
Call = Callable[[], object]


class Noted:
    """A port whose calls are noted, so that they can be made again."""

    def __init__(self, port: Any, notes: list[tuple[str, Call]]) -> None:
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


def main() -> None:
    """Print both medians and their ratio, without and with critical documents, links and whole documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opensearch", action="store_true", help="over OpenSearch in place of the embedded index")
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        Path(folder).chmod(0o755)  # the node of a root user runs as another one
        notes: list[tuple[str, Call]] = []
        if not parser.parse_args().opensearch:
            measure("SQLite", Noted(SqliteChunkIndex(Path(folder)), notes), notes)
            return
        node = start(Path(folder))
        try:
            index = OpenSearchChunkIndex.from_url(node.url, shards=1, connection_class=noting(node.url, notes))
            measure("OpenSearch", index, notes)
        finally:
            stop(node)


def noting(url: str, notes: list[tuple[str, Call]]) -> type[QuietConnection]:
    """A connection whose requests are noted, to be sent again by a plain client."""
    client = OpenSearch(url)

    class Noting(QuietConnection):
        def perform_request(
            self, method: str, url: str, params: Any = None, body: Any = None, *rest: Any, **more: Any
        ) -> Any:
            """One request."""
            again = lambda: client.transport.perform_request(method, url, params=params, body=body)  # noqa: E731
            notes.append(("candidates" if "_msearch" in url else url, again))
            return super().perform_request(method, url, params, body, *rest, **more)

    return Noting


def measure(name: str, index: Any, notes: list[tuple[str, Call]]) -> None:
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

    world.app.uncached_search._query_vectors = embedded
    print(f"search over {world.chunk_count()} chunks, {name}, {ROUNDS} questions, in turns (budget {BUDGET})")
    off: dict[str, Any] = {"include_critical": False, "follow_links": False, "expand": "neighbours"}
    for title, fields in (("critical, links, whole documents off", off), ("all defaults", {})):
        report(title, world, notes, [Query(text, **fields) for text in questions], embedded, tenant.active.space)


def vocabulary(source: random.Random) -> list[str]:
    """3,000 words that begin and end as differently as those of a language."""
    parts = [first + second for first in "bcdfghklmnprstvw" for second in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < 3_000:
        found["".join(source.choices(parts, k=source.randint(2, 4)))] = None
    return list(found)


def report(title: str, world: World, notes: Any, queries: list[Query], embedded: Any, space: EmbeddingSpace) -> None:
    """One row: the search, its own calls again, and the first three of these alone."""

    def search(query: Query) -> list[tuple[str, Call]]:
        notes.clear()
        world.app.uncached_search(query, world.caller, Deadline.after(600))
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
    medians = {name: statistics.median(times) * 1_000 for name, times in taken.items()}
    print(
        f"  {title:38} p50 {medians['search']:6.1f} ms  its {len(asked[0])} calls {medians['all']:6.1f} ms: "
        f"{medians['search'] / medians['all']:.2f} x  embedding, candidates, heads alone {medians['three']:6.1f} ms: "
        f"{medians['search'] / medians['three']:.2f} x"
    )


def replay(query: Query, calls: list[tuple[str, Call]], embedded: Any, space: EmbeddingSpace) -> None:
    """The query's embedding, then the calls as they were."""
    embedded(query.text, "", space, None)
    for _, call in calls:
        call()


if __name__ == "__main__":
    main()
