"""What comes while a breaker is open: replies that lie whole in that time, and requests that should not have come."""

from __future__ import annotations

import time
from collections.abc import Callable

from localstack.drill.asking import DrillReply
from localstack.drill.expectations import FaultCase, opens_for_questions, opens_for_searches
from localstack.drill.harness import OPEN_S, Harness
from localstack.drill.openings import (
    SHARED_AGAIN_S,
    BreakerLine,
    OpenSpan,
    are_shared,
    inside,
    lines,
    shared_from_s,
    spans,
)

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
    told = lines_since(harness, begun_s)
    if dependency == REGISTRY or not are_shared(told):  # both lie behind DynamoDB
        told = lines([harness.logs[function]], since_s=begun_s)
    return spans(told, dependency, open_s=OPEN_S)


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
    told = lines_since(harness, begun_s)
    if are_shared(told) and "dynamodb" not in case.dependencies:
        return sum(
            inside(harness.proxies[name].arrivals, spans(told, name, open_s=OPEN_S))
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
