"""One side of benchmarks/earlier.py: it runs on the tree that PYTHONPATH names first, which may be an older one.

So it takes from benchmarks/ only what those trees have too, and fills its world itself.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.search import vocabulary
from benchmarks.stores_in_memory import bucket_index
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.queries import Query
from tests.world import World

DOCUMENTS, PARAGRAPHS, QUESTIONS, PASSES = 40, 30, 60, 4
OFF = {"include_critical": False, "follow_links": False, "expand": "neighbours"}


def measure() -> None:
    """Print milliseconds a search by configuration: the median, and that of the processor time."""
    source = random.Random(7)
    words = vocabulary(source)
    often = [1 / rank for rank in range(1, len(words) + 1)]  # Zipf's law, as in benchmarks/search.py
    with tempfile.TemporaryDirectory(prefix="ragdrop-bench-") as folder:
        world = World(index=bucket_index(Path(folder)))
        for number in range(DOCUMENTS):
            parts = [" ".join(source.choices(words, often, k=120)) for _ in range(PARAGRAPHS)]
            level = "critical" if number < 2 else "standard"
            links = f"[one]({(number + 1) % DOCUMENTS}.md), [two]({(number + 2) % DOCUMENTS}.md)"
            body = "\n\n".join(f"# Part\n\n{part}" for part in parts)
            world.put(f"team/{number}.md", f"---\npromotion_level: {level}\n---\n{links}\n\n{body}")
        questions = [" ".join(source.choices(words[50:], often[50:], k=6)) for _ in range(QUESTIONS)]
        print(json.dumps({"off": measured(world, questions, OFF), "defaults": measured(world, questions, {})}))


def measured(world: World, questions: list[str], fields: dict[str, Any]) -> dict[str, float]:
    """The medians of a search; the first pass is not counted."""
    took, cpu = [], []
    for pass_ in range(PASSES):
        for text in questions:
            wall, own = time.perf_counter(), time.process_time()
            world.app.query.uncached_search(Query(text, **fields), world.caller, Deadline.after(600))
            if pass_:
                took.append(time.perf_counter() - wall)
                cpu.append(time.process_time() - own)
    return {"p50_ms": statistics.median(took) * 1_000, "cpu_ms": statistics.median(cpu) * 1_000}


if __name__ == "__main__":
    measure()
