"""Run the benchmarks, each in a process of its own.

    python -m benchmarks --quick      # those with a quick form, in it; prints the tables that they make
    python -m benchmarks --whole      # all of them; keeps the records, writes tables and pages
    python -m benchmarks --resume     # the same without those whose record is of this very commit
    python -m benchmarks [NAME ...]   # these as they come, without names all but the longest

A module of this folder with a `main` is a benchmark, and a folder with a `run.py`; of the options --quick, --write
and --full it is given those that it has.  The first three forms run unattended (benchmarks/whole_run.py): a plan comes
first and a summary last, each benchmark has a time limit and a log in .local/bench/logs, and a failure stops no other.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import records
from benchmarks.comparison_table import QUALITY
from benchmarks.peers.node import GIVEN, shared_node
from benchmarks.whole_run import (
    MEASURED,
    RESUMED,
    BenchmarkJob,
    JobOutcome,
    UnattendedRun,
    execute,
    merged,
    plan,
    summary,
)
from localstack.opensearch import UnavailableError
from ragdrop import __version__

FOLDER = Path(__file__).parent
NOT_MEASURING = {"report", "bucket_process", "reliability_plot"}  # programs that others start
FOUND = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("[!_]*.py"))} | {
    path.parent.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*/run.py"))
}
SOURCES = {name: text for name, text in FOUND.items() if "\ndef main(" in text and name not in NOT_MEASURING}
BY_NAME_ONLY = {
    "answers",
    "first_answer",
    "growth",
    "load",
    "soak",
    "parity",
    "peers_own_words",
    "peers_quality",
    "quality",
}  # minutes of embedding the first time, or a whole stack
UNTIMED = (
    "peers_quality",
    "parity",
    "peers_own_words",
    "quality",
    "soak",
    "calibration",
    "change",
    "chunking",
    "peers_answers",
    "own_words",
    "own_words_final",
    "links",
    "answers",
    "format_outcomes",
    "verification",
    "cost",
)
"""What measures no time, or ratios of processor time alone, the longest first."""
VARIANTS = {
    "own_words_final": ("own_words", "--final"),
}
"""Further benchmarks of a whole run: a module, and options that it is given besides."""
RECORDS = {"peers_quality": QUALITY, "own_words": ("own_words_tuning",)}
TIMED_FIRST = (
    "peers_speed",
    "served",
    "push",
    "load",
    "cold_start",
    "search_profile",
    "search",
    "first_answer",
    "growth",
    "bucket_index",
    "peers_ingest",
    "ingest",
)
"""Whose records the goals need: of a run whose time ends, others are skipped."""
EXPECTED_MIN = {
    "peers_quality": 16.0,
    "parity": 9.0,
    "peers_own_words": 5.0,
    "quality": 6.0,
    "soak": 11.5,
    "peers_speed": 5.0,
    "growth": 8.0,
    "cold_start": 5.0,
    "load": 11.0,
    "bucket_index": 5.0,
    "served": 5.0,
    "first_answer": 3.0,
    "ingest_stages": 8.0,
    "search": 1.5,
    "search_profile": 1.0,
    "streaming": 0.5,
    "citations": 0.5,
    "cost": 1.0,
}
"""Minutes on two cores with kept vectors, estimated; the record of a whole run has what it took."""
USUAL_MIN, QUICK_MIN = 2.5, 1.4
HOURS = 3.0


def commands(names: list[str], *options: str) -> list[list[str]]:
    """A command for each benchmark, with those of *options* that its source knows.

    >>> commands(["peers_speed"], "--write", "--none")[0][2:]
    ['benchmarks.peers_speed', '--write']
    >>> commands(["own_words_final"], "--write")[0][2:]
    ['benchmarks.own_words', '--final', '--write']
    """
    found = []
    for name in names:
        module, *more = VARIANTS.get(name, (name,))
        known = [each for each in options if f'"{each}"' in SOURCES.get(module, "")]
        found.append([sys.executable, "-m", f"benchmarks.{module}", *more, *known])
    return found


def main() -> int:
    """Run them; the exit code of the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--quick", action="store_true", help="the quick forms, some minutes")
    kinds.add_argument("--whole", action="store_true", help="everything, hours; records and pages are written")
    kinds.add_argument("--resume", action="store_true", help="what a whole run on this commit has not measured yet")
    parser.add_argument("--hours", type=float, default=HOURS, help="at most, of a whole run (default: %(default)g)")
    parser.add_argument("--plan", action="store_true", help="print what would run, and run nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*SOURCES, *VARIANTS]))
    options = parser.parse_args()
    unknown = set(options.names) - SOURCES.keys() - VARIANTS.keys()
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(SOURCES)}")
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # benchmarks must obey one, also of a run in the background
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.quick:
        return quick(options.names or [name for name, text in SOURCES.items() if '"--quick"' in text], options)
    if options.whole or options.resume:
        return whole(options)
    return max(run(each) for each in commands(options.names or [name for name in SOURCES if name not in BY_NAME_ONLY]))


def quick(names: list[str], options: argparse.Namespace) -> int:
    """Their quick forms, which share one node, then the tables of what they kept."""
    jobs = [
        BenchmarkJob(name, command, 60 * QUICK_MIN)
        for name, command in zip(names, commands(names, "--quick", "--write"), strict=True)
    ]
    print(plan(jobs, 3_600 * options.hours, {}), flush=True)
    if options.plan:
        return 0
    try:
        with shared_node() as node:
            os.environ[GIVEN] = node
            outcomes = UnattendedRun(execute, wrote_quick, told, limit_s=3_600 * options.hours).run(jobs)
    except UnavailableError as exc:
        sys.exit(f"the quick forms need an OpenSearch node: {exc}")
    code = run([sys.executable, "-m", "benchmarks.report", "--quick"])
    print(f"\n{summary(outcomes)}")
    return max(code, *(each.code for each in outcomes))


def whole(options: argparse.Namespace) -> int:
    """Their whole forms, then the pages; of a run without names the outcomes are a record, too."""
    names = options.names or ordered()
    earlier = records.read("bench")
    resumed = [JobOutcome(name, RESUMED) for name in names if options.resume and is_kept(name)]
    jobs = planned([name for name in names if name not in {each.name for each in resumed}], earlier)
    print(plan(jobs, 3_600 * options.hours, {}), flush=True)
    if options.plan:
        return 0
    began, same = time.monotonic(), earlier is not None and earlier.commit == records.commit()
    outcomes = list(resumed)

    def report(outcome: JobOutcome) -> None:
        outcomes.append(outcome)
        told(outcome)
        if not options.names:
            found = merged(
                earlier.results if earlier and same else None,
                outcomes,
                time.monotonic() - began,
                resumed=options.resume,
            )
            measured = [name for name, each in found["runs"].items() if each["what"] in MEASURED]
            kept = found | {"records": sorted(of for name in measured for of in records_of(name))}
            records.keep("bench", kept, {"ragdrop": __version__})

    UnattendedRun(execute, wrote, report, limit_s=3_600 * options.hours).run(jobs)
    code = run([sys.executable, "-m", "benchmarks.report", "--write"])
    code = max(code, run([sys.executable, "-m", "pages"]))  # some of them show records, too
    print(f"\n{summary(outcomes)}\n{(time.monotonic() - began) / 60:.0f} min in all")
    return max(code, *(each.code for each in outcomes), 0)


def ordered() -> list[str]:
    """Every benchmark that a whole run has, in its order."""
    timed = [name for name in [*SOURCES, *VARIANTS] if name not in {*UNTIMED, *TIMED_FIRST}]
    return [*TIMED_FIRST, *timed, *UNTIMED]


def planned(names: Sequence[str], last: records.BenchmarkRecord | None) -> list[BenchmarkJob]:
    """A job for each, expected to take what it took in the *last* run, else what is known of it."""
    took = {name: each["seconds"] for name, each in last.results["runs"].items() if each["seconds"]} if last else {}
    return [
        BenchmarkJob(name, command, took.get(name, 60 * EXPECTED_MIN.get(name, USUAL_MIN)), beside=name in UNTIMED)
        for name, command in zip(names, commands(list(names), "--write", "--full"), strict=True)
    ]


def records_of(name: str) -> Sequence[str]:
    """The names of the records that a benchmark keeps."""
    return RECORDS.get(name, (name,))


def is_kept(name: str) -> bool:
    """Whether all of its records are of the commit that is checked out, in all of their parts.

    Of changed code, whose commit has a plus sign, nothing is: the next change would look the same.
    """
    now = records.commit().removesuffix("+")
    found = [records.read(each) for each in records_of(name)]
    return all(each is not None and each.commit == now and not each.older for each in found)


def wrote(name: str, since_s: float, folder: Path = records.WHOLE) -> bool:
    """Whether all of its records were written since then (seconds since 1970)."""
    paths = [folder / f"{each}.json" for each in records_of(name)]
    return all(path.exists() and path.stat().st_mtime >= since_s for path in paths)


def wrote_quick(name: str, since_s: float) -> bool:
    """As `wrote`, for quick forms; of several records one is enough."""
    return any(
        path.stat().st_mtime >= since_s
        for each in records_of(name)
        if (path := records.QUICK / f"{each}.json").exists()
    )


def told(outcome: JobOutcome) -> None:
    """Say on stderr how a benchmark ended."""
    sys.stderr.write(f"{outcome.name}: {outcome.what} after {outcome.seconds:.0f} s, exit code {outcome.code}\n")


def run(command: list[str]) -> int:
    """Its exit code; says on stderr how long it took."""
    started = time.monotonic()
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own modules
    name = command[2].removeprefix("benchmarks.")
    sys.stderr.write(f"{name}: {time.monotonic() - started:.0f} s, exit code {code}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
