"""Request limits a minute, counted in the environment and shared once a second."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ragdrop.domain.rates import RateLimits, window_left_s, window_of
from ragdrop.domain.tenants import Caller
from ragdrop.errors import DatabaseError, RateLimitedError
from ragdrop.ports.credentials import RequestCounts

logger = logging.getLogger(__name__)

SHARE_EVERY_S = 1.0  # of one environment, whatever number of tenants it serves
AFTER_FAILURE_S = 10.0  # until the table is tried again: requests must not wait for one that is down
MAX_TENANTS = 1_000


@dataclass(slots=True)
class _Minute:
    """What is known of a tenant's requests in one minute: what all environments shared, and what this one has not."""

    window: int
    shared: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)

    def total(self) -> int:
        return self.shared.total() + self.own.total()

    def of(self, credential: str) -> int:
        return self.shared[credential] + self.own[credential]


class LimitRequests:
    """Refuses what is over a tenant's limits.  One per execution environment; tenants without limits cost nothing.

    An environment knows what the others let through up to a second late, so that much may pass beyond a limit.  While
    the counters cannot be reached each environment counts alone.

    Args:
        counts: Gives the shared counters, at the first request that is limited.
        clock: Seconds since 1970.
    """

    def __init__(self, counts: Callable[[], RequestCounts], *, clock: Callable[[], float]) -> None:
        self._counts = counts
        self._clock = clock
        self._minutes: dict[str, _Minute] = {}
        self._share_at_s = 0.0
        self._lock = Lock()

    def admit(self, caller: Caller, rates: RateLimits) -> None:
        """Count a request of *caller*.

        Raises:
            RateLimitedError: It is over a limit; `retry_after_s` is when the next minute begins.
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
        """What is to be shared now: nothing while the last time is less than a second ago."""
        if now_s < self._share_at_s:
            return Counter()
        self._share_at_s = now_s + SHARE_EVERY_S
        taken, minute.own = minute.own, Counter()
        minute.shared.update(taken)  # until the answer is there; it replaces this
        return taken

    def _share(self, tenant: str, minute: _Minute, taken: Counter[str]) -> bool:
        try:
            shared = self._counts().add_requests(tenant, minute.window, taken)
        except DatabaseError as exc:
            logger.warning("requests could not be counted together", extra={"service": exc.service})
            with self._lock:
                self._share_at_s = self._clock() + AFTER_FAILURE_S
            return False
        with self._lock:
            minute.shared = Counter(shared)
        return True


def _check(minute: _Minute, caller: Caller, rates: RateLimits, now_s: float, *, counted: int = 0) -> None:
    """Refuse where a limit is used up; *counted* is 1 where this request is among the counts already."""
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
