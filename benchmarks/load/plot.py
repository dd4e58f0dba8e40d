"""Draws the plots of a load; run by load_report in the environment of requirements/plots.txt.

python -m benchmarks.load.plot FIGURES.json FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "ragdrop"  # the same numbers give the same file
mpl.rcParams["path.simplify_threshold"] = 1.0

import matplotlib.pyplot as plt  # noqa: E402 the settings come first

SLICE_S = 5


def share(values: Sequence[float], part: float) -> float:
    """The value at *part* (0 to 1) of the sorted values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def latency(samples: list[dict[str, Any]], file: Path) -> None:
    """Percentiles by time, and the distribution beside what the function and the gateway take of it."""
    asked = [each for each in samples if each["kind"] == "search"]
    begun = min(each["at_s"] for each in asked)
    slices: dict[int, list[float]] = {}
    for each in asked:
        slices.setdefault(int((each["at_s"] - begun) // SLICE_S), []).append(each["ms"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    for part in (0.5, 0.95, 0.99):
        at = sorted(slices)
        left.plot(
            [SLICE_S * each for each in at], [share(slices[each], part) for each in at], label=f"p{part:.0%}"[:-1]
        )
    left.axhline(300, color="0.7", linestyle=":")
    left.set(xlabel="seconds", ylabel="ms", title=f"Searches, by {SLICE_S} s", ylim=(0, None))
    left.legend()
    parts = range(1, 100)
    series = {
        "whole": [each["ms"] for each in asked],
        "inside the function": [each["latency_ms"] for each in asked if "latency_ms" in each],
        "without a key": [each["ms"] for each in samples if each["kind"] == "refused"],
    }
    for name, values in series.items():
        if values:
            right.plot([share(values, part / 100) for part in parts], parts, label=name)
    right.set(xlabel="ms", ylabel="per cent at most", title="Distribution", xlim=(0, None))
    right.legend()
    save(figure, file)


def memory(series: list[tuple[int, float]], file: Path) -> None:
    """Memory of a process over requests."""
    figure, axes = plt.subplots(figsize=(6, 3.2))
    ordered = sorted(series)[:: max(1, len(series) // 200)]
    axes.plot([asked for asked, _ in ordered], [mb for _, mb in ordered])
    axes.set(xlabel="requests so far", ylabel="MB a process", title="Memory of the query function", ylim=(0, None))
    save(figure, file)


def save(figure: Any, file: Path) -> None:
    """Write *figure*."""
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def plots() -> int:
    """Read the figures, draw both."""
    found, folder = json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2])
    latency(found["samples"], folder / "load-latency.svg")
    memory([(asked, mb) for asked, mb in found["memory"]], folder / "load-memory.svg")
    return 0


if __name__ == "__main__":
    sys.exit(plots())
