"""What came of good and bad files of every format, from the record of benchmarks/format_outcomes.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import records
from pages.wrap import table

COLLECTION = """## The mixed collection

74 files of other programs, from the test suites of public projects. The outcome that is demanded follows from the
category and the suffix of each (`tests/outcomes/mixed.py`)."""


def part() -> str:
    """The tables of the record, with a line on where and when it was measured."""
    record = records.read("format_outcomes")
    if record is None:
        raise FileNotFoundError("benchmarks/results/format_outcomes.json")
    cases, collection = record.results["cases"], record.results["collection"]
    files = [("format", "file", "name", "outcome", "warnings", "s"), *map(_row, cases)]
    groups: list[tuple[str, ...]] = [
        ("suffix", "category", "outcome", "files", "as demanded", "with warnings", "slowest, s")
    ]
    keys = ("suffix", "category", "outcome", "files", "demanded", "warned", "slowest_s")
    groups += [tuple(str(row[key]) for key in keys) for row in collection]
    right = sum(row["demanded"] for row in cases)
    where = f"{record.machine['cores']} cores ({record.machine['processor']})"
    return "\n\n".join(
        [
            table(files),
            f"{len(cases)} files, of which {right} have the outcome that is demanded.",
            COLLECTION,
            table(groups),
            f"Measured {record.date}, commit {record.commit}, {where}.",
        ]
    )


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = "; ".join(row["warnings"][:2])
    if row["warned"] > 2:
        warnings += f"; and {row['warned'] - 2} more"
    cells = (row["format"], row["what"], f"`{row['file']}`", row["outcome"], warnings, f"{row['seconds']:.2f}")
    return tuple(cell.replace("|", "\\|") for cell in cells)
