"""Limits of a tenant: requests a minute, tokens and documents a day."""

import logging
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ragdrop.domain.bounded_cache import BoundedCache
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.tenants import WINDOW_S, Caller, RateLimits, Tenant
from ragdrop.errors import DatabaseError, RateLimitedError
from ragdrop.ports.registry import RequestCounts
from ragdrop.ports.telemetry import HOUR_S, Counts, Telemetry, hour_of, summed

logger = logging.getLogger(__name__)

SHARE_EVERY_S = 1.0  # of one environment, whatever number of tenants it serves
AFTER_FAILURE_S = 10.0  # until the table is tried again: requests must not wait for one that is down
MAX_TENANTS = 1_000
DAY_S = 24 * HOUR_S
USED_TTL_S = 10.0  # used tokens and documents are cached so long: environments write their own counts as often
DOCUMENTS = "documents"


@dataclass(slots=True)
class _Minute:
    """A tenant's requests in one minute: those that all environments shared, and those that this one has not."""

    window: int
    shared: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)

    def total(self) -> int:
        return self.shared.total() + self.own.total()

    def of(self, credential: str) -> int:
        return self.shared[credential] + self.own[credential]


class LimitRequests:
    """Refuses requests over a tenant's limits.  One per execution environment; tenants without limits cost nothing.

    Environments share their counts once a second, so the requests of a second may pass beyond a limit.  While the
    counters do not answer, each environment counts alone.  *counts* connects to them at the first limited request.
    """

    def __init__(self, counts: Callable[[], RequestCounts], *, clock: Callable[[], float]) -> None:
        self._counts = counts
        self._clock = clock
        self._minutes: dict[str, _Minute] = {}
        self._share_at_s = 0.0
        self._lock = Lock()

    def admit(self, caller: Caller, rates: RateLimits) -> None:
        """Count a request of *caller*.

        Raises RateLimitedError: it is over a limit; `retry_after_s` is when the next minute begins.
        """
        if not rates.of_a_minute:
            return
        now_s = self._clock()
        with self._lock:
            minute = self._minute(caller.tenant, window_of(now_s))
            _check(minute, caller, rates, now_s)
            minute.own[caller.credential] += 1
            taken = self._take(minute, now_s)
        if taken and self._share(caller.tenant, minute, taken):
            with self._lock:
                _check(minute, caller, rates, now_s, counted=1)

    def _minute(self, tenant: str, window: int) -> _Minute:
        minute = self._minutes.get(tenant)
        if minute is None or minute.window != window:
            self._minutes.pop(tenant, None)
            while len(self._minutes) >= MAX_TENANTS:
                self._minutes.pop(next(iter(self._minutes)))
            minute = self._minutes[tenant] = _Minute(window)
        return minute

    def _take(self, minute: _Minute, now_s: float) -> Counter[str]:
        """The counts to share now; nothing within a second of the last time."""
        if now_s < self._share_at_s:
            return Counter()
        self._share_at_s = now_s + SHARE_EVERY_S
        taken, minute.own = minute.own, Counter()
        minute.shared.update(taken)  # until the answer replaces them
        return taken

    def _share(self, tenant: str, minute: _Minute, taken: Counter[str]) -> bool:
        try:
            shared = self._counts().add_requests(tenant, minute.window, taken)
        except DatabaseError as exc:
            logger.warning("could not share the counts of requests", extra={"service": exc.service})
            with self._lock:
                self._share_at_s = self._clock() + AFTER_FAILURE_S
            return False
        with self._lock:
            minute.shared = Counter(shared)
        return True


def _check(minute: _Minute, caller: Caller, rates: RateLimits, now_s: float, *, counted: int = 0) -> None:
    """Refuse a request over a limit; *counted* is 1 if the counts include this request."""
    for limit, used, what in (
        (rates.key_per_minute, minute.of(caller.credential), "this credential"),
        (rates.per_minute, minute.total(), "this project"),
    ):
        if limit is not None and used - counted >= limit:
            wait_s = window_left_s(now_s)
            raise RateLimitedError(
                f"{what} may make {limit} requests a minute: try again in {wait_s} s",
                retry_after_s=wait_s,
                limit=limit,
                scope="credential" if what == "this credential" else "project",
            )


class DailyBudget:
    """Refuses what is over a tenant's budget of the day (UTC).

    The counts lack the last ten seconds of other environments, so a budget may be exceeded by as much.  If they cannot
    be read, nothing is refused.
    """

    def __init__(self, *, tenant: Callable[[str], Tenant | None], store: Telemetry, clock: Callable[[], float]) -> None:
        self._tenant = tenant
        self._store = store
        self._clock = clock
        self._used: BoundedCache[tuple[str, str], Counts] = BoundedCache(size=MAX_TENANTS, ttl_s=USED_TTL_S)

    def check_tokens(self, name: str) -> None:
        """Check that a tenant may use another token today.

        Raises RateLimitedError: it may not; `until` and `retry_after_s` give the beginning of the next day.
        """
        tenant = self._tenant(name)
        limit = None if tenant is None else tenant.rates.daily_tokens
        if limit is not None:
            used = self._of_today(name)
            self._check("tokens", used.get("prompt_tokens", 0) + used.get("completion_tokens", 0), limit)

    def take_document(self, name: str) -> None:
        """Count a document to be written, if the tenant may write another one today.

        Raises RateLimitedError: it may not.
        """
        tenant = self._tenant(name)
        limit = None if tenant is None else tenant.rates.daily_documents
        if limit is None:
            return
        used = dict(self._of_today(name))
        self._check(DOCUMENTS, used.get(DOCUMENTS, 0), limit)
        now_s = self._clock()
        try:
            self._store.add_counts(name, hour_of(now_s), {DOCUMENTS: 1})
        except DatabaseError as exc:
            logger.warning("could not count a document", extra={"service": exc.service})
        used[DOCUMENTS] = used.get(DOCUMENTS, 0) + 1
        self._used.put((name, _day(now_s)), used, now_s=now_s)

    def _of_today(self, name: str) -> Counts:
        now_s = self._clock()
        cached = self._used.get((name, _day(now_s)), now_s=now_s)
        if cached is not None:
            return cached
        try:
            found: Counts = summed(self._store.counts(name, f"{_day(now_s)}T00", hour_of(now_s)).values())
        except DatabaseError as exc:
            logger.warning("could not check a budget", extra={"service": exc.service})
            return {}
        self._used.put((name, _day(now_s)), found, now_s=now_s)
        return found

    def _check(self, what: str, used: int, limit: int) -> None:
        if used < limit:
            return
        now_s = self._clock()
        ends_at_s = (now_s // DAY_S + 1) * DAY_S
        until = rfc3339(ends_at_s)
        raise RateLimitedError(
            f"this project has used its {limit} {what} of today; the next day begins at {until}",
            limited=what,
            limit=limit,
            used=used,
            until=until,
            retry_after_s=max(1, math.ceil(ends_at_s - now_s)),
        )


def _day(now_s: float) -> str:
    return hour_of(now_s)[:10]


def window_of(now_s: float) -> int:
    """The number of the minute that *now_s* (seconds since 1970) is in.

    >>> window_of(119.9)
    1
    """
    return int(now_s // WINDOW_S)


def window_left_s(now_s: float) -> int:
    """Whole seconds until the next minute begins, 1 to 60.

    >>> window_left_s(61.5), window_left_s(120.0)
    (59, 60)
    """
    return max(1, -int(-(WINDOW_S - now_s % WINDOW_S) // 1))
