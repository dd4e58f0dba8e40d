"""Run the benchmarks, each in a process of its own.

    python -m benchmarks --quick      # those with a quick form, in it; prints the tables that they make
    python -m benchmarks --whole      # all of them; keeps the records, writes tables and pages
    python -m benchmarks [NAME ...]   # these as they come, without names all but the longest

A module of this folder with a `main` is a benchmark, and a folder with a `run.py`; of the options --quick, --write
and --full it is given those that it has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

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
    "soak",
    "parity",
    "peers_quality",
    "quality",
    "scale",
}  # minutes of embedding the first time, or a whole stack


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
    """Run them one after the other; the exit code of the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the quick forms, some minutes")
    parser.add_argument("--whole", action="store_true", help="everything, hours; records and pages are written")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOURCES))
    options = parser.parse_args()
    unknown = set(options.names) - SOURCES.keys()
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(SOURCES)}")
    if options.quick:
        quick = [name for name, text in SOURCES.items() if '"--quick"' in text]
        wanted = commands(options.names or quick, "--quick", "--write")
        last = [[sys.executable, "-m", "benchmarks.report", "--quick"]]
    elif options.whole:
        wanted = commands(options.names or list(SOURCES), "--write", "--full")
        last = [[sys.executable, "-m", "benchmarks.report", "--write"]]
    else:
        wanted, last = commands(options.names or [name for name in SOURCES if name not in BY_NAME_ONLY]), []
    if not options.quick:
        return max(run(each) for each in [*wanted, *last])
    try:
        with shared_node() as node:
            os.environ[GIVEN] = node
            return max(run(each) for each in [*wanted, *last])
    except UnavailableError as exc:
        sys.exit(f"the quick forms need an OpenSearch node: {exc}")


def name_of(command: list[str]) -> str:
    """The benchmark that a command runs."""
    return command[2].removeprefix("benchmarks.")


def run(command: list[str]) -> int:
    """Its exit code; says on stderr how long it took."""
    started = time.monotonic()
    code = subprocess.run(command, check=False).returncode  # noqa: S603 - our own modules
    print(f"{name_of(command)}: {time.monotonic() - started:.0f} s, exit code {code}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
