"""Parity: what ragdrop asks of AWS, and how each engine ends the same calls.

    python -m benchmarks.parity [--write]

Runs the contract suites and the tests of the functions, which record every call.  `--write` keeps the table of calls
and tests/aws/call_shapes.json.  The witnesses and OpenSearch need a JDK 21 and Maven, the emulator's cases a stack.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import records
from tests.aws.call_shapes import RECORDING, collected, keep

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / ".local/bench/parity"
COMPARED = "tests/contract"  # the only suite that asks every engine the same
SUITES = (COMPARED, "tests/functions")
PACKAGES = ("pytest", "moto", "opensearch-py")
ENGINES = {"aws": "moto", "emulator": "emulator", "witness": "witness"}
# Why a call may end in this way on one engine alone.
ENDS = {
    "MethodNotAllowed": "As AWS does, the emulator answers 405 for a version that is a delete marker, moto 404.",
    "ConditionalCheckFailedException": "Some tests of lost races run on moto alone.",
    "TransactionCanceledException": "Some tests of lost races run on moto alone.",
    "ResourceNotFoundException": "A table that is not there is asked of moto alone.",
    "NoSuchBucket": "A bucket that is not there is asked of moto alone.",
    "404": "A bucket that is not there is asked of moto alone.",
    "AWS.SimpleQueueService.NonExistentQueue": "A queue that is not there is asked of moto alone.",
    "ReceiptHandleIsInvalid": "A receipt that is not one is shown to moto alone.",
}


def run(suite: str) -> tuple[int, dict[str, Any], Mapping[str, set[str]]]:
    """Run a suite: pytest's exit code, how the calls of each shape ended by engine, and what the roles needed.

    A shape that another suite than the compared one asks stands there without ends.
    """
    folder = RECORDED / Path(suite).name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", suite]
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, RECORDING: str(folder)}, check=False).returncode  # noqa: S603
    recorded, needed = collected(folder)
    ends = {
        shape: {engine: sorted(each) for engine, each in engines.items()} if suite == COMPARED else {}
        for shape, engines in recorded.items()
    }
    return code, ends, needed


def parity_table(found: Mapping[str, Any]) -> str:
    """Every shape of a call with how it ended on each engine; a difference is explained in the last column."""
    calls = found["calls"]
    twice = sum(len(ends) > 1 for ends in calls.values())
    rows = [
        (
            f"`{shape.replace('|', chr(92) + '|')}`",
            *(", ".join(ends.get(engine, ())) for engine in ENGINES),
            " ".join(explained(ends)),
        )
        for shape, ends in calls.items()
    ]
    table = records.markdown(("call", *ENGINES.values(), "difference"), rows)
    return f"{len(calls)} shapes of calls, {twice} of them asked of at least two engines.\n\n{table}"


def explained(ends: Mapping[str, list[str]]) -> list[str]:
    """Why engines ended calls of one shape in other ways; a KeyError for a way that nobody explained."""
    seen = [set(each) for each in ends.values()]
    if len(seen) < 2:
        return []
    common = set.intersection(*seen)
    return sorted({ENDS[end] for each in seen for end in each - common})


def main() -> int:
    """Run, print, and keep if asked to; 1 if a case failed."""
    options = records.parser(__doc__).parse_args()
    worst, calls, needed = 0, dict[str, Any](), dict[str, set[str]]()
    for suite in reversed(SUITES):
        code, ends, needs = run(suite)
        worst, calls = max(worst, code), calls | ends
        for role, each in needs.items():
            needed.setdefault(role, set()).update(each)
    found = {"calls": {shape: calls[shape] for shape in sorted(calls)}}
    if options.write:
        keep(found["calls"], needed)
        records.keep("parity", found, {name: version(name) for name in PACKAGES})
    print(parity_table(found))
    return int(worst != 0)


if __name__ == "__main__":
    sys.exit(main())
