"""Run the benchmarks, each in a process of its own.

    python -m benchmarks --quick      # those with a quick form, in it; prints the tables that they make
    python -m benchmarks --whole      # all of them, hours; keeps the records, writes tables and pages
    python -m benchmarks --resume     # the same without those whose record is of this very commit
    python -m benchmarks [NAME ...]   # these as they come, without names all but the longest

A module of this folder with a `main` is a benchmark, and a folder with a `run.py`; of the options --quick, --write
and --full it is given those that it has.  Of a whole run those that measure no time come first, two at a time, each
with a log in .local/bench/logs; the others run alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TextIO

from benchmarks import records
from benchmarks.comparison_table import QUALITY
from benchmarks.peers.node import GIVEN, shared_node
from localstack.opensearch import UnavailableError

FOLDER = Path(__file__).parent
NOT_MEASURING = {"report"}
FOUND = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("[!_]*.py"))} | {
    path.parent.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*/run.py"))
}
SOURCES = {name: text for name, text in FOUND.items() if "\ndef main(" in text and name not in NOT_MEASURING}
BY_NAME_ONLY = {
    "answers",
    "growth",
    "load",
    "ocr",
    "soak",
    "page_speed",
    "parity",
    "peers_own_words",
    "peers_quality",
    "quality",
    "scale",
}  # minutes of embedding the first time, or a whole stack
UNTIMED = (
    "peers_quality",
    "peers_own_words",
    "parity",
    "change",
    "soak",
    "quality",
    "peers_answers",
    "calibration",
    "links",
    "answers",
    "chunking",
    "cost",
)
"""What measures no time, the longest first."""
RECORDS = {"peers_quality": QUALITY}
LOGS = Path(".local/bench/logs")


def commands(names: list[str], *options: str) -> list[list[str]]:
    """A command for each benchmark, with those of *options* that its source knows.

    >>> commands(["peers_speed"], "--write", "--none")[0][2:]
    ['benchmarks.peers_speed', '--write']
    """
    return [
        [sys.executable, "-m", f"benchmarks.{name}", *(each for each in options if f'"{each}"' in SOURCES[name])]
        for name in names
    ]


def main() -> int:
    """Run them; the exit code of the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--quick", action="store_true", help="the quick forms, some minutes")
    kinds.add_argument("--whole", action="store_true", help="everything, hours; records and pages are written")
    kinds.add_argument("--resume", action="store_true", help="what a whole run on this commit has not measured yet")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOURCES))
    options = parser.parse_args()
    unknown = set(options.names) - SOURCES.keys()
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(SOURCES)}")
    if options.quick:
        return quick(options.names or [name for name, text in SOURCES.items() if '"--quick"' in text])
    names = options.names or list(SOURCES)
    if options.whole or options.resume:
        return whole([name for name in names if not (options.resume and is_kept(name))])
    return max(run(each) for each in commands(options.names or [name for name in SOURCES if name not in BY_NAME_ONLY]))


def quick(names: list[str]) -> int:
    """Their quick forms, which share one node, then the tables of what they kept."""
    wanted = [*commands(names, "--quick", "--write"), [sys.executable, "-m", "benchmarks.report", "--quick"]]
    try:
        with shared_node() as node:
            os.environ[GIVEN] = node
            return max(run(each) for each in wanted)
    except UnavailableError as exc:
        sys.exit(f"the quick forms need an OpenSearch node: {exc}")


def whole(names: Sequence[str]) -> int:
    """Their whole forms, then the pages: what measures no time two at a time, the rest alone."""
    beside = commands([name for name in UNTIMED if name in names], "--write", "--full")
    alone = commands([name for name in names if name not in UNTIMED], "--write", "--full")
    LOGS.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as lanes:
        codes = list(lanes.map(logged, beside))
    return max(*codes, *map(run, alone), run([sys.executable, "-m", "benchmarks.report", "--write"]), 0)


def is_kept(name: str) -> bool:
    """Whether all of its records are of the commit that is checked out, in all of their parts.

    Of changed code, whose commit has a plus sign, nothing is: the next change would look the same.
    """
    now = records.commit().removesuffix("+")
    found = [records.read(each) for each in RECORDS.get(name, (name,))]
    return all(each is not None and each.commit == now and not each.older for each in found)


def name_of(command: list[str]) -> str:
    """The benchmark that a command runs."""
    return command[2].removeprefix("benchmarks.")


def logged(command: list[str]) -> int:
    """Its exit code; what it says goes to a log of its own."""
    path = LOGS / f"{name_of(command)}.log"
    sys.stderr.write(f"{name_of(command)}: see {path}\n")  # one write: two lanes share the terminal
    with path.open("w", encoding="utf-8") as log:
        return run(command, log)


def run(command: list[str], log: TextIO | None = None) -> int:
    """Its exit code; says on stderr how long it took."""
    started = time.monotonic()
    code = subprocess.run(command, check=False, stdout=log, stderr=log).returncode  # noqa: S603 - our own modules
    sys.stderr.write(f"{name_of(command)}: {time.monotonic() - started:.0f} s, exit code {code}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
