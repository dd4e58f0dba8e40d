"""A search of this tree beside one of an earlier commit: what a change costs whoever does not use it.

    python -m benchmarks.earlier [COMMIT …] [--rounds 5] [--write]

Each round runs both trees, each in a process of its own, one after another.  The bucket index, the registry and the
embedder are in memory, so that the times are those of ragdrop's own steps.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.grids import Grid, tell
from benchmarks.trees import tree_of
from localstack.home import REPOSITORY

CHILD = Path(__file__).with_name("earlier_child.py")
COLUMNS = ("what", "before", "p50, ms", "now", "ratio", "CPU, ms", "now", "ratio")
BEFORE = ("4b2940f", "ceefe37")  # the last without history and stages; the last that read every hit's chunk again
NAMES = {"off": "critical documents, links and whole documents off", "defaults": "all defaults"}
Times = dict[str, dict[str, float]]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", metavar="COMMIT", default=BEFORE, help="what to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="how often both are run")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    rows = [row for commit in options.commits for row in compared(commit, options.rounds)]
    note = f"{options.rounds} rounds, in turns; medians of the rounds, and of the ratios of a round."
    tell("earlier", [Grid(COLUMNS, rows, note)], "tantivy", "simsimd", write=options.write)
    return 0


def compared(commit: str, rounds: int) -> list[tuple[str, ...]]:
    """The rows of one commit."""
    log = ["git", "log", "-1", "--format=%h, %ad", "--date=short", commit]
    done = subprocess.run(log, cwd=REPOSITORY, check=True, capture_output=True, text=True)  # noqa: S603 - git
    name = done.stdout.strip()
    pairs = []
    with tempfile.TemporaryDirectory(prefix="ragdrop-earlier-") as folder:
        tree = tree_of(commit, Path(folder))
        for number in range(rounds):
            order = (tree, REPOSITORY) if number % 2 else (REPOSITORY, tree)
            times = {place: _times(place) for place in order}
            pairs.append((times[tree], times[REPOSITORY]))
            print(f"earlier: {name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return [(NAMES[kind], name, *_cells(pairs, kind, "p50_ms"), *_cells(pairs, kind, "cpu_ms")) for kind in NAMES]


def _cells(pairs: list[tuple[Times, Times]], kind: str, what: str) -> tuple[str, str, str]:
    before, now = ([each[side][kind][what] for each in pairs] for side in (0, 1))
    ratio = statistics.median(one / other for one, other in zip(now, before, strict=True))
    return f"{statistics.median(before):.1f}", f"{statistics.median(now):.1f}", f"{ratio:.2f}"


def _times(tree: Path) -> Times:
    path = os.pathsep.join(str(tree / part) for part in ("", "layers/common/python", "cli"))
    # -P: this folder has modules named as those of the standard library
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-P", str(CHILD)],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    sys.exit(main())
