"""Draws docs/evidence/growth.svg from growth's kept figures; run by .local/env/plots, which has matplotlib."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parents[1]
COLOURS = {"bucket": "tab:orange", "opensearch": "tab:blue"}


def draw() -> None:
    """Write the plot; the same figures give the same file."""
    found = json.loads((HERE / "results/growth.json").read_text("utf-8"))["results"]
    mpl.rcParams.update({"svg.hashsalt": "ragdrop", "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6))
    for engine, colour in COLOURS.items():
        sizes = found.get(f"{engine}-sizes", {})
        at = sorted(map(int, sizes))
        for key, line in (("p50_ms", "-o"), ("p95_ms", ":o")):
            left.plot(
                at, [sizes[str(n)][key] for n in at], line, markersize=3, color=colour, label=f"{engine} {key[:3]}"
            )
        for kind, line in (("tenants", "-o"), ("links", "--s")):
            each = found.get(f"{engine}-{kind}", {})
            counts = sorted(int(name) for name in each if name.isdigit())
            alone = each["off" if kind == "links" else "1"]["p50_ms"] if each else 1.0
            times = [each[str(count)]["p50_ms"] / alone for count in counts]
            right.plot(counts, times, line, markersize=3, color=colour, label=f"{engine}: {kind}")
    left.set(xscale="log", yscale="log", xlabel="chunks", ylabel="ms a question", title="Chunks of one tenant")
    right.set(xscale="log", xlabel="tenants, or links a document", title="p50 / one tenant, or no links")
    right.axhline(1.1, color="0.7", linewidth=0.8)
    for axes in (left, right):
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(HERE.parent / "docs/evidence/growth.svg", metadata={"Date": None})


if __name__ == "__main__":
    draw()
