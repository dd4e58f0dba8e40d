"""The tables of what was stale, double and missing, made from what benchmarks/change/run.py found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.change.counts import Counts


def change_table(found: Mapping[str, Any]) -> str:
    """A line a system, then a line a step with what went wrong there."""
    systems = found["systems"]
    lines = [
        "| after all steps | stale hits | duplicates | missing | how it is kept up to date |",
        "|---|---|---|---|---|",
    ]
    for name, each in systems.items():
        total = sum((Counts(**counts) for counts in each["counts"]), Counts())
        lines.append(f"| {name} | {total.stale} | {total.double} | {total.missing} | {each['settings']} |")
    lines += ["", f"| stale · duplicates · missing | {' | '.join(systems)} |", f"|---|{'---|' * len(systems)}"]
    for at, step in enumerate(found["steps"]):
        cells = (each["counts"][at] for each in systems.values())
        shown = (f"{cell['stale']} · {cell['double']} · {cell['missing']}" for cell in cells)
        lines.append(f"| {step} | {' | '.join(shown)} |")
    return "\n".join(lines)
