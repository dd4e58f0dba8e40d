"""The reliability plot of docs/calibration.md: is a question whose best hit is worth 0.9 nine times of ten at home?

    python -m benchmarks.reliability_plot

Draws docs/calibration.svg from the kept record of `python -m benchmarks.calibration --write`, which calls it where the
environment is that requirements/plots.txt makes.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks import records

PLOT = Path("docs/calibration.svg")


def main() -> int:
    """Draw; the same numbers give the same file."""
    record = records.read("calibration")
    if record is None:
        sys.exit("there is no record: python -m benchmarks.calibration --write")
    points = record.results[-1]["rows"]
    mpl.rcParams["svg.hashsalt"] = "ragdrop"
    figure, axes = plt.subplots(figsize=(5.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.8", linestyle=":", label="perfectly calibrated")
    axes.axvline(0.7, color="0.6", linewidth=0.8)
    for name, rows in groupby(points, key=lambda row: row[0]):
        means, shares = zip(*((float(mean), float(share)) for _, mean, share in rows), strict=True)
        axes.plot(means, shares, marker="o", markersize=4, label=name)
    axes.set_xlabel("relevance of a question's best hit")
    axes.set_ylabel("share of questions that the collection answers")
    axes.set_title("Fitted on titles alone, judged by questions")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
