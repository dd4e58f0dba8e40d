"""When breakers were open, as the functions' own logs tell it, and what reached a dependency meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

UNTOUCHED_AFTER_S = 1.0  # until then an opening may not be known to all
MARGIN_S = 0.5  # the log's line comes up to two writes of a quarter of a second behind the opening that it tells of
OPENED = frozenset({"a breaker opened", "a breaker opened again"})
UNSHARED = "breakers are not shared for now"
SHARED_AGAIN_S = 6.0  # a function asks the table again five seconds after it did not answer


@dataclass(frozen=True)
class OpenSpan:
    """A time in which a breaker was surely open and known to be, and no trial was due; seconds since 1970."""

    first_s: float
    last_s: float

    def holds(self, first_s: float, last_s: float) -> bool:
        """Whether a request from *first_s* to *last_s* lies whole in it.

        >>> [OpenSpan(1.0, 3.0).holds(1.5, last) for last in (2.0, 3.1)]
        [True, False]
        """
        return self.first_s <= first_s and last_s <= self.last_s


@dataclass(frozen=True)
class BreakerLine:
    """A line of a function's log: when, what, and of which dependency's breaker."""

    at_s: float
    message: str
    dependency: str


def lines(logs: Iterable[Path], *, since_s: float) -> list[BreakerLine]:
    """What *logs* tell of breakers from *since_s* on (seconds since 1970), in order."""
    found = []
    for log in logs:
        for text in log.read_text("utf-8", errors="replace").splitlines():
            if '"a breaker ' not in text and UNSHARED not in text:
                continue
            try:
                told = json.loads(text)
            except json.JSONDecodeError:  # the end of it is still being written
                continue
            at_s = datetime.fromisoformat(told["timestamp"]).timestamp()
            if at_s >= since_s:
                found.append(BreakerLine(at_s, told["message"], told.get("dependency", "")))
    return sorted(found, key=lambda each: each.at_s)


def spans(told: Iterable[BreakerLine], dependency: str, *, open_s: float) -> list[OpenSpan]:
    """When the breaker of *dependency* was open: from a second after each opening until shortly before its trial.

    >>> spans([BreakerLine(100.0, "a breaker opened", "index")], "index", open_s=3.0)
    [OpenSpan(first_s=101.0, last_s=102.5)]
    """
    return [
        OpenSpan(line.at_s + UNTOUCHED_AFTER_S, line.at_s + open_s - MARGIN_S)
        for line in told
        if line.message in OPENED and line.dependency == dependency
    ]


def are_shared(told: Iterable[BreakerLine]) -> bool:
    """Whether all functions knew of all openings: else the table of the breakers was not reached, or too slow."""
    return all(line.message != UNSHARED for line in told)


def shared_from_s(told: Iterable[BreakerLine]) -> float:
    """From when on all functions know of all openings again; seconds since 1970.

    >>> shared_from_s([BreakerLine(100.0, UNSHARED, ""), BreakerLine(101.0, "a breaker opened", "registry")])
    106.0
    """
    return max((line.at_s + SHARED_AGAIN_S for line in told if line.message == UNSHARED), default=0.0)


def inside(arrivals: Iterable[float], times: Sequence[OpenSpan]) -> int:
    """How many of *arrivals* lie in one of *times*.

    >>> inside([0.5, 1.5, 2.5], [OpenSpan(1.0, 2.0)])
    1
    """
    return sum(any(each.holds(at_s, at_s) for each in times) for at_s in arrivals)
