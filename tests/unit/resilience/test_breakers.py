"""Breakers as an environment knows them: what opens one, who is let through, what is shared."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from ragdrop.errors import (
    CircuitOpenError,
    DatabaseError,
    DeadlineError,
    DependencyError,
    EmbeddingServiceError,
    GenerationError,
    InvalidParamsError,
    RagdropError,
)
from ragdrop.ports.shared_state import NOW_OPEN, BreakerRules
from ragdrop.resilience.breakers import Breakers
from testing.memory_breakers import MemoryBreakers

RULES = BreakerRules()
OUTAGE = DatabaseError("the index could not be reached", service="index")
TABLE_AWAY = DatabaseError("the table did not answer", service="telemetry")


class Environment:
    """One execution environment: its breakers, and a clock that all of them share."""

    def __init__(self, store: MemoryBreakers, clock: list[float]) -> None:
        self._clock = clock
        self.breakers = Breakers(store, RULES, clock=lambda: clock[0], stopwatch=lambda: clock[0])
        self.touched = 0

    def call(self, error: RagdropError | None = None, dependency: str = "index") -> None:
        """One call to the dependency, which raises *error*."""
        with self.breakers.guard(dependency):
            self.touched += 1
            if error:
                raise error

    def fail(self, times: int, error: RagdropError = OUTAGE, dependency: str = "index") -> None:
        """So many calls that fail."""
        for _ in range(times):
            with pytest.raises(type(error)):
                self.call(error, dependency)

    def refuses(self, dependency: str = "index") -> bool:
        """Whether a call is not let through."""
        before = self.touched
        try:
            self.call(dependency=dependency)
        except CircuitOpenError:
            assert self.touched == before
            return True
        return False


@pytest.fixture
def clock() -> list[float]:
    return [1_800_000_000.0]


@pytest.fixture
def store() -> MemoryBreakers:
    return MemoryBreakers()


@pytest.fixture
def here(store: MemoryBreakers, clock: list[float]) -> Environment:
    return Environment(store, clock)


@pytest.fixture
def there(store: MemoryBreakers, clock: list[float]) -> Environment:
    return Environment(store, clock)


def test_five_failures_open_it_and_four_do_not(here: Environment) -> None:
    here.fail(4)
    assert not here.refuses()

    here.fail(1)
    assert here.refuses()


def test_failures_that_are_less_than_half_of_the_calls_do_not_open_it(here: Environment) -> None:
    for _ in range(6):
        here.call()
    here.fail(5)
    assert not here.refuses()


def test_failures_older_than_the_window_do_not_count(here: Environment, clock: list[float]) -> None:
    here.fail(4)
    clock[0] += 61
    here.fail(1)
    assert not here.refuses()


@pytest.mark.parametrize(
    "error",
    [
        DatabaseError("the index refused or failed", service="index", retryable=False, status=400),
        EmbeddingServiceError("an answer that cannot be read", service="embedding", reason="unreadable"),
        GenerationError("the filter", service="chat", retryable=False, reason="content_filter"),
        DeadlineError("no time was left for search", service="search", stage="search"),
        InvalidParamsError("no"),
    ],
)
def test_what_is_no_outage_never_opens_it(here: Environment, error: RagdropError) -> None:
    here.fail(10, error)
    assert not here.refuses()


@pytest.mark.parametrize(
    "error",
    [
        EmbeddingServiceError("did not answer in time", service="embedding"),
        DatabaseError("answered 503", service="registry", status=503),
        DeadlineError("the chat model did not answer in time", service="chat", stage="generate"),
    ],
)
def test_time_outs_connection_errors_and_5xx_open_it(here: Environment, error: DependencyError) -> None:
    here.fail(5, error, error.service)
    assert here.refuses(error.service)


def test_the_breaker_of_one_dependency_leaves_the_others_alone(here: Environment) -> None:
    here.fail(5)
    assert not here.refuses("embedding")


def test_an_open_breaker_says_when_to_come_back(here: Environment, clock: list[float]) -> None:
    here.fail(5)
    clock[0] += 20.5
    with pytest.raises(CircuitOpenError) as refused:
        here.call()
    assert (refused.value.service, refused.value.details["retry_after_s"]) == ("index", 40)


def test_another_environment_sees_it_open_a_second_later(
    here: Environment, there: Environment, clock: list[float]
) -> None:
    there.call()
    here.fail(5)
    clock[0] += 1.0
    assert there.refuses()


def test_failures_of_several_environments_add_up(here: Environment, there: Environment, clock: list[float]) -> None:
    here.fail(3)
    clock[0] += 1.0
    here.call()  # lets the others know of the three
    there.fail(2)
    assert there.refuses()


def test_the_shared_item_is_asked_at_most_once_a_second(
    here: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    for _ in range(100):
        here.call()
    clock[0] += 0.99
    here.fail(4)
    assert store.calls == ["add"]


def test_after_its_time_one_call_is_let_through_and_closes_it(here: Environment, clock: list[float]) -> None:
    here.fail(5)
    clock[0] += 60
    here.call()
    assert not here.refuses()


def test_a_failed_trial_opens_it_again_at_once(here: Environment, there: Environment, clock: list[float]) -> None:
    here.fail(5)
    clock[0] += 60
    here.fail(1)
    assert here.refuses()
    clock[0] += 59
    assert there.refuses()
    clock[0] += 1
    assert not there.refuses()


def test_failures_from_before_it_closed_do_not_open_it_again(here: Environment, clock: list[float]) -> None:
    here.fail(5)
    clock[0] += 60
    here.call()
    clock[0] += 11
    here.fail(4)
    assert not here.refuses()


def test_twenty_concurrent_callers_make_one_trial(
    here: Environment, there: Environment, clock: list[float], store: MemoryBreakers
) -> None:
    here.fail(5)
    here.touched = 0
    clock[0] += 60
    begin, done = Barrier(20), Event()

    def ask(place: int) -> bool:
        environment = (here, there)[place % 2]
        begin.wait(10)
        try:
            with environment.breakers.guard("index"):
                return done.wait(10)  # the trial lasts until all others were answered
        except CircuitOpenError:
            return False

    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(ask, place) for place in range(20)]
        refused = [each for each in asked if _ends(each)]
        done.set()
        let_through = [each.result(10) for each in asked if each not in refused]

    assert (len(refused), let_through) == (19, [True])
    assert store.calls.count("settle") == 1


def test_without_the_store_an_environment_goes_by_what_it_sees_itself(
    here: Environment, there: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    store.fail_with = TABLE_AWAY
    here.fail(5)
    assert here.refuses()
    assert not there.refuses()

    clock[0] += 60
    here.call()
    assert not here.refuses()


def test_a_store_that_fails_is_left_alone_for_five_seconds(
    here: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    store.fail_with = TABLE_AWAY
    for _ in range(50):
        here.call()
        clock[0] += 0.1
    assert store.calls == ["add"]


def test_what_opened_without_the_store_is_shared_once_it_is_back(
    here: Environment, there: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    store.fail_with = TABLE_AWAY
    here.fail(5)
    store.fail_with = None
    clock[0] += 6
    assert here.refuses()
    assert there.refuses()


@pytest.mark.parametrize("late", [frozenset(), frozenset({"claim"}), frozenset({"claim", "settle"})])
def test_a_trial_that_ended_well_while_the_store_was_away_closes_it_for_all_once_it_is_back(
    here: Environment, there: Environment, store: MemoryBreakers, clock: list[float], late: frozenset[str]
) -> None:
    here.fail(5)
    clock[0] += RULES.open_s
    assert here.breakers.known("index").opened_at_s is not None
    store.fail_with, store.late = TABLE_AWAY, late
    here.call()
    store.fail_with = None
    clock[0] += 6
    assert not here.refuses()
    assert not there.refuses()


def test_the_end_of_a_trial_that_the_store_did_not_hear_of_reaches_it_once_it_is_back(
    here: Environment, there: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    here.fail(5)
    clock[0] += RULES.open_s
    with here.breakers.guard("index"):
        store.fail_with = TABLE_AWAY
    store.fail_with = None
    assert there.refuses()
    clock[0] += 6
    assert not here.refuses()
    assert not there.refuses()


def test_a_trial_that_failed_while_the_store_was_away_opens_it_again_for_all_once_it_is_back(
    here: Environment, there: Environment, store: MemoryBreakers, clock: list[float]
) -> None:
    here.fail(5)
    clock[0] += RULES.open_s
    assert here.breakers.known("index").opened_at_s is not None
    store.fail_with, store.late = TABLE_AWAY, frozenset({"claim"})
    here.fail(1)
    failed_at_s = clock[0]
    store.fail_with = None
    clock[0] += 6
    assert here.refuses()
    assert there.breakers.known("index").opened_at_s == failed_at_s


def _ends(each: object) -> bool:
    """Whether a call ends by itself within two seconds."""
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as Late

    assert isinstance(each, Future)
    try:
        each.result(2)
    except Late:
        return False
    return True


def test_a_call_that_was_let_through_learns_that_its_breaker_opened_since(here: Environment) -> None:
    with here.breakers.guard("index"):
        now_open = NOW_OPEN.get()
        assert now_open is not None
        assert not now_open()
        here.fail(5)
        assert now_open()
        assert NOW_OPEN.get() is now_open  # the calls that failed meanwhile had ones of their own
    assert NOW_OPEN.get() is None


def test_a_trial_is_one_request_its_call_is_not_tried_again(here: Environment, clock: list[float]) -> None:
    here.fail(5)
    clock[0] += RULES.open_s

    with here.breakers.guard("index"):
        now_open = NOW_OPEN.get()
        assert now_open is not None
        assert now_open()
