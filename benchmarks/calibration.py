"""Calibrated relevance: each collection calibrates itself from its titles alone; its labels only judge.

    RAGDROP_EVAL_DATA=... python -m benchmarks.calibration [--documents N] [COLLECTION ...]

With --documents only N documents of each collection, drawn by chance, and the questions that they answer.

Issue 6, acceptance 3: of SciFact's relevant pairs the median is at least 0.7, at most 2 % of random pairs pass 0.7; at
least 95 % of the questions of another collection find nothing, at least 90 % of a collection's own find something.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.calibration_evidence import Measured, measure, passing_share, random_relevances
from benchmarks.calibration_tables import percent, shares_table, table, words_table
from benchmarks.collections import RETRIEVAL
from ragdrop.domain.calibration import OPERATING_RELEVANCE

REQUIRED_OWN, REQUIRED_FOREIGN, REQUIRED_RANDOM = 0.90, 0.95, 0.02


def broken(measured: Sequence[Measured]) -> list[str]:
    """What of acceptance 3 does not hold for the fitted calibrations."""
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


def from_arguments() -> list[Measured]:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration")
    parser.add_argument("collections", nargs="*", default=RETRIEVAL)
    parser.add_argument("--documents", type=int)
    arguments = parser.parse_args()
    return measure(arguments.collections, documents=arguments.documents)


def main() -> int:
    """Print the tables; 1 where acceptance 3 does not hold."""
    measured = from_arguments()
    if not measured:
        print("calibration: skipped, RAGDROP_EVAL_DATA is not set")
        return 0
    for lines in (table(measured), shares_table(measured), words_table(measured)):
        print("\n".join(lines), end="\n\n")
    wrong = broken(measured)
    print("\n".join(wrong) or "acceptance 3 holds")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
