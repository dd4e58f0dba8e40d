"""Good and bad files of every format: each has the outcome that was written down for it, in time and in memory.

They are read as in ingest, in a child process with limits that refuses to open a connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from readers.isolated_reader import IsolatedReader
from tests.outcomes.case import INDEXED, MAX_BYTES, MAX_SECONDS, Case, outcome_of
from tests.outcomes.cases import CASES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    made = IsolatedReader()
    yield made
    made.close()


FILES = [
    pytest.param(case, id=f"{kind}: {case.what}", marks=[pytest.mark.long] if case.long else [])
    for kind, cases in CASES.items()
    for case in cases
]


@pytest.mark.parametrize("case", FILES)
def test_a_file_has_the_outcome_that_is_demanded(reader: IsolatedReader, case: Case) -> None:
    found = outcome_of(reader, case.body(), case.name)

    assert (found.outcome, found.message if found.outcome != case.outcome else "") == (case.outcome, "")
    assert len(found.warnings) == len(case.warns), found.warnings
    assert [words for words in case.warns if not any(words in warning for warning in found.warnings)] == []
    assert case.holds in found.text
    assert found.seconds < MAX_SECONDS
    assert found.peak_bytes < MAX_BYTES


@pytest.mark.parametrize("kind", CASES)
def test_a_format_has_at_least_three_good_and_three_bad_files(kind: str) -> None:
    good, bad = CASES[kind][:3], CASES[kind][3:]

    assert all(case.outcome == INDEXED and case.holds for case in good)
    assert len(bad) >= 3


def test_the_page_of_outcomes_names_every_file_with_the_outcome_that_is_demanded() -> None:
    page = (ROOT / "docs/evidence/formats-outcomes.md").read_text("utf-8")
    cases = [case for cases in CASES.values() for case in cases]

    assert [case for case in cases if f"| {case.what} | `{case.name}` | {case.outcome} |" not in page] == []
