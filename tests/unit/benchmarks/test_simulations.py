"""The simulations of the scale plan lose nothing, and bend where their limits are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scale import ingest_simulation, query_simulation
from benchmarks.scale.ingest_simulation import IngestLimits, steady
from benchmarks.scale.query_simulation import QueryLimits, Time

QUICK = Time(0.01, 0.02)
WIDE = QueryLimits(1e6, 1_000_000, 100_000, 1e9, 10.0, 1_000, QUICK, QUICK, QUICK)


@given(
    rate=st.floats(1, 200),
    gateway=st.floats(1, 300),
    environments=st.integers(1, 50),
    cores=st.integers(1, 4),
    reads=st.floats(100, 3_000),
    deadline_s=st.floats(0.05, 2),
    seed=st.integers(0, 1_000),
)
@settings(max_examples=30, deadline=None)
def test_every_query_that_arrived_was_answered_or_refused_or_still_waits(
    rate: float, gateway: float, environments: int, cores: int, reads: float, deadline_s: float, seed: int
) -> None:
    slow = Time(0.05, 0.3)
    limits = QueryLimits(gateway, 5, environments, reads, 10.0, cores, QUICK, slow, slow, deadline_s)

    found = query_simulation.simulate(limits, rate=rate, seconds=5.0, seed=seed)

    assert found.arrived == found.answered + sum(found.refused.values()) + found.waiting


@given(
    bursts=st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 300)), max_size=5),  # whole seconds add up exactly
    concurrency=st.integers(1, 20),
    killed=st.floats(0, 0.5),
    failed=st.floats(0, 0.9),
    seconds=st.integers(10, 4_000),
    seed=st.integers(0, 1_000),
)
@settings(max_examples=30, deadline=None)
def test_every_document_that_arrived_was_indexed_or_is_dead_or_still_in_the_queue(
    bursts: list[tuple[int, int]], concurrency: int, killed: float, failed: float, seconds: int, seed: int
) -> None:
    limits = IngestLimits(concurrency, killed_share=killed, failed_share=failed)
    arrivals = sorted((at, count) for at, count in bursts if at < seconds)

    found = ingest_simulation.simulate(limits, arrivals, seconds=seconds, seed=seed)

    assert found.arrived == sum(count for _, count in arrivals)
    assert found.arrived == found.indexed + found.dead + found.waiting


@pytest.mark.parametrize(
    ("limits", "bends_at"),
    [
        (replace(WIDE, gateway_rate=50.0, gateway_burst=10), "gateway"),
        (replace(WIDE, environments=1), "environments"),
        (replace(WIDE, reads_a_second=500.0), "table"),
        (replace(WIDE, index_cores=1, index=Time(0.1, 0.1), deadline_s=0.5), "deadline"),
    ],
)
def test_a_query_is_refused_by_the_limit_that_is_too_small_and_by_no_other(limits: QueryLimits, bends_at: str) -> None:
    found = query_simulation.simulate(limits, rate=100.0, seconds=10.0)

    assert set(found.refused) == {bends_at}


def test_without_limits_nothing_is_refused_and_a_query_takes_its_own_time() -> None:
    found = query_simulation.simulate(WIDE, rate=100.0, seconds=10.0)

    assert not found.refused
    assert found.percentile_ms(50) == pytest.approx(30, rel=0.2)


def test_an_outage_shorter_than_the_retries_loses_no_document_and_a_longer_one_makes_dead_letters() -> None:
    arrivals = steady(1.0, 100.0)

    short = ingest_simulation.simulate(IngestLimits(outage_s=(0.0, 600.0)), arrivals, seconds=6_000.0)
    long = ingest_simulation.simulate(IngestLimits(outage_s=(0.0, 6_000.0)), arrivals, seconds=6_000.0)

    assert (short.indexed, short.dead) == (100, 0)
    assert (long.indexed, long.dead) == (0, 100)


def test_a_message_whose_worker_dies_comes_back_after_the_visibility_timeout() -> None:
    always_killed = IngestLimits(killed_share=1.0, visibility_s=360.0)

    found = ingest_simulation.simulate(always_killed, [(0.0, 1)], seconds=5 * 360.0 - 1)
    later = ingest_simulation.simulate(always_killed, [(0.0, 1)], seconds=5 * 360.0 + 1)

    assert (found.hidden, found.dead) == (1, 0)
    assert (later.hidden, later.dead) == (0, 1)


def test_a_backlog_drains_as_fast_as_the_batches_that_run_at_once() -> None:
    five = ingest_simulation.simulate(IngestLimits(concurrency=5), [(0.0, 20_000)], seconds=1_000.0)
    ten = ingest_simulation.simulate(IngestLimits(concurrency=10), [(0.0, 20_000)], seconds=1_000.0)

    assert ten.indexed == pytest.approx(2 * five.indexed, rel=0.02)
