"""Deadlines of requests, and the share of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from ragdrop.errors import DeadlineError


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


CONDENSE = StageBudget(4, 8.0)  # without it: the conversation's last words
FOLDERS = StageBudget(2, 15.0)  # without it: all folders alike
EMBED = StageBudget(5, 8.0)  # without it: lexical only
CANDIDATES = StageBudget(4, 8.0)  # without them: the fallback
RERANK = StageBudget(4, 8.0)  # without it: the order that there is
TEXTS = StageBudget(4, 8.0)  # without them: the fallback
LINKS = StageBudget(4, 8.0)  # without them: an answer without links
VERIFY = StageBudget(4, 8.0)  # without it: what rules say of sentences


REQUEST_ID: ContextVar[str | None] = ContextVar("ragdrop_request_id", default=None)
"""Set by the HTTP edge for the time of one request; None outside of one."""
