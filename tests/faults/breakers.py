"""When breakers were open by the functions' own logs, and which requests and replies fall into that time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.faults.cases import FaultCase, opens_for_questions, opens_for_searches
from tests.faults.harness import OPEN_S, DrillReply, Harness

UNTOUCHED_AFTER_S = 1.0  # until then an opening may not be known to all
MARGIN_S = 0.5  # the log's line comes up to two writes of a quarter of a second behind the opening that it reports
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
    """What *logs* report of breakers from *since_s* on (seconds since 1970), in order."""
    found = []
    for log in logs:
        for text in log.read_text("utf-8", errors="replace").splitlines():
            if '"a breaker ' not in text and UNSHARED not in text:
                continue
            try:
                entry = json.loads(text)
            except json.JSONDecodeError:  # the end of it is still being written
                continue
            at_s = datetime.fromisoformat(entry["timestamp"]).timestamp()
            if at_s >= since_s:
                found.append(BreakerLine(at_s, entry["message"], entry.get("dependency", "")))
    return sorted(found, key=lambda each: each.at_s)


def spans(seen: Iterable[BreakerLine], dependency: str, *, open_s: float) -> list[OpenSpan]:
    """When the breaker of *dependency* was open: from a second after each opening until shortly before its trial.

    >>> spans([BreakerLine(100.0, "a breaker opened", "index")], "index", open_s=3.0)
    [OpenSpan(first_s=101.0, last_s=102.5)]
    """
    return [
        OpenSpan(line.at_s + UNTOUCHED_AFTER_S, line.at_s + open_s - MARGIN_S)
        for line in seen
        if line.message in OPENED and line.dependency == dependency
    ]


def are_shared(seen: Iterable[BreakerLine]) -> bool:
    """Whether all functions knew of all openings: else the table of the breakers was not reached, or too slow."""
    return all(line.message != UNSHARED for line in seen)


def shared_from_s(seen: Iterable[BreakerLine]) -> float:
    """From when on all functions know of all openings again; seconds since 1970.

    >>> shared_from_s([BreakerLine(100.0, UNSHARED, ""), BreakerLine(101.0, "a breaker opened", "registry")])
    106.0
    """
    return max((line.at_s + SHARED_AGAIN_S for line in seen if line.message == UNSHARED), default=0.0)


def inside(arrivals: Iterable[float], times: Sequence[OpenSpan]) -> int:
    """How many of *arrivals* lie in one of *times*.

    >>> inside([0.5, 1.5, 2.5], [OpenSpan(1.0, 2.0)])
    1
    """
    return sum(any(each.holds(at_s, at_s) for each in times) for at_s in arrivals)


REGISTRY = "registry"
PATIENCE_S = 30.0  # for a reply that lies whole in the time of an open breaker
POLL_S = 0.25
GUARDED = frozenset({"index", "embedding", "chat"})  # proxies through which nothing comes but what a breaker guards


def await_shared(harness: Harness) -> None:
    """Wait until functions share their breakers again: for some seconds after DynamoDB was away they do not."""
    now_s = time.time()
    time.sleep(max(0.0, shared_from_s(lines_since(harness, now_s - SHARED_AGAIN_S)) - now_s))


def while_open(
    harness: Harness, function: str, one: Callable[[], DrillReply], dependency: str | None, begun_s: float
) -> tuple[DrillReply, ...]:
    """Replies of *function* until one lies whole in the time of an open breaker; a single one where none opens.

    Those before it may be the one trial that a breaker lets through, and then say what they met themselves.
    """
    found = [one()]
    begun = time.monotonic()
    while dependency and not _lies_in(_open_for(harness, function, dependency, begun_s), found[-1]):
        if time.monotonic() - begun > PATIENCE_S:
            break
        time.sleep(POLL_S)
        found.append(one())
    return tuple(found)


def _open_for(harness: Harness, function: str, dependency: str, begun_s: float) -> list[OpenSpan]:
    """When *function* knew the breaker to be open: by the openings of all functions, where they share them."""
    seen = lines_since(harness, begun_s)
    if dependency == REGISTRY or not are_shared(seen):  # both lie behind DynamoDB
        seen = lines([harness.logs[function]], since_s=begun_s)
    return spans(seen, dependency, open_s=OPEN_S)


def late(harness: Harness, case: FaultCase, begun_s: float, then: DrillReply, answer: DrillReply) -> tuple[str, ...]:
    """What did not lie in the time of an open breaker, though one was to open."""
    looked = (
        ("search", "query", opens_for_searches(case), then),
        ("question", "generate", opens_for_questions(case), answer),
    )
    return tuple(
        name
        for name, function, dependency, reply in looked
        if dependency and not _lies_in(_open_for(harness, function, dependency, begun_s), reply)
    )


def touched(harness: Harness, case: FaultCase, begun_s: float, behind: tuple[DrillReply, ...]) -> int:
    """Requests that reached a dependency of the case while its breaker was open.

    Where the breakers' table is not reached, one function's breaker says nothing of another's requests: then what
    came during the replies *behind* open breakers counts, as nothing else is sent meanwhile.
    """
    seen = lines_since(harness, begun_s)
    if are_shared(seen) and "dynamodb" not in case.dependencies:
        return sum(
            inside(harness.proxies[name].arrivals, spans(seen, name, open_s=OPEN_S))
            for name in GUARDED.intersection(case.dependencies)
        )
    functions = (("query", opens_for_searches(case)), ("generate", opens_for_questions(case)))
    times = [
        OpenSpan(reply.sent_at_s, reply.sent_at_s + reply.taken_s)
        for reply, (function, dependency) in zip(behind, functions, strict=True)
        if dependency and _lies_in(_open_for(harness, function, dependency, begun_s), reply)
    ]
    skipped = GUARDED if "dynamodb" in case.dependencies else GUARDED.intersection(case.dependencies)
    return sum(inside(harness.proxies[name].arrivals, times) for name in skipped)


def _lies_in(times: list[OpenSpan], reply: DrillReply) -> bool:
    return any(each.holds(reply.sent_at_s, reply.sent_at_s + reply.taken_s) for each in times)


def lines_since(harness: Harness, begun_s: float) -> list[BreakerLine]:
    """What the logs of all functions tell of breakers from *begun_s* on."""
    return lines(harness.logs.values(), since_s=begun_s)
