"""What other tenants' data cost a tenant: its questions with 1, 10 and 100 tenants in the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.growth.engines import Engine
from benchmarks.growth.sizes import ask, fill


def measure(engine: Engine, tenants: Sequence[int], chunks: int, rounds: int) -> dict[str, Any]:
    """Figures of the first tenant's questions by number of tenants, each with *chunks* chunks."""
    refs = {}
    for count in tenants:
        name = f"shared-{count}"
        for number in range(count):
            ref = engine.ref(name, f"tenant-{number}")
            fill(engine, ref, chunks, seed=number)
        refs[str(count)] = engine.ref(name, "tenant-0")
        engine.settle(refs[str(count)])
    return {"chunks_a_tenant": chunks} | ask(engine, refs, rounds)
