"""State that execution environments share: circuit breakers, replies by idempotency key."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DeadlineError, DependencyError

BUCKETS = 6  # a window is counted in so many parts, each of which is forgotten whole
MIN_FAILED_SHARE = 0.5
# Reasons of a service that did answer; a lost index is one tenant's, and must not keep the others from theirs.
ANSWERED = frozenset({"unreadable", "empty", "content_filter", "lost"})

Position = Literal["closed", "open", "half_open"]

NOW_OPEN: ContextVar[Callable[[], bool] | None] = ContextVar("ragdrop_now_open", default=None)
"""Within a call that a breaker let through: says whether it has opened since, so that the call is not tried again."""


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When breakers open, and for how long."""

    threshold: int = 5  # failures that open one, from 1, if they are at least half of the calls
    window_s: float = 60.0  # seconds within which they count
    open_s: float = 60.0  # seconds after which one trial may pass
    # seconds after which a trial that nobody heard of again is given to another caller
    trial_s: float = 30.0  # no request takes longer: the gateway ends it after 29 s

    @property
    def bucket_s(self) -> float:
        """Seconds of one part of the window."""
        return self.window_s / BUCKETS

    def bucket(self, at_s: float) -> int:
        """The part of the window that *at_s* (seconds since 1970) falls into.

        >>> BreakerRules(window_s=60).bucket(125.0)
        12
        """
        return math.floor(at_s / self.bucket_s)

    def oldest(self, now_s: float) -> int:
        """The oldest part that still counts."""
        return self.bucket(now_s) - BUCKETS + 1


@dataclass(frozen=True, slots=True)
class Counted:
    """Calls that came to an end, and how many of them failed."""

    calls: int = 0
    failures: int = 0

    def __add__(self, other: Counted) -> Counted:
        """Both together.

        >>> Counted(2, 1) + Counted(1, 1)
        Counted(calls=3, failures=2)
        """
        return Counted(self.calls + other.calls, self.failures + other.failures)


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is known of one dependency; times are seconds since 1970."""

    counts: Mapping[int, Counted] = field(default_factory=dict)  # by part of the window (`BreakerRules.bucket`)
    opened_at_s: float | None = None  # None while it is closed
    closed_at_s: float = 0.0  # what was counted up to then says nothing any more
    trial: str = ""  # the name of the trial under way, until `trial_until_s`
    trial_until_s: float = 0.0

    def position(self, now_s: float, rules: BreakerRules) -> Position:
        """Where it stands; half-open as long as a trial may begin, or is under way.

        >>> rules = BreakerRules(open_s=60)
        >>> [Breaker(opened_at_s=100.0).position(now, rules) for now in (159.0, 160.0)]
        ['open', 'half_open']
        """
        if self.opened_at_s is None:
            return "closed"
        return "open" if now_s < self.opened_at_s + rules.open_s else "half_open"

    def may_try(self, now_s: float, rules: BreakerRules) -> bool:
        """Whether a trial may begin now: it is half-open and no other one is under way.

        >>> Breaker(opened_at_s=0.0, trial="a", trial_until_s=70.0).may_try(60.0, BreakerRules(open_s=60))
        False
        """
        return self.position(now_s, rules) == "half_open" and now_s >= self.trial_until_s

    def retry_after_s(self, now_s: float, rules: BreakerRules) -> int:
        """Whole seconds until the next trial may begin, from 1.

        >>> Breaker(opened_at_s=100.0).retry_after_s(110.5, BreakerRules(open_s=60))
        50
        """
        begins_s = max((self.opened_at_s or now_s) + rules.open_s, self.trial_until_s)
        return max(1, math.ceil(begins_s - now_s))

    def should_open(self, now_s: float, rules: BreakerRules) -> bool:
        """Whether the failures of the window are enough, and at least half of its calls.

        >>> [Breaker({0: Counted(calls, 5)}).should_open(1.0, BreakerRules()) for calls in (10, 11)]
        [True, False]
        """
        first = max(rules.oldest(now_s), rules.bucket(self.closed_at_s) + 1 if self.closed_at_s else 0)
        counted = sum((each for bucket, each in self.counts.items() if bucket >= first), Counted())
        return counted.failures >= rules.threshold and counted.failures >= MIN_FAILED_SHARE * counted.calls


def is_outage(exc: DependencyError, dependency: str) -> bool:
    """Whether an error counts against a dependency: a time-out, a connection error, 429 or 5xx.

    A refusal of the request does not, nor an answer that cannot be read: whoever gave it is there.  A DeadlineError
    counts where the dependency used the time, not where none was left to ask it.

    >>> is_outage(DependencyError("no", service="chat", reason="unreadable"), "chat")
    False
    >>> is_outage(DependencyError("no", service="chat", reason="unreachable"), "chat")
    True
    """
    if isinstance(exc, DeadlineError):
        return exc.service == dependency
    return exc.retryable and exc.details.get("reason") not in ANSWERED


WindowCounts = Mapping[str, Mapping[int, Counted]]
"""By dependency, then by part of the window (`BreakerRules.bucket`)."""


class RetryPolicy(Protocol):
    """Whether a failed call to one dependency is tried again, within a budget that all of its calls share."""

    def begin(self) -> None:
        """Count the first try of a call."""

    def again(self, attempt: int, deadline: Deadline, retry_after: str | None = None) -> bool:
        """Wait before the next try.  False, without waiting, if there is none.

        There is none after the last attempt, if the deadline ends before the pause, if the budget is spent, or if the
        breaker that let the call through has opened since.

        Args:
            attempt: Tries so far, from 1.
            deadline: When the call must have ended.
            retry_after: The `Retry-After` header, if the dependency sent one; the pause is at least as long.
        """


class BreakerStore(Protocol):
    """Breakers by dependency.  All methods raise DatabaseError, and are quick to; times are seconds since 1970."""

    def add(self, counts: WindowCounts, *, oldest: int) -> dict[str, Breaker]:
        """Add *counts* and read all breakers, in one request.  Parts before *oldest* may be forgotten."""

    def open(self, dependency: str, at_s: float, *, reopens_before_s: float) -> Breaker:
        """Open it, unless it is open since *reopens_before_s* or later; what it then is."""

    def claim(self, dependency: str, opened_at_s: float, trial: str, *, now_s: float, until_s: float) -> bool:
        """Begin the one trial of the opening at *opened_at_s*; False if another is under way, or all has changed."""

    def settle(self, dependency: str, trial: str, *, closed: bool, at_s: float) -> bool:
        """End *trial*: closed for all, or open again from *at_s* on; False if it is no longer the one under way."""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """What is known of a request: `fingerprint` is of all that it asked for; `body` is None while it is under way."""

    fingerprint: str
    body: Mapping[str, Any] | None


class StoredReplies(Protocol):
    """Requests by tenant and key.  All methods raise DatabaseError; times are seconds since 1970."""

    def begin(
        self, tenant: str, key: str, fingerprint: str, *, now_s: float, lease_s: float, keep_s: float
    ) -> StoredReply | None:
        """Note that a request is under way, by one conditional write; None if it is now this caller's to do.

        What was there before stays in the way until *keep_s* seconds after it began; the same request, of which no
        reply is stored, for *lease_s* only: whoever did it may have died.
        """

    def find(self, tenant: str, key: str, *, now_s: float) -> StoredReply | None:
        """What `begin` would find in the way, by one consistent read; nothing is written."""

    def finish(self, tenant: str, key: str, body: Mapping[str, Any]) -> None:
        """Keep the reply."""

    def forget(self, tenant: str, key: str) -> None:
        """The request failed: it may be sent again."""
