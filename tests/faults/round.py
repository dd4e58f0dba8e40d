"""One round of the drill: set a fault, note what callers see, remove it, and wait until the answers are complete."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace

import httpx

from localstack.processes import LaunchError
from tests.faults.breakers import POLL_S, BreakerLine, await_shared, late, touched, while_open
from tests.faults.cases import OUTAGES, Expected, FaultCase, opens_for_questions, opens_for_searches
from tests.faults.harness import LIMIT_S, OPEN_S, DrillReply, Harness, ask, search

TOGETHER = 5  # questions at once: as many failures as open a breaker
BATCHES = 6  # at most: calls that went well just before keep a breaker closed until they are less than half
RECOVERY_S = OPEN_S + 15.0
START_S = 60.0
OPEN = "CIRCUIT_OPEN"


@dataclass(frozen=True)
class Seen:
    """What a round came to: searches and questions while the fault was on, and one of each that came behind breakers.

    `late` names what of these did not lie whole in the time of an open breaker, where one was to open.  `touched`
    counts requests that reached a dependency while its breaker was open: from a second after that until its trial was
    due.  `unwell` are the replies after the fault that were not whole yet.
    """

    first: tuple[DrillReply, ...]
    then: DrillReply
    asks: tuple[DrillReply, ...]
    ask: DrillReply
    late: tuple[str, ...]
    touched: int
    recovered_s: float | None
    restarted: bool
    unwell: tuple[DrillReply, ...] = ()

    def __str__(self) -> str:
        """As the table shows it."""
        levels = "/".join(map(str, sorted({each.level for each in self.first})))
        then = f", then {self.then.level}" if levels != str(self.then.level) else ""
        breaker = ", breaker open" if self.then.breaker else ""
        back = f"{self.recovered_s:.1f} s" if self.recovered_s is not None else "never"
        return (
            f"level {levels}{then}{breaker}; ask {self.ask.status}; slowest {self.slowest_s:.1f} s; well after {back}"
        )

    @property
    def slowest_s(self) -> float:
        """The longest that a caller waited."""
        return max(each.taken_s for each in (*self.first, self.then, *self.asks, self.ask))


def drill(harness: Harness, case: FaultCase) -> Seen:
    """Set the fault, ask, take it away, and ask until all is well."""
    hit = [harness.proxies[name] for name in case.dependencies]
    if "dynamodb" in case.dependencies:  # a key serves for a minute after it was looked up: here it begins again
        harness = replace(harness, key=harness.new_key())
        wait_until_well(harness)
    await_shared(harness)
    begun_s = time.time()
    for proxy in hit:
        proxy.set(case.fault)
    asked = "chat" in case.dependencies or opens_for_questions(case) is not None
    with ThreadPoolExecutor(TOGETHER) as pool:
        first = _until_open(pool, lambda: search(harness), may_open=opens_for_searches(case) is not None)
        asks = _until_open(pool, lambda: ask(harness), may_open=case.fault in OUTAGES) if asked else ()
    *more, then = while_open(harness, "query", lambda: search(harness), opens_for_searches(case), begun_s)
    *more_asks, answer = while_open(harness, "generate", lambda: ask(harness), opens_for_questions(case), begun_s)
    reached = touched(harness, case, begun_s, (then, answer))
    missing = late(harness, case, begun_s, then, answer)
    for proxy in hit:
        proxy.set("pass")
    recovered_s, unwell = _recovery(harness)
    restarted = not all(process.running for process in harness.apps.values())
    all_asks = (*asks, *more_asks)
    return Seen((*first, *more), then, all_asks, answer, missing, reached, recovered_s, restarted, unwell)


def problems(seen: Seen, required: Expected) -> list[str]:
    """What is not as it should be, in words."""
    searches = (*seen.first, seen.then)
    statuses = sorted({each.status for each in searches})
    all_found = {
        f"search answered {statuses}": statuses != [httpx.codes.OK],
        "another level at first": not {each.level for each in seen.first} <= required.first,
        "another level or flag then": (seen.then.level, seen.then.breaker) != (required.then, required.breaker),
        "fallback does not go with the level": any(
            (each.level > 1) != bool(each.body.get("fallback")) for each in searches
        ),
        "results do not go with the level": any(
            bool(each.body.get("results")) != (each.level <= 2) for each in searches
        ),
        "Retry-After does not go with the level": any((each.level >= 3) != each.retry_after for each in searches),
        "another status of ask": not {each.status for each in (*seen.asks, seen.ask)} <= required.ask,
        "ask has no Retry-After": seen.ask.status == httpx.codes.SERVICE_UNAVAILABLE and not seen.ask.retry_after,
        "later than the deadline": seen.slowest_s > LIMIT_S,
        f"no {' and no '.join(seen.late)} came while the breaker was open": bool(seen.late),
        f"{seen.touched} requests reached what is behind an open breaker": bool(seen.touched),
        f"not well again within {RECOVERY_S:.0f} s": seen.recovered_s is None,
        "a function ended": seen.restarted,
    }
    return [problem for problem, is_so in all_found.items() if is_so]


def warm_up(harness: Harness) -> None:
    """Let both functions fetch the bucket index: what was never fetched cannot answer while S3 is down too.

    Raises:
        LaunchError: They did not answer, or not from it.
    """
    wait_until_well(harness)
    harness.proxies["index"].set("refuse")
    replies = search(harness), ask(harness)
    harness.proxies["index"].set("pass")
    if any(each.body.get("served_by") != "fallback" for each in replies):
        raise LaunchError(f"the drill's stack did not answer from the bucket index: {replies}")
    wait_until_well(harness)


def wait_until_well(harness: Harness) -> None:
    """Ask until the answers are whole.

    Raises:
        LaunchError: They are not, in a minute.
    """
    begun = time.monotonic()
    while not (search(harness).well and ask(harness).well):
        if time.monotonic() - begun > START_S:
            raise LaunchError("the drill's stack never answered well")
        time.sleep(POLL_S)


def _until_open(pool: Executor, one: Callable[[], DrillReply], *, may_open: bool) -> tuple[DrillReply, ...]:
    """Replies to some requests at once; where a breaker may open, until one says that it is."""
    found: list[DrillReply] = []
    for _ in range(BATCHES if may_open else 1):
        found += pool.map(lambda _: one(), range(TOGETHER))
        if any(each.breaker or each.code == OPEN for each in found):
            break
    return tuple(found)


def _recovery(harness: Harness) -> tuple[float | None, tuple[DrillReply, ...]]:
    """Seconds until searches and answers are whole again, None where that takes too long; what was not whole."""
    unwell: list[DrillReply] = []
    begun = time.monotonic()
    while time.monotonic() - begun < RECOVERY_S:
        reply = search(harness)
        if reply.well:
            reply = ask(harness)
        if reply.well:
            return time.monotonic() - begun, tuple(unwell)
        unwell.append(reply)
        time.sleep(POLL_S)
    return None, tuple(unwell)


def account(
    seen: Seen, lines: Iterable[BreakerLine], arrivals: Mapping[str, Sequence[float]], begun_s: float
) -> list[str]:
    """Replies, *lines* of logs, and when each failed dependency was reached; seconds after *begun_s*."""
    replies = {"search": (*seen.first, seen.then), "question": (*seen.asks, seen.ask), "after the fault": seen.unwell}
    events = [(reply.sent_at_s, f"{kind}: {_reply(reply)}") for kind, found in replies.items() for reply in found]
    events += [(line.at_s, f"log: {' '.join(filter(None, (line.message, line.dependency)))}") for line in lines]
    events += [(at_s, f"{name}: reached") for name, times in arrivals.items() for at_s in times if at_s >= begun_s]
    return [f"  {at_s - begun_s:6.2f} s  {what}" for at_s, what in sorted(events)]


def _reply(reply: DrillReply) -> str:
    """Status, code, level and flags of a reply, and how long it took.

    >>> _reply(DrillReply(503, 0.25, {"fallback_level": 3, "error": {"code": "INDEX_UNAVAILABLE"}}, retry_after=True))
    '503 INDEX_UNAVAILABLE level 3, Retry-After, took 0.25 s'
    """
    head = " ".join(filter(None, (str(reply.status), reply.code, f"level {reply.level}" if reply.level else "")))
    flags = {
        "breaker open": reply.breaker,
        f"degraded: {reply.body.get('degraded')}": bool(reply.body.get("degraded")),
        "Retry-After": reply.retry_after,
    }
    return ", ".join([head, *(flag for flag, on in flags.items() if on), f"took {reply.taken_s:.2f} s"])
