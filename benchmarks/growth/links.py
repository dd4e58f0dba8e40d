"""What links cost a search: documents with 1, 10 and 100 links each, followed and not."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.growth.engines import Engine
from benchmarks.growth.sizes import Taken
from benchmarks.search import vocabulary
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.history import SHARDS
from ragdrop.domain.queries import Query
from testing.memory_registry import MemoryRegistry
from tests.world import World

PARAGRAPHS, WORDS, BATCH = 6, 120, 50
READS = ("heads", "named_and_heads", "change_counts")  # of the registry: what a search reads in batches


class CountedReads:
    """A registry whose batch reads are counted: calls, and items asked for."""

    def __init__(self) -> None:
        self._registry: Any = MemoryRegistry()
        self.calls = self.items = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._registry, name)
        if name not in READS:
            return found

        def call(*asked: Any) -> Any:  # lists of what is asked for, then a deadline
            self.calls += 1
            self.items += SHARDS if name == "change_counts" else sum(map(len, asked[:-1]))
            return found(*asked)

        return call


class _Vault:
    """A tenant whose every document has so many links; the words are the same with any number of them."""

    def __init__(self, links: int, documents: int, engine: Engine) -> None:
        source = random.Random(3)
        self.registry = CountedReads()
        self.world = World(f"links-{links}", index=engine.index, registry=self.registry)
        words = vocabulary(source)
        often = [1 / rank for rank in range(1, len(words) + 1)]
        for number in range(documents):
            linked = source.sample(range(documents), 100)
            shown = [f"[note](n{to}.md)" if place < links else f"note n{to}" for place, to in enumerate(linked)]
            parts = (" ".join(source.choices(words, often, k=WORDS)) for _ in range(PARAGRAPHS))
            self.world.put(f"team/n{number}.md", "\n\n".join([*parts, " ".join(shown)]), ingest=False)
        paths = [f"team/n{number}.md" for number in range(documents)]
        for first in range(0, documents, BATCH):
            self.world.changed(*paths[first : first + BATCH])

    def ask(self, question: str, *, follow: bool) -> None:
        """One search with defaults, links followed or not; nothing is remembered."""
        query = Query(question, follow_links=follow)
        self.world.app.query.uncached_search(query, self.world.caller, Deadline.after(600))


def measure(engine: Engine, links: Sequence[int], documents: int, rounds: int) -> dict[str, Any]:
    """Figures by number of links, and with links that are not followed; reads of the registry a search beside."""
    vaults = {str(count): _Vault(count, documents, engine) for count in links}
    vaults["off"] = vaults[str(links[-1])]
    source = random.Random(9)
    words = vocabulary(source)[50:]
    often = [1 / rank for rank in range(50, len(words) + 50)]
    questions = [" ".join(source.choices(words, often, k=6)) for _ in range(rounds)]
    taken = {name: Taken() for name in vaults}
    reads = {name: [0, 0] for name in vaults}
    for number, question in enumerate([*questions, *questions]):  # once before anything counts
        for name in sorted(vaults, reverse=bool(number % 2)):
            registry = vaults[name].registry
            before = registry.calls, registry.items
            index_cpu_s, own_cpu_s, began = engine.cpu_s(), time.process_time(), time.perf_counter()
            vaults[name].ask(question, follow=name != "off")
            wall_ms, own_cpu_s = (time.perf_counter() - began) * 1_000, time.process_time() - own_cpu_s
            if number < rounds:
                continue
            taken[name].wall_ms.append(wall_ms)
            taken[name].own_cpu_s += own_cpu_s
            taken[name].index_cpu_s += engine.cpu_s() - index_cpu_s
            reads[name][0] += registry.calls - before[0]
            reads[name][1] += registry.items - before[1]
    return {"documents": documents} | {
        name: each.figures()
        | {"registry_calls": round(reads[name][0] / rounds, 1), "registry_items": round(reads[name][1] / rounds, 1)}
        for name, each in taken.items()
    }
