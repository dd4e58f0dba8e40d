"""One round of the drill: a fault is set, what callers see is noted, the fault goes, and they must be well again."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from localstack.drill.expectations import OUTAGES, Case, Expected, opens_for_searches
from localstack.drill.rig import OPEN_S, Rig
from localstack.processes import LaunchError

QUESTION = "How long should on-call wait before promoting the standby database?"
TOGETHER = 5  # questions at once: as many failures as open a breaker
BATCHES = 6  # at most: calls that went well just before keep a breaker closed until they are less than half
LIMIT_S = 29.0  # the gateway's
RECOVERY_S = OPEN_S + 15.0
POLL_S = 0.25
START_S = 60.0
OPEN = "CIRCUIT_OPEN"
UNTOUCHED_AFTER_S = 1.0


@dataclass(frozen=True)
class Reply:
    """What a caller got."""

    status: int
    taken_s: float
    body: dict[str, Any]
    retry_after: bool

    @property
    def level(self) -> int:
        """The fallback level; 0 where there is none."""
        return int(self.body.get("fallback_level", 0))

    @property
    def code(self) -> str:
        """The code of the error; empty where there is none."""
        error = self.body.get("error")
        return str(error.get("code", "")) if isinstance(error, dict) else ""

    @property
    def breaker(self) -> bool:
        """Whether it says that a breaker is open."""
        return bool(self.body.get("circuit_breaker_open"))

    @property
    def well(self) -> bool:
        """Whether nothing is missing from it."""
        return self.status == httpx.codes.OK and self.level == 1 and not self.body.get("degraded")


@dataclass(frozen=True)
class Seen:
    """What a round came to: searches and questions while the fault was on, the first ones and one more of each.

    `touched` counts requests that reached a dependency a second after its breaker opened, None where none is open.
    """

    first: tuple[Reply, ...]
    then: Reply
    asks: tuple[Reply, ...]
    ask: Reply
    touched: int | None
    recovered_s: float | None
    restarted: bool

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


def drill(rig: Rig, case: Case) -> Seen:
    """Set the fault, ask, take it away, and ask until all is well."""
    hit = [rig.proxies[name] for name in case.dependencies]
    for proxy in hit:
        proxy.set(case.fault)
    with ThreadPoolExecutor(TOGETHER) as pool:
        first = _until_open(pool, lambda: search(rig), may_open=opens_for_searches(case))
        asks = (
            _until_open(pool, lambda: ask(rig), may_open=case.fault in OUTAGES) if "chat" in case.dependencies else ()
        )
    then = search(rig)
    touched = _touched(rig, case) if then.breaker else None
    answer = ask(rig)
    for proxy in hit:
        proxy.set("pass")
    recovered_s = _recovery(rig)
    restarted = not all(process.running for process in rig.apps.values())
    return Seen(first, then, asks, answer, touched, recovered_s, restarted)


def problems(seen: Seen, wanted: Expected) -> list[str]:
    """What is not as it should be, in words."""
    found = []
    searches = (*seen.first, seen.then)
    if any(each.status != httpx.codes.OK for each in searches):
        found.append(f"search answered {sorted({each.status for each in searches})}")
    if not {each.level for each in seen.first} <= wanted.first:
        found.append("another level at first")
    if (seen.then.level, seen.then.breaker) != (wanted.then, wanted.breaker):
        found.append("another level or flag then")
    if any((each.level > 1) != bool(each.body.get("fallback")) for each in searches):
        found.append("fallback does not go with the level")
    if any(bool(each.body.get("results")) != (each.level <= 2) for each in searches):
        found.append("results do not go with the level")
    if any((each.level >= 3) != each.retry_after for each in searches):
        found.append("Retry-After does not go with the level")
    if not {each.status for each in (*seen.asks, seen.ask)} <= wanted.ask:
        found.append("another status of ask")
    if seen.ask.status == httpx.codes.SERVICE_UNAVAILABLE and not seen.ask.retry_after:
        found.append("ask has no Retry-After")
    if seen.slowest_s > LIMIT_S:
        found.append("later than the deadline")
    if seen.touched:
        found.append(f"{seen.touched} requests reached what is behind an open breaker")
    if seen.recovered_s is None:
        found.append(f"not well again within {RECOVERY_S:.0f} s")
    if seen.restarted:
        found.append("a function ended")
    return found


def warm_up(rig: Rig) -> None:
    """Let both functions open the snapshot: one that was never fetched cannot stand in while S3 is down too.

    Raises:
        LaunchError: They did not answer, or not from it.
    """
    wait_until_well(rig)
    rig.proxies["index"].set("refuse")
    replies = search(rig), ask(rig)
    rig.proxies["index"].set("pass")
    if any(each.body.get("served_by") != "snapshot" for each in replies):
        raise LaunchError(f"the drill's stack did not answer from its snapshot: {replies}")
    wait_until_well(rig)


def wait_until_well(rig: Rig) -> None:
    """Ask until the answers are whole.

    Raises:
        LaunchError: They are not, in a minute.
    """
    begun = time.monotonic()
    while not (search(rig).well and ask(rig).well):
        if time.monotonic() - begun > START_S:
            raise LaunchError(f"the drill's stack never answered well: {search(rig)}, {ask(rig)}")
        time.sleep(POLL_S)


def search(rig: Rig) -> Reply:
    """One search."""
    return _post(rig, "query", "/search", {"query": QUESTION, "min_relevance": 0})


def ask(rig: Rig) -> Reply:
    """One question."""
    return _post(rig, "generate", "/ask", {"query": QUESTION, "min_relevance": 0})


def _post(rig: Rig, function: str, path: str, body: dict[str, Any]) -> Reply:
    begun = time.monotonic()
    headers = {"x-api-key": rig.key}
    url = rig.url(function) + path
    try:
        response = httpx.post(url, json=body, headers=headers, timeout=LIMIT_S + 10, trust_env=False)
    except httpx.TransportError as exc:
        return Reply(0, time.monotonic() - begun, {"error": type(exc).__name__}, retry_after=False)
    taken_s = time.monotonic() - begun
    told = response.json() if "json" in response.headers.get("content-type", "") else {}
    return Reply(response.status_code, taken_s, told, "retry-after" in response.headers)


def _until_open(pool: Executor, one: Callable[[], Reply], *, may_open: bool) -> tuple[Reply, ...]:
    """Replies to some requests at once; where a breaker may open, until one says that it is."""
    found: list[Reply] = []
    for _ in range(BATCHES if may_open else 1):
        found += pool.map(lambda _: one(), range(TOGETHER))
        if any(each.breaker or each.code == OPEN for each in found):
            break
    return tuple(found)


def _touched(rig: Rig, case: Case) -> int:
    """Requests that reach the dependency while its breaker is open, from a second after its opening on."""
    hit = [rig.proxies[name] for name in case.dependencies if name in {"index", "embedding"}]
    time.sleep(UNTOUCHED_AFTER_S)
    before = sum(proxy.requests for proxy in hit)
    search(rig)
    return sum(proxy.requests for proxy in hit) - before


def _recovery(rig: Rig) -> float | None:
    """Seconds until searches and answers are whole again; None where that takes too long."""
    begun = time.monotonic()
    while time.monotonic() - begun < RECOVERY_S:
        if search(rig).well and ask(rig).well:
            return time.monotonic() - begun
        time.sleep(POLL_S)
    return None
