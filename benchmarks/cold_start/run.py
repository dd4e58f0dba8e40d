"""Cold start and size of each function, beside LangChain and LlamaIndex functions that do the same job.

    python -m benchmarks.cold_start [--write] [--quick]

Each import is that of a fresh process with the function's own packages alone, the layer's, and boto3 behind them as in
Lambda's runtime; functions take turns, compiled files lie there from an earlier import.  Compared is processor time, as
this machine may serve others.  The peers' environments come from `make bench-env`; without them they are left out.
`--write` keeps the figures, of which `python -m benchmarks.report --write` makes the tables.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import version
from platform import python_version
from typing import Any

from benchmarks import records
from benchmarks.cold_start.function_folders import Function, environment, ours, peers, runtime, versions_in
from benchmarks.cold_start.function_imports import Imports
from benchmarks.cold_start.table import cold_start_table, misses

NAME = "cold_start"
ROUNDS, QUICK_ROUNDS = 7, 1
DEAREST = 15
PROFILED = "ragdrop query"


def measure(rounds: int) -> dict[str, Any]:
    """Times, sizes and the profile, ready to be kept."""
    functions = [*ours(), *peers()]
    with runtime() as folder:
        imports = Imports(folder)
        times = imports.rounds(functions, rounds)
        [profiled] = [each for each in functions if each.name == PROFILED]
        dearest = imports.profile(profiled)[:DEAREST]
    rows = {each.name: _row(each, times[each.name]) for each in functions}
    profile = [{"module": each.module, "own_us": each.own_us, "whole_us": each.whole_us} for each in dearest]
    return {"functions": rows, "profile": profile, "profiled": PROFILED, "rounds": rounds}


def _row(function: Function, times: dict[str, Any]) -> dict[str, Any]:
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in times.items()}
    return {"job": function.job, "ours": function.part is not None, "size_bytes": function.size_bytes} | shown


def main() -> int:
    """Measure, print with the goals that are missed, keep where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the figures")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    options = parser.parse_args()
    results = measure(QUICK_ROUNDS if options.quick else ROUNDS)
    versions = {"python": python_version(), "boto3": version("boto3")}
    versions |= versions_in(environment("langchain"), "langchain-core", "langchain-community", "langchain-openai")
    versions |= versions_in(environment("llama_index"), "llama-index-core")
    if options.write:
        records.keep(NAME, results, versions, quick=options.quick)
    print(cold_start_table(results))
    print("\n".join(misses(results)) or "every goal is met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
