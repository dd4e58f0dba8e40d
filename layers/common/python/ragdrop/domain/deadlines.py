"""Deadlines of requests and the share of each stage; RFC 3339 times in UTC, and durations."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ragdrop.errors import DeadlineError, InvalidParamsError


class Deadline:
    """A point in time by which the answer must have left; passed down, so that every time-out fits into it.

    >>> Deadline.after(10.0, clock=lambda: 100.0).timeout_s(30.0, stage="embed")
    10.0
    """

    def __init__(self, expires_at_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._expires_at_s = expires_at_s
        self._clock = clock

    @classmethod
    def after(cls, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """A deadline *seconds* from now."""
        return cls(clock() + seconds, clock=clock)

    def remaining_s(self) -> float:
        """Seconds left; negative once it has passed."""
        return self._expires_at_s - self._clock()

    def timeout_s(self, cap_s: float, *, stage: str) -> float:
        """The time a call may take: what is left, at most *cap_s*.

        Raises DeadlineError: nothing is left; `stage` says what would have come next.
        """
        left = self.remaining_s()
        if left <= 0:
            raise DeadlineError(f"no time was left for {stage}", service=stage, stage=stage)
        return min(left, cap_s)

    def share(self, parts: int) -> Deadline:
        """A deadline after one of *parts* equal shares of the time left, so that the other parts get their turn.

        >>> Deadline.after(10.0, clock=lambda: 100.0).share(2).remaining_s()
        5.0
        """
        return Deadline(self._clock() + self.remaining_s() / max(parts, 1), clock=self._clock)

    def within(self, cap_s: float) -> Deadline:
        """This deadline, or one in *cap_s* seconds if that is earlier.

        >>> Deadline.after(10.0, clock=lambda: 100.0).within(4.0).remaining_s()
        4.0
        """
        return Deadline(min(self._expires_at_s, self._clock() + cap_s), clock=self._clock)


@dataclass(frozen=True, slots=True)
class StageBudget:
    """One of *parts* equal parts of the time left, at most *cap_s* seconds: a streamed answer has minutes."""

    parts: int
    cap_s: float

    def of(self, deadline: Deadline) -> Deadline:
        """When the stage must have ended.

        >>> StageBudget(5, 8.0).of(Deadline.after(20.0, clock=lambda: 100.0)).remaining_s()
        4.0
        """
        return deadline.share(self.parts).within(self.cap_s)


PLAN = StageBudget(3, 10.0)  # without it: no table answers
CONDENSE = StageBudget(4, 8.0)  # without it: the conversation's last words
FOLDERS = StageBudget(2, 15.0)  # without it: all folders alike
EMBED = StageBudget(5, 8.0)  # without it: lexical only
CANDIDATES = StageBudget(4, 8.0)  # without them: the fallback
RERANK = StageBudget(4, 8.0)  # without it: the order that there is
TEXTS = StageBudget(4, 8.0)  # without them: the fallback
READ = StageBudget(4, 8.0)  # without it: the search alone says what answers
LINKS = StageBudget(4, 8.0)  # without them: an answer without links
VERIFY = StageBudget(4, 8.0)  # without it: what rules say of sentences


REQUEST_ID: ContextVar[str | None] = ContextVar("ragdrop_request_id", default=None)
"""Set by the HTTP edge for the time of one request; None outside of one."""


def rfc3339(seconds: float, *, precision: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """*seconds* since 1970 as RFC 3339 in UTC.

    >>> rfc3339(0.25), rfc3339(0.25, precision="milliseconds")
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:00.250Z')
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).replace("+00:00", "Z")


MAX_DURATION_S = 3_650 * 86_400  # ten years: what is longer is meant to be for ever
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9})([smhd])", re.ASCII)


def duration_s(text: str) -> int:
    """The seconds of a whole number and its unit: s, m, h or d.

    Raises:
        InvalidParamsError: It is something else, or over ten years.

    >>> duration_s("24h"), duration_s("0s")
    (86400, 0)
    """
    found = _DURATION.fullmatch(text.strip())
    seconds = int(found[1]) * _UNITS_S[found[2]] if found else MAX_DURATION_S + 1
    if seconds > MAX_DURATION_S:
        allowed = "a whole number and s, m, h or d, at most 3650d: 90d, 24h"
        raise InvalidParamsError(f"{text[:80]!r} is no span of time: {allowed}", value=text[:80], allowed=allowed)
    return seconds


def seconds_of(moment: str) -> float:
    """Seconds since 1970 of an RFC 3339 time; 0 for an empty one.

    >>> seconds_of("1970-01-01T00:01:00Z"), seconds_of("")
    (60.0, 0.0)
    """
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0
