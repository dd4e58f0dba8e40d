"""Write the second set's files, and its answers into `questions.jsonl`: `python -m tests.table_set.second.make`.

The answers are computed over the rows that the files were written from: nothing reads the files, nothing is ragdrop's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.table_set import truth
from tests.table_set.second.worlds_final import FINAL
from tests.table_set.second.worlds_tuning import TUNING


def answered(folder: Path) -> list[dict[str, Any]]:
    """All questions with their answers; the files are written to *folder*."""
    rows = {name: make(folder) for name, make in (TUNING | FINAL).items()}
    found = truth.questions(truth.SECOND)
    for question in found:
        if "refuse" not in question:
            question["answer"], question["rests_on"] = truth.answer(question, rows[question["table"]])
    return found


def main() -> None:
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in answered(truth.SECOND / "files")]
    (truth.SECOND / "questions.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
