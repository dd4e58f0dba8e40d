"""Calibrated relevance: each collection calibrates itself from its titles alone; its labels only judge.

    RAGDROP_EVAL_DATA=... python -m benchmarks.calibration [--documents N] [--write] [COLLECTION ...]

With --documents only N documents of each collection, drawn by chance, and the questions that they answer.
--write keeps the record and draws docs/calibration.svg.

Required: of SciFact's relevant pairs the median is at least 0.7, at most 2 % of random pairs pass 0.7; at least 85 % of
the questions of another collection find nothing, at least 90 % of a collection's own find something.  The 85 %
were 95 before the operating point was lowered for questions in users' own words (docs/adr/0013-own-words.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.calibration_evidence import Measured, measure, passing_share, random_relevances
from benchmarks.calibration_tables import percent, reliability_table, shares_table, table, words_table
from benchmarks.collections import RETRIEVAL
from benchmarks.grids import tell
from benchmarks.plots import draw
from ragdrop.domain.calibration import OPERATING_RELEVANCE

REQUIRED_OWN, REQUIRED_FOREIGN, REQUIRED_RANDOM = 0.90, 0.85, 0.02


def broken(measured: Sequence[Measured]) -> list[str]:
    """What is required and does not hold for the fitted calibrations."""
    wrong = []
    for each in measured:
        if each.name == "scifact":
            middle = median(map(each.fit.relevance, each.relevant))
            passing = passing_share(random_relevances(each, each.fit))
            wrong += [f"scifact: median of relevant pairs {middle:.2f}"] if middle < OPERATING_RELEVANCE else []
            wrong += [f"scifact: {percent(passing)} of random pairs pass"] if passing > REQUIRED_RANDOM else []
        for name in each.found:
            share = each.passing(each.fit, name)
            if name == each.name and share < REQUIRED_OWN:
                wrong.append(f"{name}: only {percent(share)} of its own questions are answered")
            if name != each.name and 1 - share < REQUIRED_FOREIGN:
                wrong.append(f"{each.name}: only {percent(1 - share)} of the questions of {name} find nothing")
    return wrong


def main() -> int:
    """Print the tables; 1 where acceptance 3 does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", nargs="*", default=RETRIEVAL, metavar="COLLECTION", help="default: all")
    parser.add_argument("--documents", type=int, help="of each collection; default: all")
    parser.add_argument("--write", action="store_true", help="keep the record")
    options = parser.parse_args()
    if options.write and (options.documents or options.collections != RETRIEVAL):
        parser.error("a record is of the whole: --write goes without --documents and COLLECTION")
    measured = measure(options.collections, documents=options.documents)
    if not measured:
        print("calibration: skipped, RAGDROP_EVAL_DATA is not set")
        return 0
    grids = [table(measured), shares_table(measured), words_table(measured), reliability_table(measured)]
    tell("calibration", grids, write=options.write)
    if options.write:
        draw("benchmarks.reliability_plot")
    wrong = broken(measured)
    print("\n" + ("\n".join(wrong) or "acceptance 3 holds"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
