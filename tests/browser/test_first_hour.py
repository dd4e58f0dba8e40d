"""The first hour with the page, as its recording plays it, over a World."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pages.first_hour import CODE, FOLLOW_UP, MACHINES, QUESTION, RECORDING, play
from ragdrop.generate.prompt import INSTRUCTIONS
from ragdrop.ports.model_services import Message
from tests.agent_world import eager_world
from tests.browser.conftest import Opener
from tests.world import World

MOST_BYTES = 900_000


def reply(messages: Sequence[Message]) -> str:
    """What a chat model says: a follow-up as a whole question, and sentences of the sources."""
    if messages[0].content == INSTRUCTIONS:
        return "Where does the pump stand?"
    said = messages[-1].content
    sentence = r"The pump stands [^.]*\." if "stand?" in said else r"The shaft seal of the pump must be [^.]*\."
    found = re.search(sentence, said)
    marker = re.findall(r"^#\w+ \[(\d+)\]", said[: found.start()], re.MULTILINE) if found else []
    return f"{found[0]} [{marker[-1] if marker else 1}]" if found else "INSUFFICIENT_INFORMATION"


@pytest.fixture
def world() -> World:
    """A tenant without documents, in the present."""
    world = eager_world(MIN_RELEVANCE="0")
    world.now_s = time.time()
    world.chat.reply = reply
    return world


def test_the_first_hour_goes_from_an_empty_stack_to_a_shared_thread(
    open_page: Opener, url: str, tmp_path: Path
) -> None:
    seen: list[str] = []
    page = open_page(width=1_000, height=640)

    exported = play(page, url, tmp_path / "handbook", seen.append)

    assert len(MACHINES) * 10 == 40
    assert [step for step in seen if CODE in step]
    assert QUESTION in exported
    assert FOLLOW_UP in exported
    assert "18 months" in exported
    assert "[^1]" in exported


def test_its_recording_is_animated_and_small() -> None:
    body = RECORDING.read_bytes()

    assert body[:4] == b"RIFF"
    assert b"ANIM" in body[:64]
    assert len(body) <= MOST_BYTES
