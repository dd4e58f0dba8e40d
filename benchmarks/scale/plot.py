"""Draws docs/evidence/scale.svg from the scale plan's kept results; run by .local/env/plots, which has matplotlib."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parents[1]


def draw() -> None:
    """Write the plot; the same results give the same file."""
    found = json.loads((HERE / "results/scale.json").read_text("utf-8"))["results"]
    mpl.rcParams.update({"svg.hashsalt": "ragdrop", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
    times = left.twinx()
    for colour, (name, rates) in zip(("tab:red", "tab:orange", "tab:green"), found["queries"].items(), strict=True):
        at = sorted(map(int, rates))
        refused = [100 * sum(rates[str(rate)]["refused"].values()) for rate in at]
        left.plot(at, refused, marker="o", markersize=3, color=colour, label=name)
        shown = [(rate, rates[str(rate)]["p95_ms"]) for rate in at if rates[str(rate)]["p95_ms"] is not None]
        times.plot([rate for rate, _ in shown], [each for _, each in shown], ":", color=colour)
    left.set(xscale="log", xlabel="queries a second that arrive", ylabel="refused, % (lines)", title="Queries")
    times.set(ylabel="p95 of the answered, ms (dots)", yscale="log")
    left.axvline(found["workload"]["queries"], color="0.7", linewidth=0.8)
    left.legend(fontsize=7)
    for name, run in found["documents"].items():
        right.plot([at / 3_600 for at, _ in run["depths"]], [1 + depth for _, depth in run["depths"]], label=name)
    right.set(yscale="log", xlabel="hours", ylabel="documents in the queue + 1", title="Documents")
    right.legend(fontsize=5.5)
    figure.tight_layout()
    figure.savefig(HERE.parent / "docs/evidence/scale.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
