"""Search against the calls it cannot do without: query embedding + one search of the index + one read of heads."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ragdrop.adapters.sqlite_chunk_index import SqliteChunkIndex
from ragdrop.domain.chunks import CandidateQuery, Filters, Vector
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrieval import Query, documents_of
from ragdrop.domain.tenants import EmbeddingSpace
from tests.world import World

DOCUMENTS, PARAGRAPHS, ROUNDS = 40, 30, 40
EMBEDDING_S = 0.005  # what a question takes with the local default model (docs/performance.md)
BUDGET = 1.25


def main() -> None:
    """Print both medians and their ratio, without and with critical documents, links and whole documents."""
    source = random.Random(7)
    words = [f"word{n}" for n in range(3_000)]
    with tempfile.TemporaryDirectory() as folder:
        world = World(index=SqliteChunkIndex(Path(folder)))
        for number in range(DOCUMENTS):
            parts = (" ".join(source.choices(words, k=120)) for _ in range(PARAGRAPHS))
            world.put(f"team/{number}.md", "\n\n".join(f"# Part\n\n{part}" for part in parts))
        questions = [" ".join(source.choices(words, k=6)) for _ in range(ROUNDS)]
        tenant = world.registry.tenant(world.tenant)
        assert tenant is not None

        def embedded(text: str, _tenant: str, space: EmbeddingSpace, deadline: Deadline) -> Vector:
            time.sleep(EMBEDDING_S)
            return world.embedder.query(text, space, deadline)

        search = world.app.uncached_search
        search._query_vectors = embedded

        def raw(text: str) -> None:
            deadline = Deadline.after(10)
            vector = embedded(text, "", tenant.active.space, deadline)
            found = world.index.candidates(tenant.index, [CandidateQuery(text, vector, Filters(), 30)], deadline)
            world.registry.heads(documents_of(found), deadline)

        def plain(text: str) -> None:
            query = Query(text, include_critical=False, follow_links=False, expand="neighbours")
            search(query, world.caller, Deadline.after(10))

        def whole(text: str) -> None:
            search(Query(text), world.caller, Deadline.after(10))

        print(f"search over {world.chunk_count()} chunks, SQLite, {ROUNDS} questions, in turns")
        medians = _medians(questions, {"raw calls": raw, "search, extras off": plain, "search, defaults": whole})
        for name, median in medians.items():
            print(f"  {name:20} p50 {median * 1_000:6.1f} ms  {median / medians['raw calls']:.2f} x (budget {BUDGET})")


def _medians(questions: list[str], ways: dict[str, Callable[[str], None]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for question in questions:
        for name, way in ways.items():
            start = time.perf_counter()
            way(question)
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


if __name__ == "__main__":
    main()
