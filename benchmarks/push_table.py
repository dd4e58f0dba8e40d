"""The table of a push to a local stack, from its record."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.grids import shown

GOAL = 1.5  # times the embedding alone
STAGES = {
    "begun_s": "until ingest has begun with the first file",
    "sent_s": "until it has begun with the last",
    "indexed_s": "until the last is indexed",
    "wall_s": "until the command ends",
}


def ratio_of(measured_round: Mapping[str, Any]) -> float:
    """The whole push over the embedding alone.

    >>> ratio_of({"wall_s": 6.0, "alone_s": 4.0})
    1.5
    """
    return float(measured_round["wall_s"] / measured_round["alone_s"])


def push_table(results: Mapping[str, Any]) -> str:
    """The stages and the processor time of the first push, and of the median of those after it."""
    first, later = results["rounds"][0], results["rounds"][1:]

    def row(what: str, value_of: Any, goal: str = "", unit: str = "") -> Sequence[str]:
        after = f"{statistics.median(value_of(each) for each in later):.2f}{unit}" if later else ""
        return what, goal, f"{value_of(first):.2f}{unit}", after

    rows = [row("push and index, over the embedding alone", ratio_of, f"{GOAL} x", " x")]
    rows += [row(f"{what}, s", lambda each, stage=stage: each[stage]) for stage, what in STAGES.items()]
    rows.append(row("the embedding alone, s", lambda each: each["alone_s"]))
    for role in _roles(first["cpu_s"]):
        rows.append(row(f"processor time: {role}, s", lambda each, role=role: _of_role(each["cpu_s"], role)))
    note = f"{results['files']} files, {results['chunks']} chunks; medians of {len(later)} later pushes."
    return shown([{"columns": ("what", "goal", "first push after `make up`", "later"), "rows": rows, "note": note}])


def _roles(spent: Mapping[str, float]) -> list[str]:
    """What took more than a tenth of a second; functions without the suffix of their deployment."""
    names = dict.fromkeys(role.rpartition("-")[0] if role.startswith("function") else role for role in spent)
    return sorted((name for name in names if _of_role(spent, name) > 0.1), key=lambda name: -_of_role(spent, name))


def _of_role(spent: Mapping[str, float], name: str) -> float:
    return sum(seconds for role, seconds in spent.items() if role == name or role.startswith(f"{name}-"))
