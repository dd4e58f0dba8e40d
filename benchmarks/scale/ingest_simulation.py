"""Documents through the queue: batches, workers, failures with a visibility of their own, dead letters (SimPy)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

RETRY_BASE_S, RETRY_FACTOR, RETRY_CAP_S = 30.0, 4, 900.0  # docs/architecture.md, "Ingest"
JITTER = 0.2


@dataclass(frozen=True)
class IngestLimits:
    """What the template says of the queue, and how long a batch takes.

    Args:
        concurrency: Batches at once: the event source's MaximumConcurrency.
        batch: Messages of one at most.
        batch_s, document_s: What a batch takes, and each document of it on top.
        visibility_s: After so long a message whose worker was killed is seen again.
        receives: After so many a message becomes a dead letter.
        killed_share: Of the batches whose worker dies half way, none of its messages acknowledged.
        failed_share: Of the documents whose dependency fails.
        outage_s: From when until when every document's dependency fails.
    """

    concurrency: int = 5
    batch: int = 5
    batch_s: float = 1.0
    document_s: float = 0.5
    visibility_s: float = 360.0
    receives: int = 5
    killed_share: float = 0.0
    failed_share: float = 0.0
    outage_s: tuple[float, float] = (0.0, 0.0)


@dataclass
class IngestOutcome:
    """Where the documents of a run are: arrived = indexed + dead + visible + hidden."""

    arrived: int = 0
    indexed: int = 0
    dead: int = 0
    visible: int = 0
    hidden: int = 0
    deepest: int = 0
    oldest_s: float = 0.0
    depths: list[tuple[float, int]] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """In the queue, seen or not."""
        return self.visible + self.hidden


@dataclass
class _Message:
    since: float
    receives: int = 0


class _Run:
    def __init__(self, limits: IngestLimits, arrivals: list[tuple[float, int]], seed: int) -> None:
        self.limits, self.arrivals, self.source = limits, arrivals, random.Random(seed)
        self.clock = simpy.Environment()
        self.queue: deque[_Message] = deque()
        self.idle = limits.concurrency
        self.found = IngestOutcome()

    def arrive(self) -> Generator[Any, Any, None]:
        for at, count in self.arrivals:
            yield self.clock.timeout(at - self.clock.now)
            self.found.arrived += count
            self.queue.extend(_Message(at) for _ in range(count))
            self._poll()

    def watch(self, every_s: float) -> Generator[Any, Any, None]:
        while True:
            self.found.depths.append((self.clock.now, len(self.queue) + self.found.hidden))
            yield self.clock.timeout(every_s)

    def _poll(self) -> None:
        self.found.deepest = max(self.found.deepest, len(self.queue) + self.found.hidden)
        while self.idle and self.queue:
            taken = [self.queue.popleft() for _ in range(min(self.limits.batch, len(self.queue)))]
            self.idle -= 1
            self.found.hidden += len(taken)
            self.clock.process(self._work(taken))

    def _work(self, taken: list[_Message]) -> Generator[Any, Any, None]:
        limits, source = self.limits, self.source
        taking_s = limits.batch_s + limits.document_s * len(taken)
        killed = source.random() < limits.killed_share
        began = self.clock.now
        yield self.clock.timeout(taking_s / 2 if killed else taking_s)
        for message in taken:
            message.receives += 1
            outage = limits.outage_s[0] <= self.clock.now < limits.outage_s[1]
            if killed:
                self.clock.process(self._again(message, began + limits.visibility_s - self.clock.now))
            elif outage or source.random() < limits.failed_share:
                after_s = min(RETRY_BASE_S * RETRY_FACTOR ** (message.receives - 1), RETRY_CAP_S)
                self.clock.process(self._again(message, after_s * (1 + JITTER * source.random())))
            else:
                self.found.hidden -= 1
                self.found.indexed += 1
                self.found.oldest_s = max(self.found.oldest_s, self.clock.now - message.since)
        self.idle += 1
        self._poll()

    def _again(self, message: _Message, after_s: float) -> Generator[Any, Any, None]:
        if after_s > 0:
            yield self.clock.timeout(after_s)
        self.found.hidden -= 1
        if message.receives >= self.limits.receives:
            self.found.dead += 1
        else:
            self.queue.append(message)
            self._poll()


def simulate(
    limits: IngestLimits, arrivals: list[tuple[float, int]], *, seconds: float, every_s: float = 60.0, seed: int = 1
) -> IngestOutcome:
    """Let so many documents arrive at these moments, for so long; the same seed gives the same run.

    >>> found = simulate(IngestLimits(), [(0.0, 100)], seconds=60.0)
    >>> found.arrived == found.indexed + found.dead + found.waiting, found.indexed
    (True, 100)
    """
    run = _Run(limits, arrivals, seed)
    run.clock.process(run.arrive())
    run.clock.process(run.watch(every_s))
    run.clock.run(until=seconds)
    run.found.visible = len(run.queue)
    return run.found


def steady(rate: float, seconds: float) -> list[tuple[float, int]]:
    """*rate* documents a second, one by one.

    >>> steady(2.0, 1.0)
    [(0.0, 1), (0.5, 1)]
    """
    return [(number / rate, 1) for number in range(int(rate * seconds))]
