"""The first session of somebody who has read nothing but the README."""

from __future__ import annotations

import re

from tests.e2e.documented import ROOT, SHELLS, Block, blocks_of
from tests.e2e.newcomer import Newcomer

README = ROOT / "README.md"
LONGEST_S = 600.0  # from the first command to the answer about one's own notes


def block_under(heading: str, *languages: str) -> Block:
    """The first block of commands under a heading of the README."""
    text = README.read_text("utf-8")
    after = text[: text.index(f"\n{heading}\n")].count("\n") + 2
    return next(block for block in blocks_of(README) if block.line > after and block.language in (languages or SHELLS))


def test_two_commands_and_ones_own_notes_lead_to_an_answer_with_its_sources_in_ten_minutes(newcomer: Newcomer) -> None:
    shown = block_under("What `make demo` prints at its end:", "text")
    two, own = block_under("## Two commands"), block_under("Ask about your own notes:")
    assert len(two.commands) == 2
    assert [command for command in own.commands if "push ~/notes" in command and "--wait" in command]

    typed = [newcomer.types(line) for line in two.commands]
    printed = typed[0].worked()
    assert [line for line in shown.text.splitlines() if line not in printed] == []  # what the README shows is true
    assert re.search(r"\[\d+\].*characters", typed[1].worked())
    typed += [newcomer.types(line) for line in own.commands[:2]]

    assert "3 indexed" in typed[2].worked()
    assert "under the blue flower pot" in typed[3].worked()
    assert re.search(r"\[\d+\].*keys\.md", typed[3].printed)
    assert sum(each.seconds for each in typed) < LONGEST_S
