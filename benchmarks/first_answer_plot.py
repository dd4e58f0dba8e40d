"""Draws docs/evidence/first-answer.svg from the kept figures; run by .local/env/plots, which has matplotlib."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parent


def draw() -> None:
    """Write the plot, a bar a row and a colour a stage; the same figures give the same file."""
    rows = json.loads((HERE / "results/first_answer.json").read_text("utf-8"))["results"]["rows"]
    mpl.rcParams.update({"svg.hashsalt": "ragdrop", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), sharey=True)
    names = list(rows)[::-1]
    for axes, n, title in ((left, 0, "ms until the answer"), (right, 1, "of them processor time")):
        begun = [0.0] * len(names)
        for stage in rows[names[0]]:
            times = [rows[name][stage][n] for name in names]
            axes.barh(names, times, left=begun, height=0.6, label=stage)
            begun = [before + time for before, time in zip(begun, times, strict=True)]
        axes.set(title=title)
    figure.legend(*left.get_legend_handles_labels(), loc="lower center", ncols=7, fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(HERE.parent / "docs/evidence/first-answer.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
