"""Contenders of the speed benchmark are asked in turns, and what is kept makes its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.peers_speed import CALLERS, IN_TURN, in_turns
from benchmarks.peers_speed_table import speed_table
from benchmarks.records import BenchmarkRecord

ASKED = [f"question {number}" for number in range(2 * IN_TURN)]


class Asked:
    """A contender that answers in the same time always, and notes in a common list when it is asked."""

    def __init__(self, name: str, wall_ms: float, order: list[tuple[str, int]]) -> None:
        self._name, self._wall_ms, self._order = name, wall_ms, order

    def __call__(self, asked: Sequence[str], callers: int) -> dict[str, Any]:
        self._order.append((self._name, callers))
        return {"wall_ms": [self._wall_ms] * len(asked), "cpu_ms": [1.0] * len(asked)}


def test_each_is_warmed_up_then_all_are_asked_in_turns_that_change_their_order() -> None:
    order: list[tuple[str, int]] = []
    in_turns({name: Asked(name, 1.0, order) for name in ("one", "other")}, ASKED)

    for callers in (1, CALLERS):
        names = [name for name, asked_by in order if asked_by == callers]
        assert names == ["one", "other", "other", "one", "one", "other"]


def test_figures_are_of_every_question_by_callers_and_contender() -> None:
    names = {"ragdrop, in process": 10.0, "other": 20.0}
    found = in_turns({name: Asked(name, wall_ms, []) for name, wall_ms in names.items()}, ASKED)

    figures = {"p50_ms": 20.0, "p95_ms": 20.0, "p99_ms": 20.0, "cpu_ms": 1.0}
    assert found["1"]["other"] == found[str(CALLERS)]["other"] == figures
    machine = {"cores": 2, "memory_gb": 24, "processor": "X"}
    record = BenchmarkRecord("peers_speed", "", "", machine, {}, [{"chunks": 1_000, "callers": found}])
    assert speed_table(record).splitlines()[-1].startswith("| other | 20.0 | 20.0 | 20.0 | 1.0 | 2.00 |")
