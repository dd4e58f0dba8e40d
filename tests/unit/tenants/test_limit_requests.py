"""Limits of requests: by key and by tenant, over several environments, at one write a second."""

from __future__ import annotations

import pytest

from ragdrop.domain.tenants import Caller, RateLimits
from ragdrop.errors import DatabaseError, RateLimitedError
from ragdrop.tenants.limits import LimitRequests
from testing.memory_telemetry import MemoryRequestCounts

ONE, OTHER = Caller("acme", "reader", credential="one"), Caller("acme", "reader", credential="other")
MINUTE = 1_800_000_000.0  # one begins


class Environments:
    """Two execution environments over one table, and a clock."""

    def __init__(self) -> None:
        self.now_s = MINUTE
        self.counts = MemoryRequestCounts()
        self.first, self.second = (LimitRequests(lambda: self.counts, clock=lambda: self.now_s) for _ in range(2))

    def admitted(self, requests: int, rates: RateLimits, caller: Caller = ONE, *, step_s: float = 0.0) -> int:
        """How many of *requests*, sent to both environments in turn, were let through."""
        passed = 0
        for number in range(requests):
            try:
                (self.first, self.second)[number % 2].admit(caller, rates)
                passed += 1
            except RateLimitedError:
                pass
            self.now_s += step_s
        return passed


@pytest.fixture
def environments() -> Environments:
    return Environments()


def test_without_limits_nothing_is_counted(environments: Environments) -> None:
    assert environments.admitted(500, RateLimits()) == 500
    assert environments.counts.writes == 0


def test_a_key_is_refused_once_its_requests_are_made_and_others_are_not(environments: Environments) -> None:
    rates = RateLimits(key_per_minute=5)

    assert environments.admitted(20, rates, step_s=1.1) == 5
    assert environments.admitted(3, rates, OTHER, step_s=1.1) == 3


def test_all_keys_together_are_bounded_by_the_tenants_limit(environments: Environments) -> None:
    rates = RateLimits(per_minute=6)

    passed = sum(environments.admitted(1, rates, caller, step_s=1.1) for caller in (ONE, OTHER) * 10)

    assert passed == 6


def test_environments_that_share_once_a_second_let_little_through_beyond_a_limit(environments: Environments) -> None:
    passed = environments.admitted(1_000, RateLimits(per_minute=100), step_s=0.02)

    assert 100 <= passed <= 100 + 50  # what both may let through in the second before they share


def test_an_environment_writes_at_most_once_a_second(environments: Environments) -> None:
    environments.admitted(1_000, RateLimits(per_minute=10_000), step_s=0.01)

    assert environments.counts.writes <= 2 * 11


def test_the_next_minute_begins_with_no_requests(environments: Environments) -> None:
    rates = RateLimits(key_per_minute=2)
    assert environments.admitted(4, rates, step_s=1.1) == 2

    environments.now_s += 60

    assert environments.admitted(4, rates, step_s=1.1) == 2


def test_an_error_says_the_limit_and_when_to_come_back(environments: Environments) -> None:
    environments.now_s += 20
    environments.first.admit(ONE, RateLimits(key_per_minute=1))

    with pytest.raises(RateLimitedError, match="may make 1 requests a minute") as caught:
        environments.first.admit(ONE, RateLimits(key_per_minute=1))
    assert caught.value.details == {"retry_after_s": 40, "limit": 1, "scope": "credential"}


def test_a_table_that_is_down_stops_nobody_and_each_environment_counts_alone(environments: Environments) -> None:
    environments.counts.fail_with = DatabaseError("down", service="telemetry")

    assert environments.admitted(20, RateLimits(per_minute=3)) == 6
    assert environments.counts.writes == 2


def test_tenants_do_not_share_their_limits(environments: Environments) -> None:
    rates = RateLimits(per_minute=1)
    environments.first.admit(ONE, rates)

    environments.first.admit(Caller("other", "reader", credential="one"), rates)
