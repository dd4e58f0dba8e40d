"""Contenders of the speed benchmark are asked in turns, and what is stored makes its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchmarks.peers.process import PeerError
from benchmarks.peers_speed import ADD_AT_ONCE, CALLERS, IN_TURN, fill, in_turns, speed_table
from benchmarks.records import BenchmarkRecord

ASKED = [f"question {number}" for number in range(2 * IN_TURN)]


class Asked:
    """A contender that answers in the same time always, and notes in a common list when it is asked."""

    def __init__(self, name: str, wall_ms: float, order: list[tuple[str, int]]) -> None:
        self._name, self._wall_ms, self._order = name, wall_ms, order

    def __call__(self, asked: Sequence[str], callers: int) -> dict[str, Any]:
        self._order.append((self._name, callers))
        return {"wall_ms": [self._wall_ms] * len(asked), "cpu_ms": [1.0] * len(asked)}


class SlowPeer:
    """A peer that takes a minute for whatever it is given to add."""

    name = "slow"

    def ask(self, op: str, *, documents: list[dict[str, str]], timeout_s: float) -> dict[str, Any]:
        return {"chunks": len(documents), "wall_s": 60.0, "cpu_s": 1.0}


def test_a_contender_that_is_not_filled_in_time_is_left_out_with_the_reason() -> None:
    sources = [{"id": str(number), "title": "", "text": ""} for number in range(2 * ADD_AT_ONCE)]

    assert fill(SlowPeer(), sources, limit_s=90.0) == {"wall_s": 120.0, "cpu_s": 2.0}  # type: ignore[arg-type]
    with pytest.raises(PeerError, match="slow added 5,000 of 10,000 documents in 60 s"):
        fill(SlowPeer(), sources, limit_s=60.0)  # type: ignore[arg-type]

    size = {"chunks": 1_000, "callers": {"1": {}, "8": {}}, "left_out": {"slow": "it added 1"}}
    record = BenchmarkRecord("peers_speed", "", "", {}, {}, [size])
    assert speed_table(record).endswith("slow is left out: it added 1.")


def test_the_processor_time_of_all_is_that_of_the_caller_the_node_and_the_embedding_server() -> None:
    one = {"p50_ms": 9.0, "p95_ms": 9.0, "p99_ms": 9.0, "cpu_ms": 4.0, "node_cpu_ms": 10.0, "embedding_cpu_ms": 1.0}
    size = {"chunks": 1_000, "callers": {"1": {"other": one}, "8": {"other": one}}}
    record = BenchmarkRecord("peers_speed", "", "", {}, {}, [size])

    assert speed_table(record).splitlines()[-1].startswith("| other | 9.0 | 9.0 | 9.0 | 4.0 | 15.0 |")


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
    assert speed_table(record).splitlines()[-1].startswith("| other | 20.0 | 20.0 | 20.0 | 1.0 |  | 2.00 |")
