"""Write the files of the second to seventh sets, and their answers: `python -m tests.table_set.make_sets`.

The answers are computed over the rows that the files were written from: nothing reads the files, nothing is ragdrop's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.table_set import truth
from tests.table_set.fifth import worlds as fifth
from tests.table_set.fourth import worlds as fourth
from tests.table_set.second.worlds_final import FINAL
from tests.table_set.second.worlds_tuning import TUNING
from tests.table_set.seventh import worlds as seventh
from tests.table_set.sixth import worlds as sixth
from tests.table_set.third import worlds as third

SETS = {
    truth.SECOND: TUNING | FINAL,
    truth.THIRD: third.WORLDS,
    truth.FOURTH: fourth.WORLDS,
    truth.FIFTH: fifth.WORLDS,
    truth.SIXTH: sixth.WORLDS,
    truth.SEVENTH: seventh.WORLDS,
}


def answered(of_set: Path, folder: Path) -> list[dict[str, Any]]:
    """All questions of the set in *of_set* with their answers; its files are written to *folder*."""
    rows = {name: make(folder) for name, make in SETS[of_set].items()}
    found = truth.questions(of_set)
    for question in found:
        if "refuse" not in question:
            question["answer"], question["rests_on"] = truth.answer(question, rows[question["table"]])
    return found


def main() -> None:
    for of_set in SETS:
        lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in answered(of_set, of_set / "files")]
        (of_set / "questions.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
