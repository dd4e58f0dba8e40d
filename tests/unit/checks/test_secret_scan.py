"""The scan for secrets knows what is none, by the hash of its text."""

from __future__ import annotations

import json
from typing import Any

from checks.secret_scan import KNOWN, ROOT, unknown

ENTRY: dict[str, Any] = {"type": "AWS Access Key", "line_number": 7, "hashed_secret": "ab12"}


def test_a_secret_that_nobody_listed_is_reported_by_its_place_and_hash() -> None:
    assert unknown({"a.py": [ENTRY]}, {}) == ["a.py:7: AWS Access Key (ab12)"]


def test_one_that_is_listed_for_its_file_may_stand_on_any_line() -> None:
    assert unknown({"a.py": [{**ENTRY, "line_number": 99}]}, {"a.py": {"ab12": "an example"}}) == []
    assert unknown({"b.py": [ENTRY]}, {"a.py": {"ab12": "an example"}}) != []


def test_whatever_is_listed_has_a_reason_and_a_file() -> None:
    known = json.loads(KNOWN.read_text("utf-8"))

    assert [name for name in known if not (ROOT / name).is_file()] == []
    assert [name for name, reasons in known.items() if not reasons or not all(reasons.values())] == []
