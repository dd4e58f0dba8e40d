"""Query time, processor time, memory and bytes of an index of one tenant, by its number of chunks."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from benchmarks.generated_chunks import batches, questions, soon
from benchmarks.growth.engines import Engine
from ragdrop.domain.chunks import CandidateQuery
from ragdrop.domain.tenants import IndexRef

BLOCK = 5  # questions asked in a row before the next index has its turn


@dataclass
class Taken:
    """What questions to one index took."""

    wall_ms: list[float] = field(default_factory=list)
    own_cpu_s: float = 0.0
    index_cpu_s: float = 0.0

    def figures(self) -> dict[str, float]:
        """Percentiles and processor time a question, milliseconds."""
        asked = len(self.wall_ms)
        return {
            "p50_ms": round(median(self.wall_ms), 2),
            "p95_ms": round(quantiles(self.wall_ms, n=20)[18], 2),
            "own_cpu_ms": round(1_000 * self.own_cpu_s / asked, 2),
            "index_cpu_ms": round(1_000 * self.index_cpu_s / asked, 2),
        }


def fill(engine: Engine, ref: IndexRef, count: int, *, seed: int) -> float:
    """Write *count* chunks of the tenant of *ref*, to be settled; seconds of writing without making the chunks."""
    spent_s = 0.0
    for batch in batches(ref.tenant, count, random.Random(seed)):
        began = time.perf_counter()
        engine.index.upsert(ref, batch, soon())
        spent_s += time.perf_counter() - began
    return spent_s


def ask(engine: Engine, refs: Mapping[str, IndexRef], rounds: int) -> dict[str, dict[str, float]]:
    """The same questions to every index, some in a row, then the next index, their order changing; by name."""
    asked = questions(rounds, random.Random(5))
    for ref in refs.values():  # all of them once before anything counts: a node compiles what it runs often
        _ask(engine, ref, asked, Taken())
    taken = {name: Taken() for name in refs}
    names = list(refs)
    for first in range(0, rounds, BLOCK):
        for name in names:
            _ask(engine, refs[name], asked[first : min(first + BLOCK, rounds)], taken[name])
        names.append(names.pop(0))
    return {name: each.figures() for name, each in taken.items()}


def _ask(engine: Engine, ref: IndexRef, asked: Sequence[CandidateQuery], taken: Taken) -> None:
    index_cpu_s, own_cpu_s = engine.cpu_s(), time.process_time()
    for question in asked:
        began = time.perf_counter()
        engine.index.candidates(ref, [question], soon())
        taken.wall_ms.append((time.perf_counter() - began) * 1_000)
    taken.own_cpu_s += time.process_time() - own_cpu_s
    taken.index_cpu_s += engine.cpu_s() - index_cpu_s


def measure(engine: Engine, sizes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Figures by number of chunks, as text, for JSON has no other keys."""
    refs = {str(size): engine.ref(str(size), "acme") for size in sizes}
    found: dict[str, dict[str, Any]] = {}
    for name, ref in refs.items():
        written_s = fill(engine, ref, int(name), seed=int(name))
        engine.settle(ref)
        found[name] = {
            "written_a_second": round(int(name) / written_s),
            "memory_mb": {kind: round(mb) for kind, mb in engine.memory_mb(ref).items()},
        }
    for name, figures in ask(engine, refs, rounds).items():
        found[name] |= figures | {"bytes_a_chunk": round(engine.size_bytes(refs[name]) / int(name))}
    return found
