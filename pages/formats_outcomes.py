"""What came of good and bad files of every format, from the record of benchmarks/format_outcomes.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import records
from pages.formats import table

HEAD = """# What comes of good and bad files

Files of every format that is read, three good ones and the others empty, truncated, locked, misnamed or hostile. Each
has an outcome that was written down before (`tests/outcomes`), and `tests/contract/test_outcomes_of_formats.py` holds
it. All are made from nothing by code. They are read as in ingest: in a child process of 512 MB that may take 20 s and
can open no connection. What may be read and what is refused is on the page of [formats](../formats.md).

The time is the wall time of reading, {machine}. Files that the limits stop take as long as the limits let them.

"""
COLLECTION = """
## The mixed collection

74 files of other programs, from the test suites of public projects. The outcome that is demanded follows from the
category and the suffix of each (`tests/outcomes/mixed.py`).

"""
END = """
<!-- not run: a minute of measuring -->
```sh
.venv/bin/python -m benchmarks.format_outcomes --write && make docs
```

This page is written by `make docs` from `pages/formats_outcomes.py`.
"""


def page() -> str:
    """The whole page, of the record that is kept."""
    record = records.read("format_outcomes")
    if record is None:
        return HEAD.format(machine="not measured yet") + END
    files = [("format", "file", "name", "outcome", "warnings", "s")]
    files += [_row(row) for row in record.results["cases"]]
    groups = [("suffix", "category", "outcome", "files", "as demanded", "with warnings", "slowest, s")]
    groups += [
        tuple(str(row[name]) for name in ("suffix", "category", "outcome", "files", "demanded", "warned", "slowest_s"))
        for row in record.results["collection"]
    ]
    wrong = sum(not row["demanded"] for row in record.results["cases"])
    demanded = f"\n{len(files) - 1} files, of which {len(files) - 1 - wrong} have the outcome that is demanded.\n"
    head = HEAD.format(machine=f"on {record.machine['cores']} cores ({record.machine['processor']})")
    middle = COLLECTION + table(groups) if len(groups) > 1 else ""
    return f"{head}{table(files)}{demanded}{middle}\nMeasured {record.date}, commit {record.commit}.\n{END}"


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = "; ".join(row["warnings"][:2])
    if row["warned"] > 2:
        warnings += f"; and {row['warned'] - 2} more"
    cells = (row["format"], row["what"], f"`{row['file']}`", row["outcome"], warnings, f"{row['seconds']:.2f}")
    return tuple(cell.replace("|", "\\|") for cell in cells)
