"""The reliability plot of docs/calibration.md: is a question whose best hit is worth 0.9 nine times of ten at home?

    RAGDROP_EVAL_DATA=... python -m benchmarks.reliability_plot [--documents N] [COLLECTION ...]

Needs requirements/plots.txt.  Writes docs/calibration.svg and the tables of docs/calibration.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.calibration import from_arguments
from benchmarks.calibration_evidence import Measured
from benchmarks.calibration_tables import shares_table, table, words_table

PAGE, PLOT = Path("docs/calibration.md"), Path("docs/calibration.svg")
EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
FEWEST = 5  # questions in a bin that is drawn


def reliability(measured: Measured) -> list[tuple[float, float]]:
    """For each bin of the best hit's relevance: its mean, and the share of questions that are the collection's own.

    A question of another collection weighs so much that both kinds weigh the same.
    """
    scored = [
        (each.relevance(measured.fit), name == measured.name)
        for name, found in measured.found.items()
        for each in found
    ]
    own = sum(mine for _, mine in scored)
    weight = own / max(len(scored) - own, 1)
    points = []
    for low, high in pairwise(EDGES):
        held = [(score, 1.0 if mine else weight, mine) for score, mine in scored if low <= score < high]
        if len(held) >= FEWEST:
            total = sum(each for _, each, _ in held)
            mean = sum(score * each for score, each, _ in held) / total
            points.append((mean, sum(each for _, each, mine in held if mine) / total))
    return points


def draw(measured: Sequence[Measured]) -> None:
    """Write the plot; the same numbers give the same file."""
    mpl.rcParams["svg.hashsalt"] = "ragdrop"
    figure, axes = plt.subplots(figsize=(5.5, 4.5))
    axes.plot([0, 1], [0, 1], color="0.8", linestyle=":", label="perfectly calibrated")
    axes.axvline(0.7, color="0.6", linewidth=0.8)
    for each in measured:
        points = reliability(each)
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=4, label=each.name)
    axes.set_xlabel("relevance of a question's best hit")
    axes.set_ylabel("share of questions that the collection answers")
    axes.set_title("Fitted on titles alone, judged by questions")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PLOT, metadata={"Date": None})


def _given(block: str, _: re.Match[str]) -> str:
    return block


def rewrite(measured: Sequence[Measured]) -> None:
    """Put the tables between their markers in the page."""
    text = PAGE.read_text("utf-8")
    for name, lines in (("table", table), ("shares", shares_table), ("words", words_table)):
        block = "\n".join((f"<!-- {name} -->", *lines(measured), f"<!-- end of {name} -->"))
        pattern = f"<!-- {name} -->.*?<!-- end of {name} -->"
        text = re.sub(pattern, partial(_given, block), text, flags=re.DOTALL)
    PAGE.write_text(text, "utf-8")


def plot() -> int:
    """Measure, draw, write."""
    measured = from_arguments()
    if not measured:
        print("reliability_plot: skipped, RAGDROP_EVAL_DATA is not set")
        return 0
    draw(measured)
    rewrite(measured)
    return 0


if __name__ == "__main__":
    sys.exit(plot())
