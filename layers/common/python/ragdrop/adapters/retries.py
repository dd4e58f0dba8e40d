"""Retries of one dependency: whether and when a call is tried again, within its deadline and a budget."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock

from ragdrop.domain.breaker import NOW_OPEN
from ragdrop.domain.deadlines import Deadline
from ragdrop.domain.retrying import RetryBudget, RetryRules, asked_pause_s


class Retries:
    """Says after a failed try whether there is another one, having waited for it; shared by all calls to a dependency.

    Args:
        rules: How often, and the pauses between.
        sleep: Waits, in seconds.
        jitter: A random share in [0, 1].
        clock: Seconds since 1970, for dates in `Retry-After`.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        rules: RetryRules | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = rules or RetryRules()
        self._sleep = sleep
        self._jitter = jitter
        self._clock = clock
        self._stopwatch = stopwatch
        self._lock = Lock()
        self._budget = RetryBudget(at_s=stopwatch())

    def begin(self) -> None:
        """A call begins: its first try."""
        with self._lock:
            self._budget = self._budget.called(self._stopwatch())

    def again(self, attempt: int, deadline: Deadline, retry_after: str | None = None) -> bool:
        """Wait before the next try.  False, without waiting, where there is none.

        There is none after the last attempt, where the deadline ends before the pause, where the budget is spent, or
        where the breaker that let the call through is open by now: nothing behind one is touched.

        Args:
            attempt: Tries so far, from 1.
            deadline: When the call must have ended.
            retry_after: The header of that name, if the dependency sent one: it is waited for.
        """
        pause_s = max(self._rules.pause_s(attempt, self._jitter()), asked_pause_s(retry_after, self._clock()))
        now_open = NOW_OPEN.get() or (lambda: False)
        if attempt >= self._rules.attempts or pause_s >= deadline.remaining_s() or now_open():
            return False
        with self._lock:
            spent = self._budget.spent()
            if spent is None:
                return False
            self._budget = spent
        self._sleep(pause_s)
        return not now_open()
