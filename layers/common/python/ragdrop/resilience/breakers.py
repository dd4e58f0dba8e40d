"""Circuit breakers and retries of calls to dependencies; both share their state or budget."""

from __future__ import annotations

import itertools
import logging
import math
import random
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial, wraps
from threading import Lock, RLock
from typing import Any, TypeVar, cast

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import CircuitOpenError, DatabaseError, DependencyError
from ragdrop.ports.model_services import ChatModel, Completion, Message
from ragdrop.ports.search_services import Metrics
from ragdrop.ports.shared_state import NOW_OPEN, Breaker, BreakerRules, BreakerStore, Counted, is_outage
from ragdrop.resilience.timing import note_call

logger = logging.getLogger(__name__)

_NEVER_FAILED = Breaker()
SYNC_EVERY_S = 1.0  # an environment reads and writes the shared item at most this often; an opening is written at once
THROTTLED = 429
REST_S = 5.0  # a store that failed is not asked for so long: until then breakers are this environment's own


class Breakers:
    """The breakers of all dependencies, as this environment knows them; one per execution environment, thread-safe.

    Args:
        store: What environments share; while it does not answer, each goes by what it sees itself.
        rules: When a breaker opens, and for how long.
        clock: Seconds since 1970.
        metrics: Takes failures, throttles and openings, by dependency.
        stopwatch: Seconds on a monotonic clock.
    """

    def __init__(
        self,
        store: BreakerStore,
        rules: BreakerRules,
        *,
        clock: Callable[[], float],
        metrics: Metrics | None = None,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self.rules = rules
        self._clock = clock
        self._stopwatch = stopwatch
        self._lock = RLock()
        self._syncing = Lock()
        self._cached: dict[str, Breaker] = {}
        self._pending: dict[str, dict[int, Counted]] = {}  # counted here, and not yet in the store
        self._unshared: set[str] = set()  # opened here, while the store did not answer
        self._unsettled: list[tuple[str, str, bool, float]] = []  # trials that ended meanwhile: `BreakerStore.settle`
        self._next_sync_s = float("-inf")
        self._rests_until_s = float("-inf")

    @contextmanager
    def guard(self, dependency: str) -> Iterator[None]:
        """Let the block call *dependency*, and count how that ends; retries within it end once the breaker is open.

        Raises CircuitOpenError: its breaker is open, and this is not the one trial; the block is not entered.
        """
        trial = self.enter(dependency)
        before = NOW_OPEN.set(partial(self.is_open, dependency))
        try:
            yield
        except DependencyError as exc:
            failed = is_outage(exc, dependency)
            self.leave(dependency, trial, failed=failed)
            if failed:
                self._measure(dependency, DependencyErrors=1, Throttles=int(exc.details.get("status") == THROTTLED))
            raise
        except BaseException:  # of whatever kind, it says nothing of the dependency; the trial ends
            self.leave(dependency, trial, failed=False)
            raise
        finally:
            NOW_OPEN.reset(before)
        self.leave(dependency, trial, failed=False)

    def enter(self, dependency: str) -> str | None:
        """Begin a call: the name of the trial where this is one, else None.  Each needs its `leave`.

        Raises CircuitOpenError: the breaker is open, and this is not the one trial.
        """
        now_s = self._clock()
        known = self.known(dependency)
        opened_at_s = known.opened_at_s
        if opened_at_s is None:
            return None
        if known.may_try(now_s, self.rules):
            trial = uuid.uuid4().hex
            if self._claims(dependency, opened_at_s, trial, now_s):
                return trial
        raise self._refusal(dependency)

    def leave(self, dependency: str, trial: str | None, *, failed: bool) -> None:
        """End a call; *failed* says whether that counts against the dependency."""
        now_s = self._clock()
        if trial is not None:
            self._settle(dependency, trial, failed=failed, now_s=now_s)
            return
        with self._lock:
            buckets = self._pending.setdefault(dependency, {})
            at = self.rules.bucket(now_s)
            buckets[at] = buckets.get(at, Counted()) + Counted(1, int(failed))
        if failed:
            self._sync_if_due()
            self._open_if_due(dependency, now_s)

    def check(self, dependency: str) -> None:
        """Return if a call might be let through; nothing is begun. Raises CircuitOpenError: it would be refused."""
        if self.is_open(dependency):
            raise self._refusal(dependency)

    def is_open(self, dependency: str) -> bool:
        """Whether a call now would be refused.  Touches nothing but the shared item."""
        known, now_s = self.known(dependency), self._clock()
        return known.opened_at_s is not None and not known.may_try(now_s, self.rules)

    def known(self, dependency: str) -> Breaker:
        """What environments share of a dependency, no older than a second where the store answers.

        What this one has counted since is not in it.
        """
        self._sync_if_due()
        return self._cached.get(dependency, _NEVER_FAILED)

    def _refusal(self, dependency: str) -> CircuitOpenError:
        wait_s = self._now(dependency).retry_after_s(self._clock(), self.rules)
        message = f"the breaker of {dependency} is open: it is tried again in {wait_s} s"
        return CircuitOpenError(message, service=dependency, retry_after_s=wait_s)

    def _now(self, dependency: str) -> Breaker:
        with self._lock:
            cached = self._cached.get(dependency, Breaker())
            own = self._pending.get(dependency, {})
            if not own:
                return cached
            counts = {at: cached.counts.get(at, Counted()) + own.get(at, Counted()) for at in {*cached.counts, *own}}
            return replace(cached, counts=counts)

    def _sync_if_due(self) -> None:
        if self._stopwatch() < self._next_sync_s:
            return
        with self._syncing:  # one asks, the others wait for what it learns
            if self._stopwatch() < self._next_sync_s:
                return
            oldest = self.rules.oldest(self._clock())
            with self._lock:
                sent = {
                    dependency: {at: each for at, each in buckets.items() if at >= oldest}
                    for dependency, buckets in self._pending.items()
                }
                self._pending = {}
            asked_at_s = self._stopwatch()
            try:
                self._share_late()
                found = self._store.add({name: buckets for name, buckets in sent.items() if buckets}, oldest=oldest)
            except DatabaseError as exc:
                self._rest(exc)
                with self._lock:
                    for dependency, buckets in sent.items():
                        own = self._pending.setdefault(dependency, {})
                        for at, each in buckets.items():
                            own[at] = own.get(at, Counted()) + each
                return
            with self._lock:
                self._cached = found
            self._next_sync_s = asked_at_s + SYNC_EVERY_S

    def _share_late(self) -> None:
        """Tell the store what happened while it did not answer.

        A claim whose answer was lost may have been carried out: until its trial is ended, nobody begins another.
        """
        with self._lock:
            openings = {name: self._cached[name].opened_at_s for name in self._unshared if name in self._cached}
        while self._unsettled:
            dependency, trial, closed, ended_at_s = self._unsettled[0]
            self._store.settle(dependency, trial, closed=closed, at_s=ended_at_s)
            del self._unsettled[0]
        for name, at_s in openings.items():
            if at_s is not None:
                self._store.open(name, at_s, reopens_before_s=0.0)  # one that others opened stays as it is
        self._unshared -= set(openings)

    def _open_if_due(self, dependency: str, now_s: float) -> None:
        known = self._now(dependency)
        if known.opened_at_s is not None or not known.should_open(now_s, self.rules):
            return
        opened = Breaker(opened_at_s=now_s)
        if not self._resting():
            try:
                opened = self._store.open(dependency, now_s, reopens_before_s=now_s - self.rules.open_s)
            except DatabaseError as exc:
                self._rest(exc)
        if self._resting():
            self._unshared.add(dependency)
        self._hold(dependency, opened)
        self._measure(dependency, BreakersOpened=1)
        logger.warning("a breaker opened", extra={"dependency": dependency})

    def _claims(self, dependency: str, opened_at_s: float, trial: str, now_s: float) -> bool:
        """Whether this call is the one trial, by the store; by this environment alone where that does not answer."""
        until_s = now_s + self.rules.trial_s
        if not self._resting():
            try:
                won = self._store.claim(dependency, opened_at_s, trial, now_s=now_s, until_s=until_s)
            except DatabaseError as exc:
                self._rest(exc)
            else:
                with self._lock:  # who lost knows that another is under way, until the next look says more
                    cached = replace(
                        self._now(dependency), counts={}, trial=trial if won else "", trial_until_s=until_s
                    )
                    self._cached[dependency] = cached
                return won
        with self._lock:
            cached = self._now(dependency)
            if cached.opened_at_s != opened_at_s or not cached.may_try(now_s, self.rules):
                return False
            self._cached[dependency] = replace(cached, trial=trial, trial_until_s=until_s)
            return True

    def _settle(self, dependency: str, trial: str, *, failed: bool, now_s: float) -> None:
        mine = True
        if not self._resting():
            try:
                mine = self._store.settle(dependency, trial, closed=not failed, at_s=now_s)
            except DatabaseError as exc:
                self._rest(exc)
        if self._resting():
            self._unsettled.append((dependency, trial, not failed, now_s))
        if not mine:
            return
        self._hold(dependency, Breaker(opened_at_s=now_s) if failed else Breaker(closed_at_s=now_s))
        if failed:
            self._measure(dependency, BreakersOpened=1)
        word = "opened again" if failed else "closed"
        logger.warning("a breaker %s", word, extra={"dependency": dependency})

    def _measure(self, dependency: str, **values: float) -> None:
        if self._metrics is not None:
            self._metrics.put(values, dependency=dependency)

    def _hold(self, dependency: str, breaker: Breaker) -> None:
        with self._lock:
            self._pending.pop(dependency, None)
            self._cached[dependency] = breaker

    def _resting(self) -> bool:
        return self._stopwatch() < self._rests_until_s

    def _rest(self, exc: DatabaseError) -> None:
        self._next_sync_s = self._rests_until_s = self._stopwatch() + REST_S
        logger.warning("breakers are not shared for now", extra={"service": exc.service})


INDEX = "index"
EMBEDDING = "embedding"
CHAT = "chat"
REGISTRY = "registry"
OBJECT_STORE = "object_store"
RERANK = "rerank"

T = TypeVar("T")


def guarded(port: T, dependency: str, breakers: Breakers) -> T:
    """*port* with every method behind the breaker of *dependency*; for methods that return once they are done."""
    return cast("T", _Guarded(port, dependency, breakers))


class _Guarded:
    """Wraps whatever method is asked for, once."""

    def __init__(self, port: object, dependency: str, breakers: Breakers) -> None:
        self._port = port
        self._dependency = dependency
        self._breakers = breakers

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        breakers, dependency = self._breakers, self._dependency

        @wraps(found)
        def behind(*args: Any, **named: Any) -> Any:
            with breakers.guard(dependency):
                return found(*args, **named)

        return behind


class GuardedChatModel:
    """A ChatModel behind its breaker, whose calls are noted; a stream counts as answered with its first piece."""

    def __init__(self, chat: ChatModel, breakers: Breakers) -> None:
        self._chat = chat
        self._breakers = breakers

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        deadline: Deadline,
        model: str | None = None,
        as_json: bool = False,
    ) -> Completion:
        """The whole answer; raises CircuitOpenError too."""
        with self._breakers.guard(CHAT):
            completion = self._chat.complete(
                messages, max_tokens=max_tokens, deadline=deadline, model=model, as_json=as_json
            )
        note_call(completion.call)
        return completion

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, deadline: Deadline, model: str | None = None
    ) -> Iterator[str | Completion]:
        """The answer piece by piece; raises CircuitOpenError too, before the first."""
        pieces = self._chat.stream(messages, max_tokens=max_tokens, deadline=deadline, model=model)
        with closing(cast("Generator[str | Completion]", pieces)):  # who stops listening stops the model
            with self._breakers.guard(CHAT):
                first = next(pieces)
            for piece in itertools.chain([first], pieces):
                if isinstance(piece, Completion):
                    note_call(piece.call)
                yield piece


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
