"""What a benchmark measured: one record as JSON, and its tables.

Committed records are in `benchmarks/results/`, with machine, versions, date and commit.  Those of quick forms are in
`.local/bench/results/`, which git ignores, so that a quick run never replaces the numbers of a whole one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ragdrop import __version__

WHOLE, QUICK = Path("benchmarks/results"), Path(".local/bench/results")
GENERATED = ("layers/common/python/ragdrop/operate/costs.py", "tests/aws/call_shapes.json")  # by cost and parity
WRITTEN = tuple(f":!{path}" for path in (WHOLE, "docs", "README.md", *GENERATED))  # as git leaves paths out


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """One run of a benchmark; *older* has the commits of the parts that an earlier run measured."""

    benchmark: str
    date: str
    commit: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    results: Any
    quick: bool = False
    older: Mapping[str, str] = field(default_factory=dict)

    @property
    def commit_with_parts(self) -> str:
        parts = ", ".join(f"{part}: {at}" for part, at in self.older.items())
        return f"{self.commit} ({parts})" if parts else self.commit

    @property
    def versions_line(self) -> str:
        return ", ".join(f"{name} {number}" for name, number in self.versions.items())

    def left(self, again: Collection[str], parts: Iterable[str]) -> dict[str, str]:
        """The commits of those *parts* that are not measured *again*.

        >>> BenchmarkRecord("a", "", "abc1234", {}, {}, [], older={"b": "1234abc"}).left(["c"], ["a", "b", "c"])
        {'a': 'abc1234', 'b': '1234abc'}
        """
        return {part: self.older.get(part, self.commit) for part in parts if part not in again}


def made(
    benchmark: str,
    results: Any,
    versions: Mapping[str, str],
    *,
    quick: bool = False,
    older: Mapping[str, str] | None = None,
) -> BenchmarkRecord:
    """The record of a run that just ended; *results* is anything that JSON can hold."""
    now = commit()
    other = {part: at for part, at in (older or {}).items() if at != now}
    return BenchmarkRecord(
        benchmark, f"{datetime.now(UTC):%Y-%m-%d}", now, machine(), dict(versions), results, quick, other
    )


def keep(
    benchmark: str,
    results: Any,
    versions: Mapping[str, str],
    *,
    quick: bool = False,
    older: Mapping[str, str] | None = None,
) -> BenchmarkRecord:
    record = made(benchmark, results, versions, quick=quick, older=older)
    folder = QUICK if quick else WHOLE
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
    (folder / f"{benchmark}.json").write_text(text + "\n", encoding="utf-8")
    return record


def parser(doc: str | None, *, quick: str = "") -> argparse.ArgumentParser:
    """The options that benchmarks share: --write, and --quick if it has a text of help."""
    shared = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared.add_argument("--write", action="store_true", help="keep the record")
    if quick:
        shared.add_argument("--quick", action="store_true", help=quick)
    return shared


def read(benchmark: str, folder: Path = WHOLE) -> BenchmarkRecord | None:
    path = folder / f"{benchmark}.json"
    return BenchmarkRecord(**json.loads(path.read_text("utf-8"))) if path.exists() else None


def write_pages() -> int:
    """Let benchmarks/report.py write the tables of all records; its exit code."""
    command = [sys.executable, "-m", "benchmarks.report", "--write"]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cpu = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", cpu.read_text("utf-8")) if cpu.exists() else None
    name = found[1].strip() if found else "unknown"
    return {"cores": os.cpu_count() or 1, "memory_gb": round(memory / 1e9), "processor": name}


def commit() -> str:
    """The short hash of the last commit that changed what is measured, with a plus sign where it was changed since.

    What benchmarks write themselves, records, pages and plots, is not measured: a run of many would mark itself.
    """
    measured = ("--", ".", *WRITTEN)
    changed = _git("status", "--porcelain", "--untracked-files=no", *measured)
    return f"{_git('log', '-1', '--format=%h', '--abbrev=7', *measured)}{'+' if changed else ''}"


def _git(*command: str) -> str:
    run = ["git", *command]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own words


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; *note* is a paragraph behind it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def shown(grids: Iterable[Mapping[str, Any]]) -> str:
    """The grids of a record as Markdown.

    >>> print(shown([{"columns": ["what", "seen"], "rows": [["a", "1"]], "note": "Twice."}]))
    | what | seen |
    |---|---|
    | a | 1 |
    <BLANKLINE>
    Twice.
    """
    return "\n\n".join(
        part for grid in grids for part in (markdown(grid["columns"], grid["rows"]), grid["note"]) if part
    )


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(cells)} |" for cells in (columns, *rows))
    return "\n".join([head, f"|{'---|' * len(columns)}", *body])


def publish(benchmark: str, grids: Sequence[Grid], *packages: str, write: bool, **versions: str) -> None:
    """Print the grids, and keep them as the record of *benchmark* if asked to *write*.

    The record names the versions of ragdrop, of these *packages* and of what *versions* adds.
    """
    results = [asdict(grid) for grid in grids]
    if write:
        reported = {"ragdrop": __version__} | {name: version(name) for name in packages} | versions
        keep(benchmark, results, reported)
    print(shown(results))
