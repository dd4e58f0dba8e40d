"""The first session of somebody who has read nothing but the README."""

from __future__ import annotations

import re

from tests.e2e.documented import ROOT, Block, blocks_of
from tests.e2e.newcomer import Newcomer

README = ROOT / "README.md"
LONGEST_S = 600.0  # from the first command to the answer about one's own notes


def block_under(heading: str) -> Block:
    """The first block of commands under a heading of the README."""
    text = README.read_text("utf-8")
    after = text[: text.index(f"\n{heading}\n")].count("\n") + 2
    return next(block for block in blocks_of(README) if block.line > after and block.language in {"sh", "bash"})


def test_two_commands_and_ones_own_notes_lead_to_an_answer_with_its_sources_in_ten_minutes(newcomer: Newcomer) -> None:
    two, own = block_under("## Two commands"), block_under("Ask about your own notes:")
    assert len(two.commands) == 2
    assert [command for command in own.commands if "push ~/notes" in command and "--wait" in command]

    typed = [newcomer.types(line) for line in two.commands]
    printed = typed[0].worked()
    assert "[1]" in typed[1].worked()
    assert "read back from S3: stands there letter for letter" in printed
    typed += [newcomer.types(line) for line in own.commands[:2]]

    assert "3 indexed" in typed[2].worked()
    assert "under the blue flower pot" in typed[3].worked()
    assert re.search(r"\[1\].*keys\.md", typed[3].printed)
    assert sum(each.seconds for each in typed) < LONGEST_S
