"""Every file of the mixed collection has the outcome that its category demands, in time and in memory."""

from __future__ import annotations

import pytest

from readers.isolated_reader import IsolatedReader
from tests.outcomes import mixed
from tests.outcomes.case import MAX_BYTES, MAX_SECONDS, outcome_of


def test_every_file_has_the_outcome_demanded(capsys: pytest.CaptureFixture[str]) -> None:
    home = mixed.home()
    if home is None:
        pytest.skip("RAGDROP_EVAL_DATA is not set: the mixed documents are not at hand")
    reader = IsolatedReader()
    lines, wrong, peak_bytes = [], [], 0
    for row, data in mixed.files_in(home):
        found = outcome_of(reader, data, row["file"])
        note = found.message or f"{len(found.text)} characters {'; '.join(found.warnings)}"
        peak_bytes = max(peak_bytes, found.peak_bytes)
        lines.append(f"{row['file'][:64]:64} {found.outcome:24} {found.seconds:5.2f} s  {note[:90]}")
        if found.outcome not in mixed.demanded(row, data) or found.seconds > MAX_SECONDS:
            wrong.append(lines[-1])
    reader.close()
    with capsys.disabled():
        print("", *lines, sep="\n")

    assert wrong == []
    assert len(lines) == mixed.FILES
    assert 0 < peak_bytes < MAX_BYTES
