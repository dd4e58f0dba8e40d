"""How long each stage of a request took, told to the tracer too where there is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from ragdrop.ports.tracer import Tracer

STAGES = ("embed", "retrieve", "registry", "links", "assemble")


class Timer:
    """Milliseconds by stage, on a monotonic clock."""

    def __init__(self, tracer: Tracer | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._tracer = tracer
        self._clock = clock
        self.stages: dict[str, float] = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to *name*."""
        start = self._clock()
        try:
            with self._tracer.stage(name) if self._tracer else nullcontext():
                yield
        finally:
            self.stages[name] = round(self.stages.get(name, 0.0) + (self._clock() - start) * 1_000, 3)
