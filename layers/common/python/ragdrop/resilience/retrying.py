"""Retry rules: backoff with full jitter, `Retry-After`, and a budget."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from threading import Lock

from ragdrop.domain.deadlines import Deadline
from ragdrop.ports.shared_state import NOW_OPEN

MOST_RETRIES = 10.0  # at first, and saved up at most
RETRIES_A_CALL = 0.1
RETRIES_A_SECOND = 0.1  # a function that is seldom called may retry too


@dataclass(frozen=True, slots=True)
class RetryRules:
    """How often a call is tried, the first time included, and the pauses between: they double from base to cap."""

    attempts: int = 3
    base_s: float = 0.1
    cap_s: float = 5.0

    def pause_s(self, attempt: int, chance: float) -> float:
        """Seconds to wait after *attempt* tries; *chance* is a random share in [0, 1] ("full jitter").

        References:
            Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.

        >>> [RetryRules().pause_s(attempt, 1.0) for attempt in (1, 2, 3, 9)]
        [0.1, 0.2, 0.4, 5.0]
        """
        return chance * min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))


def asked_pause_s(retry_after: str | None, now_s: float) -> float:
    """Seconds that a `Retry-After` asks for, in either form of RFC 9110, 10.2.3; 0 where it cannot be read.

    >>> asked_pause_s("7", 0.0), asked_pause_s("Thu, 01 Jan 1970 00:01:40 GMT", 60.0), asked_pause_s("soon", 0.0)
    (7.0, 40.0, 0.0)
    """
    if not retry_after:
        return 0.0
    try:
        requested_s = float(retry_after)
    except ValueError:
        try:
            moment = parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        requested_s = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now_s
    return max(0.0, requested_s) if math.isfinite(requested_s) else 0.0


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """A bucket of retries: so of many calls a tenth are tried again, however many fail, and of few some still are."""

    left: float = MOST_RETRIES  # retries that may still be made
    at_s: float = 0.0  # when that was so, in seconds on any clock that only rises

    def called(self, now_s: float) -> RetryBudget:
        """After one more call.

        >>> RetryBudget(0.0, 0.0).called(5.0).left
        0.6
        """
        grown = (now_s - self.at_s) * RETRIES_A_SECOND + RETRIES_A_CALL
        return RetryBudget(min(MOST_RETRIES, self.left + grown), now_s)

    def spent(self) -> RetryBudget | None:
        """After one retry; None where there is none left.

        >>> RetryBudget(1.0).spent(), RetryBudget(0.9).spent()
        (RetryBudget(left=0.0, at_s=0.0), None)
        """
        return RetryBudget(self.left - 1, self.at_s) if self.left >= 1 else None


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
        """Wait before the next try, as `RetryPolicy` says."""
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
