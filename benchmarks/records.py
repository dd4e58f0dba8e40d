"""What a benchmark measured, kept as JSON with the machine, the versions, the date and the commit it was measured on.

Committed records lie in `benchmarks/results/`; those of quick forms in `.local/bench/results/`, which git ignores, so
that a quick run never replaces the numbers of a whole one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
    def told(self) -> str:
        """One line below a table: where and when it was measured.

        >>> machine = {"cores": 2, "memory_gb": 24, "processor": "X"}
        >>> BenchmarkRecord("a", "2026-11-22", "abc1234", machine, {"b": "1.0"}, []).told
        '2026-11-22, commit abc1234, 2 cores (X), 24 GB; b 1.0.'
        """
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        place = f"{self.machine['cores']} cores ({self.machine['processor']}), {self.machine['memory_gb']} GB"
        parts = ", ".join(f"{part} on {at}" for part, at in self.older.items())
        return f"{self.date}, commit {self.commit}{f' ({parts})' if parts else ''}, {place}; {versions}."

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
    """Write the record of a run that just ended."""
    record = made(benchmark, results, versions, quick=quick, older=older)
    folder = QUICK if quick else WHOLE
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
    (folder / f"{benchmark}.json").write_text(text + "\n", encoding="utf-8")
    return record


def read(benchmark: str, folder: Path = WHOLE) -> BenchmarkRecord | None:
    """The kept record, None where there is none."""
    path = folder / f"{benchmark}.json"
    return BenchmarkRecord(**json.loads(path.read_text("utf-8"))) if path.exists() else None


def machine() -> dict[str, Any]:
    """Cores, memory and processor: nothing that names this one machine."""
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
