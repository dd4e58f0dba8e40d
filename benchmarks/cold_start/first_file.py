"""Cold start of ingest until it has read a Markdown file, beside commits from before and with the other formats.

    python -m benchmarks.cold_start.first_file [--write] [--rounds N] [--before COMMIT] [--with COMMIT]

Each is measured in a fresh process on the packages of this environment, in turns: the import of the handler, what its
first call makes, and the first parse of a small Markdown file.  Compared is processor time.  `--write` keeps the
figures, of which `python -m benchmarks.report --write` makes the table.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from platform import python_version
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import records
from benchmarks.cold_start.function_folders import Function
from benchmarks.cold_start.function_imports import Imports
from benchmarks.trees import tree_of
from localstack.home import REPOSITORY

NAME = "first_file"
ROUNDS = 15
BEFORE, WITH = "5e6f809", "3e6cfe3"  # before the readers of XLSX, PPTX and others were merged, and that merge
FILE = "# Pump\n\nThe pump is [here](yard.md).\n\n| part | price |\n|---|---|\n| seal | 3 |\n"
PARTS = ("functions/ingest", "layers/common/python")
FIGURES = ("cpu_s", "read_cpu_s", "read_modules")


def measure(rounds: int, before: str, with_formats: str) -> dict[str, Any]:
    """Medians of each tree over *rounds* rounds, after one that is not counted."""
    packages = Path(sysconfig.get_path("purelib"))
    imports = Imports(packages)
    with TemporaryDirectory(prefix="ragdrop-trees-") as folder:
        trees = {
            "before": tree_of(before, Path(folder), *PARTS),
            "with the readers": tree_of(with_formats, Path(folder), *PARTS),
            "now": REPOSITORY,
        }
        functions = [
            Function(
                name,
                None,
                "app",
                "ingest.reconcile",
                tuple(tree / part for part in PARTS),
                0,
                FILE,
            )
            for name, tree in trees.items()
        ]
        tries = [{each.name: imports.once(each) for each in functions} for _ in range(rounds + 1)][1:]
    rows: dict[str, dict[str, Any]] = {
        name: {figure: round(median(each[name][figure] for each in tries), 4) for figure in FIGURES} for name in trees
    }
    for name, row in rows.items():
        ratios = [each[name]["read_cpu_s"] / each["before"]["read_cpu_s"] for each in tries]
        row["ratio"] = [round(ratio, 2) for ratio in quantiles(ratios, n=4)]
    return {"trees": rows, "commits": {"before": before, "with the readers": with_formats}, "rounds": rounds}


def first_file_table(found: Mapping[str, Any]) -> str:
    """The medians as Markdown, with the ratio to the tree before in the same round."""
    lines = [
        "| ingest | import, CPU s | until a Markdown file is read | ratio: median, middle half | modules |",
        "|---|---|---|---|---|",
    ]
    for name, row in found["trees"].items():
        shown = f"{name} ({found['commits'][name]})" if name in found["commits"] else name
        low, middle, high = row["ratio"]
        cells = (shown, f"{row['cpu_s']:.3f}", f"{row['read_cpu_s']:.3f}", f"{middle:.2f}, {low:.2f} to {high:.2f}")
        lines.append(f"| {' | '.join(cells)} | {row['read_modules']:.0f} |")
    return "\n".join([*lines, "", f"Medians of {found['rounds']} rounds."])


def main() -> int:
    """Measure, print, keep where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start.first_file", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--before", default=BEFORE, help="a commit without the formats; default: %(default)s")
    parser.add_argument("--with", dest="with_formats", default=WITH, help="the first one with them")
    options = parser.parse_args()
    results = measure(options.rounds, options.before, options.with_formats)
    if options.write:
        records.keep(NAME, results, {"python": python_version()}, quick=options.rounds < ROUNDS)
    print(first_file_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
