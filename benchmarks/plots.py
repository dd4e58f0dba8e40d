"""Draw the plots of docs/ from records; `draw` runs this module in its own environment, which has matplotlib.

python -m benchmarks.plots calibration | first_answer | growth | load FIGURES.json
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PYTHON = ROOT / ".local/env/plots/bin/python"
COLOURS = {"bucket": "tab:orange", "opensearch": "tab:blue"}
SLICE_S = 5  # of the load's first plot


def draw(name: str, *arguments: str) -> None:
    """Draw the plots of a benchmark if their environment exists, else report how to make it."""
    if not PYTHON.exists():
        print(f"{name}: no plot, make .local/env/plots/.ready first", file=sys.stderr)
        return
    command = [str(PYTHON), "-m", "benchmarks.plots", name, *arguments]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603 - our own modules


def calibration() -> None:
    """Is a question whose best hit is worth 0.9 nine times of ten at home?"""
    figure, axes = _plt().subplots(figsize=(5.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.8", linestyle=":", label="perfectly calibrated")
    axes.axvline(0.7, color="0.6", linewidth=0.8)
    for name, rows in groupby(_results("calibration")[-1]["rows"], key=lambda row: row[0]):
        means, shares = zip(*((float(mean), float(share)) for _, mean, share in rows), strict=True)
        axes.plot(means, shares, marker="o", markersize=4, label=name)
    axes.set_xlabel("relevance of a question's best hit")
    axes.set_ylabel("share of questions that the collection answers")
    axes.set_title("Fitted on titles alone, judged by questions")
    axes.legend()
    _save(figure, "calibration.svg")


def first_answer() -> None:
    rows = _results("first_answer")["rows"]
    figure, (left, right) = _plt().subplots(1, 2, figsize=(10, 3.2), sharey=True)
    names = list(rows)[::-1]
    for axes, n, title in ((left, 0, "ms until the answer"), (right, 1, "of them processor time")):
        begun = [0.0] * len(names)
        for stage in rows[names[0]]:
            times = [rows[name][stage][n] for name in names]
            axes.barh(names, times, left=begun, height=0.6, label=stage)
            begun = [before + time for before, time in zip(begun, times, strict=True)]
        axes.set(title=title)
    figure.legend(*left.get_legend_handles_labels(), loc="lower center", ncols=7, fontsize=7, frameon=False)
    _save(figure, "evidence/first-answer.svg", rect=(0, 0.08, 1, 1))


def growth() -> None:
    """Milliseconds by chunks; p50 by tenants as a multiple of one tenant."""
    found = _results("growth")
    figure, (left, right) = _plt().subplots(1, 2, figsize=(8.5, 3.6))
    for engine, colour in COLOURS.items():
        sizes = found.get(f"{engine}-sizes", {})
        at = sorted(map(int, sizes))
        for key, line in (("p50_ms", "-o"), ("p95_ms", ":o")):
            times = [sizes[str(n)][key] for n in at]
            left.plot(at, times, line, markersize=3, color=colour, label=f"{engine} {key[:3]}")
        tenants = found.get(f"{engine}-tenants", {})
        counts = sorted(int(name) for name in tenants if name.isdigit())
        times = [tenants[str(count)]["p50_ms"] / tenants["1"]["p50_ms"] for count in counts]
        right.plot(counts, times, "-o", markersize=3, color=colour, label=engine)
    left.set(xscale="log", yscale="log", xlabel="chunks", ylabel="ms a question", title="Chunks of one tenant")
    right.set(xscale="log", xlabel="tenants", title="p50 / one tenant")
    right.axhline(1.1, color="0.7", linewidth=0.8)
    for axes in (left, right):
        axes.legend(fontsize=7)
    _save(figure, "evidence/growth.svg")


def load(figures: str) -> None:
    """Latency by time and its distribution, and memory over requests; the samples are too many for a record."""
    found = json.loads(Path(figures).read_text("utf-8"))
    _latency(found["samples"])
    memory = [(asked, mb) for asked, mb in found["memory"]]
    figure, axes = _plt().subplots(figsize=(6, 3.2))
    ordered = sorted(memory)[:: max(1, len(memory) // 200)]
    axes.plot([asked for asked, _ in ordered], [mb for _, mb in ordered])
    axes.set(xlabel="requests so far", ylabel="MB a process", title="Memory of the query function", ylim=(0, None))
    _save(figure, "evidence/load-memory.svg")


def _latency(samples: list[dict[str, Any]]) -> None:
    asked = [each for each in samples if each["kind"] == "search"]
    begun = min(each["at_s"] for each in asked)
    slices: dict[int, list[float]] = {}
    for each in asked:
        slices.setdefault(int((each["at_s"] - begun) // SLICE_S), []).append(each["ms"])
    figure, (left, right) = _plt().subplots(1, 2, figsize=(9, 3.6))
    at = sorted(slices)
    for part in (0.5, 0.95, 0.99):
        times = [_value_at(slices[each], part) for each in at]
        left.plot([SLICE_S * each for each in at], times, label=f"p{part:.0%}"[:-1])
    left.axhline(300, color="0.7", linestyle=":")
    left.set(xlabel="seconds", ylabel="ms", title=f"Searches, by {SLICE_S} s", ylim=(0, None))
    left.legend()
    series = {
        "whole": [each["ms"] for each in asked],
        "inside the function": [each["latency_ms"] for each in asked if "latency_ms" in each],
        "without a key": [each["ms"] for each in samples if each["kind"] == "refused"],
    }
    parts = range(1, 100)
    for name, values in series.items():
        if values:
            right.plot([_value_at(values, part / 100) for part in parts], parts, label=name)
    right.set(xlabel="ms", ylabel="per cent at most", title="Distribution", xlim=(0, None))
    right.legend()
    _save(figure, "evidence/load-latency.svg")


def _value_at(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def _results(name: str) -> Any:
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text("utf-8"))["results"]


def _plt() -> Any:
    """Import matplotlib so that the same figures give the same file."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "ragdrop", "svg.fonttype": "none", "path.simplify_threshold": 1.0})
    from matplotlib import pyplot as plt

    return plt


def _save(figure: Any, name: str, **layout: Any) -> None:
    figure.tight_layout(**layout)
    figure.savefig(DOCS / name, metadata={"Date": None})


if __name__ == "__main__":
    {each.__name__: each for each in (calibration, first_answer, growth, load)}[sys.argv[1]](*sys.argv[2:])
