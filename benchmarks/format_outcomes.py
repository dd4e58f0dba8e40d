"""What comes of good and bad files of every format: outcome, warnings and time, of which pages/ makes a page.

    RAGDROP_EVAL_DATA=… python -m benchmarks.format_outcomes [--write]

The files are those of `tests/outcomes`, made from nothing, and the mixed collection.  They are read as in ingest, in a
child process with its limits.  `--write` keeps the figures; `make docs` then writes docs/evidence/formats-outcomes.md.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from platform import python_version
from typing import Any

from benchmarks import records
from readers.isolated_reader import IsolatedReader
from tests.outcomes import mixed
from tests.outcomes.case import outcome_of
from tests.outcomes.cases import CASES

NAME = "format_outcomes"


def of_cases(reader: IsolatedReader) -> list[dict[str, Any]]:
    """A row for each file of ours; `demanded` says whether the outcome is that which was written down."""
    rows = []
    for kind, cases in CASES.items():
        for case in cases:
            found = outcome_of(reader, case.body(), case.name)
            row: dict[str, Any] = {"format": kind, "what": case.what, "file": case.name, "outcome": found.outcome}
            row |= {"warnings": [warning[:120] for warning in found.warnings[:3]], "warned": len(found.warnings)}
            rows.append(row | {"seconds": round(found.seconds, 2), "demanded": found.outcome == case.outcome})
    return rows


def of_collection(reader: IsolatedReader) -> list[dict[str, Any]]:
    """A row for each suffix, category and outcome of the mixed collection; empty where it is not at hand."""
    home = mixed.home()
    groups: defaultdict[tuple[str, str, str], list[tuple[bool, bool, float]]] = defaultdict(list)
    for row, data in mixed.files_in(home) if home else ():
        found = outcome_of(reader, data, row["file"])
        demanded = found.outcome in mixed.demanded(row, data)
        groups[row["ext"], row["category"], found.outcome].append((demanded, bool(found.warnings), found.seconds))
    return [
        {
            "suffix": suffix,
            "category": category,
            "outcome": outcome,
            "files": len(files),
            "demanded": sum(demanded for demanded, _, _ in files),
            "warned": sum(warned for _, warned, _ in files),
            "slowest_s": round(max(seconds for _, _, seconds in files), 2),
        }
        for (suffix, category, outcome), files in sorted(groups.items())
    ]


def main() -> int:
    options = records.parser(__doc__).parse_args()
    reader = IsolatedReader()
    results = {"cases": of_cases(reader), "collection": of_collection(reader)}
    reader.close()
    if options.write:
        records.keep(NAME, results, {"python": python_version()})
    wrong = [row for row in results["cases"] if not row["demanded"]]
    wrong += [row for row in results["collection"] if row["demanded"] < row["files"]]
    print(*wrong, f"{len(results['cases'])} files, {len(wrong)} rows are not as demanded", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
