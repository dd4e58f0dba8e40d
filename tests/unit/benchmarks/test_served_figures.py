"""Saturation: what its turns come to, and what its goal compares."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.comparison import load_goals, served_goals
from benchmarks.records import BenchmarkRecord
from benchmarks.served import served_table, turn_figures


def turn(searches: int, *, cpu_s: float) -> dict[str, Any]:
    return {"ms": [20.0] * searches, "wall_s": 2.0, "cpu_s": cpu_s, "node_cpu_s": 0.1}


def rows(**a_second_a_core: float) -> dict[str, Any]:
    figures = turn_figures([turn(10, cpu_s=0.1)])
    return {
        "chunks": 1_000,
        "callers": {"8": {name: figures | {"a_second_a_core": rate} for name, rate in a_second_a_core.items()}},
    }


def test_one_disturbed_turn_does_not_change_the_rate() -> None:
    found = turn_figures([turn(10, cpu_s=0.1), turn(10, cpu_s=0.1), turn(2, cpu_s=0.2)])

    assert (found["a_second"], found["a_second_a_core"], found["searches"]) == (5.0, 100.0, 22)


def test_a_turn_without_a_search_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="no search"):
        turn_figures([turn(10, cpu_s=0.1), turn(0, cpu_s=0.1)])


def test_the_table_has_a_row_a_contender() -> None:
    record = BenchmarkRecord("served", "", "", {}, {}, rows(ragdrop=90.0, other=80.0))

    assert [line.split(" | ")[:2] for line in served_table(record).splitlines()[2:]] == [
        ["| ragdrop", "90"],
        ["| other", "80"],
    ]


def test_the_goal_takes_the_slower_index_and_the_faster_framework() -> None:
    (row,) = served_goals(rows(ragdrop=90.0, **{"ragdrop, bucket": 120.0, "other": 80.0, "another": 100.0}))

    assert row[1:] == ("ragdrop: 90; another: 100", False)


@pytest.mark.parametrize(
    ("p95_ms", "p99_ms", "met"), [(299.0, 499.0, True), (300.0, 400.0, False), (100.0, 500.0, False)]
)
def test_a_load_of_different_questions_and_its_spike_have_to_keep_both_percentiles(
    p95_ms: float, p99_ms: float, met: bool
) -> None:
    phase = {"users": 20, "p95_ms": p95_ms, "p99_ms": p99_ms, "a_second": 19.0}
    spike = {"users": 60, "seconds": 30, "p95_ms": 900.0, "p99_ms": 950.0, "a_second": 40.0}

    paced, spiked = load_goals({"cached": 0.0, "pause_s": 1.0, "spike": spike, **phase})

    assert (paced[2], spiked[2]) == (met, False)
    assert "20 users, a pause of 1 s" in paced[0]


def test_a_load_that_the_caches_answered_shows_nothing() -> None:
    assert load_goals({"cached": 0.7, "p95_ms": 50.0}) == []
