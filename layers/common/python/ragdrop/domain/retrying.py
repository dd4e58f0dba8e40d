"""When a call is tried again and after how long, pure: backoff with full jitter, `Retry-After`, and a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

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
        wanted_s = float(retry_after)
    except ValueError:
        try:
            moment = parsedate_to_datetime(retry_after)
        except ValueError:
            return 0.0
        wanted_s = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now_s
    return max(0.0, wanted_s) if math.isfinite(wanted_s) else 0.0


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """A bucket of retries: so of many calls a tenth are tried again, however many fail, and of few some still are.

    Args:
        left: Retries that may still be made.
        at_s: When that was so, in seconds on any clock that only rises.
    """

    left: float = MOST_RETRIES
    at_s: float = 0.0

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
