"""Queries through their limits: the gateway, Lambda, the registry's table and the cores of the index (SimPy)."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import simpy

WARM_UP_SHARE = 0.2  # of the arrivals whose times are not counted: everything is idle at first


@dataclass(frozen=True)
class Time:
    """A time that is spread as a lognormal one: its median and its 95th percentile, seconds."""

    p50_s: float
    p95_s: float

    def draw(self, source: random.Random) -> float:
        """One time.

        >>> Time(0.1, 0.1).draw(random.Random(1))
        0.1
        """
        spread = math.log(self.p95_s / self.p50_s) / 1.645 if self.p95_s > self.p50_s else 0.0
        return self.p50_s * math.exp(spread * source.gauss(0.0, 1.0)) if spread else self.p50_s


@dataclass(frozen=True)
class QueryLimits:
    """What a deployment lets through, and how long a query takes of what.

    Args:
        gateway_rate, gateway_burst: Requests a second and at once that the gateway's stage admits.
        environments: Concurrent executions that the function may have.
        reads_a_second: Read units that the registry's table serves.
        reads_a_query: Of them, what one query takes.
        index_cores: Processors of the data nodes that search.
        own: Processor time of the function a query.
        waiting: Time that it waits for the embedding service and the registry.
        index: Processor time of the index a query.
        deadline_s: After so long the gateway gives up.
    """

    gateway_rate: float
    gateway_burst: int
    environments: int
    reads_a_second: float
    reads_a_query: float
    index_cores: int
    own: Time
    waiting: Time
    index: Time
    deadline_s: float = 29.0


class Bucket:
    """A token bucket: refilled evenly, full at first.

    >>> bucket = Bucket(rate=2.0, size=1.0)
    >>> bucket.take(1.0, now=0.0), bucket.take(1.0, now=0.1), bucket.take(1.0, now=0.6)
    (True, False, True)
    """

    def __init__(self, rate: float, size: float) -> None:
        self._rate, self._size, self._held, self._at = rate, size, size, 0.0

    def take(self, count: float, *, now: float) -> bool:
        """Take *count* where there are so many."""
        self._held = min(self._size, self._held + (now - self._at) * self._rate)
        self._at = now
        if self._held + 1e-9 < count:
            return False
        self._held -= count
        return True


@dataclass
class QueryOutcome:
    """Where the queries of a run are: arrived = answered + refused + waiting."""

    arrived: int
    answered: int
    refused: Counter[str]
    waiting: int
    latencies_s: list[float]

    @property
    def refused_share(self) -> float:
        """Of those that arrived."""
        return sum(self.refused.values()) / max(self.arrived, 1)

    def percentile_ms(self, percent: int) -> float | None:
        """Of the answered; None where there are too few."""
        if len(self.latencies_s) < 20:
            return None
        found = median(self.latencies_s) if percent == 50 else quantiles(self.latencies_s, n=100)[percent - 1]
        return found * 1_000


class _Run:
    def __init__(self, limits: QueryLimits, rate: float, seed: int) -> None:
        self.limits, self.rate, self.source = limits, rate, random.Random(seed)
        self.clock = simpy.Environment()
        self.gateway = Bucket(limits.gateway_rate, limits.gateway_burst)
        self.table = Bucket(limits.reads_a_second, limits.reads_a_second)
        self.cores = simpy.Resource(self.clock, limits.index_cores)
        self.running = 0
        self.found = QueryOutcome(0, 0, Counter(), 0, [])

    def arrive(self, seconds: float) -> Generator[Any, Any, None]:
        while True:
            yield self.clock.timeout(self.source.expovariate(self.rate))
            self.found.arrived += 1
            self.clock.process(self.query(counted=self.clock.now > WARM_UP_SHARE * seconds))

    def query(self, *, counted: bool) -> Generator[Any, Any, None]:
        began, limits, source = self.clock.now, self.limits, self.source
        refused = self._refused_at_the_door()
        if refused:
            self.found.refused[refused] += 1
            return
        self.running += 1
        yield self.clock.timeout(limits.own.draw(source) + limits.waiting.draw(source))
        with self.cores.request() as core:
            left_s = limits.deadline_s - (self.clock.now - began)
            won = yield core | self.clock.timeout(max(left_s, 0.0))
            in_time = core in won
            if in_time:
                yield self.clock.timeout(limits.index.draw(source))
        self.running -= 1
        if not in_time:
            self.found.refused["deadline"] += 1
            return
        self.found.answered += 1
        if counted:
            self.found.latencies_s.append(self.clock.now - began)

    def _refused_at_the_door(self) -> str | None:
        if not self.gateway.take(1.0, now=self.clock.now):
            return "gateway"
        if self.running >= self.limits.environments:
            return "environments"
        if not self.table.take(self.limits.reads_a_query, now=self.clock.now):
            return "table"
        return None


def simulate(limits: QueryLimits, *, rate: float, seconds: float, seed: int = 1) -> QueryOutcome:
    """Let queries arrive at random, *rate* a second on average, for so long; the same seed gives the same run.

    >>> instant = Time(0.01, 0.01)
    >>> limits = QueryLimits(5.0, 5, 100, 1e6, 1.0, 4, instant, instant, instant)
    >>> found = simulate(limits, rate=50.0, seconds=10.0)
    >>> found.arrived == found.answered + sum(found.refused.values()) + found.waiting
    True
    >>> list(found.refused)
    ['gateway']
    """
    run = _Run(limits, rate, seed)
    run.clock.process(run.arrive(seconds))
    run.clock.run(until=seconds)
    run.found.waiting = run.running
    return run.found
