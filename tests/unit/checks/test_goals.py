"""The page of goals has every row explained, and counts what it says that it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.goals import MISSED, PAGE, Goal, TimedGoal, header_share, page, parameters


def test_a_goal_that_is_met_needs_no_explanation_and_one_that_is_missed_shows_its_own() -> None:
    met, missed = Goal("lines", 10, 5, 5, "why"), Goal("share", 11.5, 9.04, 8, "why", " %")

    assert met.row() == "| lines | 10 | 5 | 5 | met |"
    assert missed.row() == "| share | 11.5 % | 9.0 % | 8.0 % | why |"
    assert missed.row() in page([met, missed])


@pytest.mark.parametrize(
    ("now", "fault"),
    [
        (40_700, ""),
        (40_900, "lines: 40,000 on the page, 40,900 now"),
        (38_900, "lines: missed on the page, met now (38,900, goal 39,000)"),
    ],
)
def test_a_figure_may_move_by_two_per_cent_as_long_as_its_goal_stays_met_or_missed(now: float, fault: str) -> None:
    written = page([Goal("lines", 46_000, 40_000, 39_000, "why")])

    assert Goal("lines", 46_000, now, 39_000, "why").stale(written) == fault


def test_a_small_count_may_move_by_two_and_a_share_only_by_its_two_per_cent() -> None:
    written = page([Goal("modules", 90, 55, 25, "why"), Goal("share", 11.5, 9.6, 8, "why", " %")])

    assert [Goal("modules", 90, now, 25, "why").stale(written) for now in (57, 58)] == [
        "",
        "modules: 55 on the page, 58 now",
    ]
    assert [Goal("share", 11.5, now, 8, "why", " %").stale(written) for now in (9.7, 9.9)] == [
        "",
        "share: 9.6 % on the page, 9.9 % now",
    ]


def test_a_goal_that_the_page_lacks_is_stale() -> None:
    assert Goal("modules", 90, 55, 25, "why").stale(page([])) == "modules: not on the page"


def test_a_measured_row_is_on_the_page_once_it_has_a_value() -> None:
    rows = [TimedGoal("make test", "8 min"), TimedGoal("demo", "75 s", "60 s", "2026-11-25")]

    assert "\n## Measured\n" in page([], rows)
    assert "\n| demo | 60 s | 75 s | 2026-11-25 |\n" in page([], rows)
    assert "| make test |" not in page([], rows)
    assert "Measured" not in page([], rows[:1])


def test_an_explanation_belongs_to_a_row_of_the_page() -> None:
    rows = PAGE.read_text("utf-8")

    assert [what for what in MISSED if f"| {what} |" not in rows] == []


def test_lines_before_the_first_definition_are_a_share_of_all_lines(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import os\n\n\ndef f(): ...\n")
    (tmp_path / "two.py").write_text("A = 1\nB = 2\n")

    assert header_share(tmp_path.glob("*.py")) == 50.0


def test_the_template_has_parameters() -> None:
    assert parameters() > 10
