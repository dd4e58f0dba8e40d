"""The first session of somebody who has read nothing but the README."""

from __future__ import annotations

import re

from tests.e2e.conftest import README
from tests.e2e.documented import block_under
from tests.e2e.newcomer import Typed

LONGEST_S = 600.0  # from the first command to the answer about one's own notes
ASKED = "one that a note answers, one that none does, one by a code"


def test_there_are_two_commands_and_they_answer_as_the_readme_shows(first_session: list[Typed]) -> None:
    demo, asked = first_session[:2]
    shown = block_under(README, f"`make demo` asks three questions: {ASKED}. The first:", "text")

    assert len(block_under(README, "## Two commands").commands) == 2
    assert [line for line in shown.text.splitlines() if line not in demo.worked()] == []
    assert re.search(r"\[\d+\].*characters", asked.worked())


def test_ones_own_notes_are_answered_from_with_sources_within_ten_minutes(first_session: list[Typed]) -> None:
    pushed, asked = first_session[2:]

    assert "push ~/notes" in pushed.line
    assert sum(map(int, re.findall(r"(\d+) (?:indexed|unchanged)", pushed.worked()))) == 3
    assert "under the blue flower pot" in asked.worked()
    assert re.search(r"\[\d+\].*keys\.md", asked.printed)
    assert sum(each.seconds for each in first_session) < LONGEST_S
