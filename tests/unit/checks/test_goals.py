"""The page of goals has every row explained, and counts what it says that it counts."""

from __future__ import annotations

from pathlib import Path

from checks.goals import MISSED, PAGE, Goal, header_share, page, parameters


def test_a_goal_that_is_met_needs_no_explanation_and_one_that_is_missed_shows_its_own() -> None:
    met, missed = Goal("lines", 10, 5, 5, "why"), Goal("share", 11.5, 9.04, 8, "why", " %")

    assert met.row() == "| lines | 10 | 5 | 5 | met |"
    assert missed.row() == "| share | 11.5 % | 9.0 % | 8.0 % | why |"
    assert missed.row() in page([met, missed])


def test_an_explanation_belongs_to_a_row_of_the_page() -> None:
    rows = PAGE.read_text("utf-8")

    assert [what for what in MISSED if f"| {what} |" not in rows] == []


def test_lines_before_the_first_definition_are_a_share_of_all_lines(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import os\n\n\ndef f(): ...\n")
    (tmp_path / "two.py").write_text("A = 1\nB = 2\n")

    assert header_share(tmp_path.glob("*.py")) == 50.0


def test_the_template_has_parameters() -> None:
    assert parameters() > 10
