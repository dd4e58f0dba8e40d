"""What turns at saturation come to, and their table: pure, so that both can be read without a server."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.load.figures import percentile
from benchmarks.records import BenchmarkRecord

OWN = "ragdrop"


def turn_figures(turns: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of turns (`ms` of each search, `wall_s`, `cpu_s`, `node_cpu_s`) the figures of a row.

    Searches a second and of a core are medians of the turns; percentiles are of all searches.

    Raises:
        ValueError: A turn has no search.

    >>> turn = {"ms": [10.0, 20.0], "wall_s": 1.0, "cpu_s": 0.01, "node_cpu_s": 0.04}
    >>> turn_figures([turn])["a_second"], turn_figures([turn])["a_second_a_core"]
    (2.0, 200.0)
    """
    if not all(each["ms"] for each in turns):
        raise ValueError("a turn has no search")
    every = [one for each in turns for one in each["ms"]]
    return {
        "searches": len(every),
        "a_second": statistics.median(len(each["ms"]) / each["wall_s"] for each in turns),
        "a_second_a_core": statistics.median(len(each["ms"]) / each["cpu_s"] for each in turns),
        "cpu_ms": 1_000 * sum(each["cpu_s"] for each in turns) / len(every),
        "node_cpu_ms": 1_000 * sum(each["node_cpu_s"] for each in turns) / len(every),
        "p50_ms": percentile(every, 0.5),
        "p95_ms": percentile(every, 0.95),
    }


def served_table(record: BenchmarkRecord) -> str:
    """For each number of callers a row a contender."""
    found = record.results
    parts = []
    for callers, rows in found["callers"].items():
        who = "1 caller" if callers == "1" else f"{callers} callers"
        figures = "searches a second a core | CPU | node's CPU | searches a second | p50 | p95"
        lines = [f"| {found['chunks']:,} chunks, {who} | {figures} |", "|---|" + "---|" * 6]
        for called, row in rows.items():
            cells = [f"{row['a_second_a_core']:.0f}"]
            cells += [f"{row[name]:.1f}" for name in ("cpu_ms", "node_cpu_ms", "a_second", "p50_ms", "p95_ms")]
            lines.append(f"| {called} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def slowest_own_and_best_other(found: Mapping[str, Any]) -> tuple[tuple[str, float], tuple[str, float]]:
    """At most callers: the slower of ragdrop's and the faster of the others, each with its searches a second a core.

    >>> rows = {"ragdrop, a": 90.0, "ragdrop, b": 80.0, "X": 50.0, "Y": 60.0}
    >>> slowest_own_and_best_other({"callers": {"8": {name: {"a_second_a_core": n} for name, n in rows.items()}}})
    (('ragdrop, b', 80.0), ('Y', 60.0))
    """
    rows = found["callers"][max(found["callers"], key=int)]
    rates = {called: row["a_second_a_core"] for called, row in rows.items()}
    own = min((name for name in rates if name.startswith(OWN)), key=rates.__getitem__)
    other = max((name for name in rates if not name.startswith(OWN)), key=rates.__getitem__)
    return (own, rates[own]), (other, rates[other])
