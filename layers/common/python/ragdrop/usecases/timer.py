"""How long each stage of a request took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STAGES = ("embed", "retrieve", "registry", "links", "assemble")


class Timer:
    """Milliseconds by stage, on a monotonic clock."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self.stages: dict[str, float] = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the block to *name*."""
        start = self._clock()
        try:
            yield
        finally:
            self.stages[name] = round(self.stages.get(name, 0.0) + (self._clock() - start) * 1_000, 3)
