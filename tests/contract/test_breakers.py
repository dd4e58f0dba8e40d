"""What every BreakerStore does: counts add up, one opening, one trial."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from ragdrop.ports.shared_state import Breaker, BreakerStore, Counted
from tests.contract.aws_fixtures import ENGINES, breakers_engine

NOW_S = 1_800_000_000.25
OLDEST = 100


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest) -> Iterator[BreakerStore]:
    with breakers_engine(request.param) as made:
        yield made


@pytest.fixture
def name() -> str:
    """A dependency of one's own: the stack's store holds others too."""
    return f"d{uuid4().hex[:12]}"


def test_what_nobody_counted_is_not_there(store: BreakerStore, name: str) -> None:
    assert name not in store.add({}, oldest=OLDEST)


def test_counts_of_several_writers_add_up(store: BreakerStore, name: str) -> None:
    store.add({name: {100: Counted(2, 1), 101: Counted(1, 0)}}, oldest=OLDEST)
    found = store.add({name: {101: Counted(3, 3)}}, oldest=OLDEST)

    assert found[name] == Breaker({100: Counted(2, 1), 101: Counted(4, 3)})
    assert store.add({}, oldest=OLDEST)[name] == found[name]


def test_old_counts_are_gone_after_two_more_calls(store: BreakerStore, name: str) -> None:
    store.add({name: {100: Counted(2, 1)}}, oldest=OLDEST)
    store.add({name: {105: Counted(1, 1)}}, oldest=105)
    store.add({}, oldest=105)

    assert store.add({}, oldest=105)[name] == Breaker({105: Counted(1, 1)})


def test_an_opening_is_seen_by_all_and_a_second_one_does_not_move_it(store: BreakerStore, name: str) -> None:
    opened = store.open(name, NOW_S, reopens_before_s=NOW_S - 60)
    again = store.open(name, NOW_S + 1, reopens_before_s=NOW_S - 59)

    assert (opened.opened_at_s, again.opened_at_s) == (NOW_S, NOW_S)
    assert store.add({}, oldest=OLDEST)[name].opened_at_s == NOW_S


def test_of_twenty_callers_one_gets_the_trial(store: BreakerStore, name: str) -> None:
    store.open(name, NOW_S, reopens_before_s=NOW_S - 60)

    def claim(caller: int) -> bool:
        return store.claim(name, NOW_S, f"trial-{caller}", now_s=NOW_S + 60, until_s=NOW_S + 90)

    with ThreadPoolExecutor(20) as pool:
        won = list(pool.map(claim, range(20)))

    assert won.count(True) == 1


def test_a_trial_that_nobody_heard_of_again_is_given_to_another(store: BreakerStore, name: str) -> None:
    store.open(name, NOW_S, reopens_before_s=NOW_S - 60)
    store.claim(name, NOW_S, "first", now_s=NOW_S + 60, until_s=NOW_S + 90)

    assert store.claim(name, NOW_S, "second", now_s=NOW_S + 90, until_s=NOW_S + 120)
    assert not store.settle(name, "first", closed=True, at_s=NOW_S + 91)


def test_there_is_no_trial_of_an_opening_that_is_over(store: BreakerStore, name: str) -> None:
    store.open(name, NOW_S, reopens_before_s=NOW_S - 60)
    store.claim(name, NOW_S, "first", now_s=NOW_S + 60, until_s=NOW_S + 90)
    store.settle(name, "first", closed=False, at_s=NOW_S + 61)

    assert not store.claim(name, NOW_S, "second", now_s=NOW_S + 95, until_s=NOW_S + 125)
    assert store.claim(name, NOW_S + 61, "second", now_s=NOW_S + 121, until_s=NOW_S + 151)


def test_a_trial_that_went_well_closes_it_for_all(store: BreakerStore, name: str) -> None:
    store.open(name, NOW_S, reopens_before_s=NOW_S - 60)
    store.claim(name, NOW_S, "first", now_s=NOW_S + 60, until_s=NOW_S + 90)

    assert store.settle(name, "first", closed=True, at_s=NOW_S + 61)
    found = store.add({}, oldest=OLDEST)[name]
    assert (found.opened_at_s, found.closed_at_s, found.trial) == (None, NOW_S + 61, "")


def test_a_trial_that_failed_opens_it_again(store: BreakerStore, name: str) -> None:
    store.open(name, NOW_S, reopens_before_s=NOW_S - 60)
    store.claim(name, NOW_S, "first", now_s=NOW_S + 60, until_s=NOW_S + 90)
    store.settle(name, "first", closed=False, at_s=NOW_S + 61)

    found = store.add({}, oldest=OLDEST)[name]
    assert (found.opened_at_s, found.trial_until_s) == (NOW_S + 61, 0.0)


def test_old_counts_go_with_the_next_count(store: BreakerStore, name: str) -> None:
    store.add({name: {100: Counted(2, 1)}}, oldest=OLDEST)
    store.add({name: {105: Counted(1, 1)}}, oldest=105)

    found = store.add({name: {105: Counted(1, 0)}}, oldest=105)

    assert found[name] == store.add({}, oldest=105)[name] == Breaker({105: Counted(2, 1)})
