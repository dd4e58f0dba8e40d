"""What every WorkLedger does: a plan is listed once, an item has one worker at a time and counts once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragdrop.ports.work_ledger import WorkCounts, WorkLedger, WorkRange, WorkSummary
from tests.contract.aws_fixtures import ENGINES, work_ledger_engine

INDEX = "bucket-v1-nomic-768-2"
ITEMS = [WorkRange(n, f"cursor-{n}", f"team/{n}.md", 100) for n in range(3)]
COUNTS = WorkCounts(100, 1_234, 55, 6_789)


@pytest.fixture(params=ENGINES)
def ledger(request: pytest.FixtureRequest) -> Iterator[WorkLedger]:
    with work_ledger_engine(request.param) as made:
        yield made


@pytest.fixture
def listed(ledger: WorkLedger, tenant: str) -> Iterator[WorkLedger]:
    ledger.begin(tenant, INDEX, 7.5)
    assert ledger.add(tenant, INDEX, summary(ledger, tenant), ITEMS, None)
    yield ledger
    ledger.forget(tenant, INDEX)


def summary(ledger: WorkLedger, tenant: str) -> WorkSummary:
    found = ledger.summary(tenant, INDEX)
    assert found is not None
    return found


def test_a_plan_begins_empty_and_once(ledger: WorkLedger, tenant: str) -> None:
    assert ledger.summary(tenant, INDEX) is None

    ledger.begin(tenant, INDEX, 7.5)
    ledger.begin(tenant, INDEX, 9.0)

    assert summary(ledger, tenant) == WorkSummary(begun_at_s=7.5)
    assert not summary(ledger, tenant).is_done


def test_of_two_workers_that_list_one_adds_its_items(ledger: WorkLedger, tenant: str) -> None:
    ledger.begin(tenant, INDEX, 0.0)
    before = summary(ledger, tenant)

    first = ledger.add(tenant, INDEX, before, ITEMS[:2], "cursor-2")
    second = ledger.add(tenant, INDEX, before, ITEMS[:2], "cursor-2")
    third = ledger.add(tenant, INDEX, summary(ledger, tenant), ITEMS[2:], None)

    assert (first, second, third) == (True, False, True)
    now = summary(ledger, tenant)
    assert (now.planned, now.listed, now.after) == (3, 300, None)
    assert list(ledger.left(tenant, INDEX)) == [0, 1, 2]


def test_an_item_has_one_worker_until_its_lease_is_over(listed: WorkLedger, tenant: str) -> None:
    first = listed.claim(tenant, INDEX, 1, "one", now_s=10.0, until_s=70.0)
    other = listed.claim(tenant, INDEX, 1, "two", now_s=20.0, until_s=80.0)
    again = listed.claim(tenant, INDEX, 1, "one", now_s=20.0, until_s=80.0)
    later = listed.claim(tenant, INDEX, 1, "two", now_s=80.0, until_s=140.0)

    assert (first, other, again, later) == (ITEMS[1], None, ITEMS[1], ITEMS[1])
    assert not listed.is_done(tenant, INDEX, 1)


def test_an_item_counts_once_whoever_says_that_it_is_done(listed: WorkLedger, tenant: str) -> None:
    listed.claim(tenant, INDEX, 1, "one", now_s=0.0, until_s=60.0)
    listed.claim(tenant, INDEX, 1, "two", now_s=61.0, until_s=99.0)

    late = listed.finish(tenant, INDEX, 1, "one", COUNTS, 62.0)
    first = listed.finish(tenant, INDEX, 1, "two", COUNTS, 63.0)
    second = listed.finish(tenant, INDEX, 1, "two", COUNTS, 64.0)

    assert (late, first, second) == (False, True, False)
    now = summary(listed, tenant)
    assert (now.done, now.counts, now.ended_at_s) == (1, COUNTS, 63.0)
    assert list(listed.left(tenant, INDEX)) == [0, 2]
    assert listed.is_done(tenant, INDEX, 1)
    assert listed.claim(tenant, INDEX, 1, "three", now_s=999.0, until_s=1_000.0) is None


def test_an_item_that_is_not_there_cannot_be_taken(listed: WorkLedger, tenant: str) -> None:
    assert listed.claim(tenant, INDEX, 77, "one", now_s=0.0, until_s=60.0) is None
    assert listed.is_done(tenant, INDEX, 77)


def test_many_workers_at_once_count_each_item_once(ledger: WorkLedger, tenant: str) -> None:
    items = [WorkRange(n, "", f"team/{n}.md", 1) for n in range(20)]
    ledger.begin(tenant, INDEX, 0.0)
    assert ledger.add(tenant, INDEX, summary(ledger, tenant), items, None)

    def work(worker: int) -> int:
        done = 0
        for each in items:
            if ledger.claim(tenant, INDEX, each.number, f"w{worker}", now_s=1.0, until_s=61.0) is not None:
                done += ledger.finish(tenant, INDEX, each.number, f"w{worker}", WorkCounts(1, 2, 3, 4), 2.0)
        return done

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(work, range(4)))

    assert sum(done) == 20
    now = summary(ledger, tenant)
    assert now.is_done
    assert now.counts == WorkCounts(20, 40, 60, 80)


def test_a_forgotten_plan_is_gone_and_others_stay(listed: WorkLedger, tenant: str) -> None:
    listed.begin(tenant, f"{INDEX}-other", 0.0)

    listed.forget(tenant, INDEX)

    assert listed.summary(tenant, INDEX) is None
    assert list(listed.left(tenant, INDEX)) == []
    assert listed.summary(tenant, f"{INDEX}-other") is not None
