"""Provenance of the measured tables: one line below each, and one page with every version."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmarks.records import BenchmarkRecord

ENVIRONMENT = "docs/evidence/environment.md"


def measured_line(used: Sequence[BenchmarkRecord], link: str, verb: str = "Measured") -> str:
    """Say when, at which commit and on what machine the *used* records were measured.

    >>> machine = {"cores": 2, "memory_gb": 24, "processor": "AMD EPYC"}
    >>> one = BenchmarkRecord("a", "2026-11-22", "abc1234", machine, {}, [])
    >>> measured_line([one], "environment.md")
    'Measured 2026-11-22, commit abc1234, 2 cores (AMD EPYC); [details](environment.md).'
    """
    dates = sorted({each.date for each in used})
    commits = sorted({at for each in used for at in (each.commit, *each.older.values())})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {_same_year(dates)}"
    at = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    return f"{verb} {when}, {at}, {_machines(used, memory=False)}; [details]({link})."


def environment_table(kept: Mapping[str, BenchmarkRecord]) -> str:
    """List every record with its date, commit, machine and versions."""
    head = ["| benchmark | date | commit | machine | versions |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(_row(kept[name]) for name in sorted(kept))])


def _row(record: BenchmarkRecord) -> str:
    parts = ", ".join(f"{part}: {at}" for part, at in record.older.items())
    commit = f"{record.commit} ({parts})" if parts else record.commit
    versions = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    return f"| {record.benchmark} | {record.date} | {commit} | {_machines([record])} | {versions} |"


def _same_year(dates: Sequence[str]) -> str:
    first, last = dates[0], dates[-1]
    return last[5:] if first[:4] == last[:4] else last


def _machines(used: Sequence[BenchmarkRecord], *, memory: bool = True) -> str:
    found = []
    for each in used:
        machine = each.machine
        size = f", {machine['memory_gb']} GB" if memory else ""
        found.append((f"{machine['cores']} cores", _short(machine["processor"]), size))
    cores, processors, sizes = (list(dict.fromkeys(column)) for column in zip(*found, strict=True))
    return f"{' and '.join(cores)} ({', '.join(processors)}){''.join(sizes)}"


def _short(processor: str) -> str:
    return re.sub(r"\(R\)|\(TM\)| Processor", "", processor).strip()
