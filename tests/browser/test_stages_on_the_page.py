"""What waits in a stage, its golden questions, promoting and discarding it, in the page."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from ragdrop.domain.history import STAGE
from tests.browser.conftest import Opener
from tests.world import World


@pytest.fixture
def staged(world: World) -> World:
    """A world in which a valve of another pressure waits in `spring`."""
    world.put("team/valve.md", "# Valve\n\nThe valve opens at 9 bar.", {STAGE: "spring"})
    return world


def golden(world: World) -> None:
    """Let vault `team` have two golden questions."""
    asked = [
        {"question": "Which code does the pump have?", "text": "QX-5521"},
        {"question": "At which pressure does the valve open?", "text": "7 bar"},
    ]
    world.put("team/.ragdrop.json", json.dumps({"golden_questions": asked}))
    world.app.tenants.directory.forget(world.tenant)


def test_what_waits_is_listed_and_promoted(staged: World, open_page: Opener) -> None:
    page = open_page("#/stages?vault=team")
    expect(page.locator("[data-stage=spring] .links a")).to_have_text(["valve.md"])

    page.locator("[data-stage=spring] [data-action=promote]").click()

    expect(page.locator("[data-done=promote]")).to_contain_text("Promoted: 1.")


def test_the_gate_says_which_golden_questions_a_stage_breaks_and_refuses_it(staged: World, open_page: Opener) -> None:
    golden(staged)
    page = open_page("#/stages?vault=team")
    page.locator("[data-stage=spring] [data-action=check]").click()
    broken = page.locator("[data-checks] tr").filter(has_text="valve")
    expect(broken.locator("[data-passed=true]")).to_have_count(1)
    expect(broken.locator("td").last).to_contain_text("not answered")

    page.locator("[data-stage=spring] [data-action=promote]").click()

    expect(page.locator("[data-refused]")).to_be_visible()
    expect(page.locator("[data-checks] tr").filter(has_text="valve")).to_have_count(1)


def test_a_stage_is_discarded_after_another_question(staged: World, open_page: Opener) -> None:
    page = open_page("#/stages?vault=team")
    page.locator("[data-stage=spring] [data-action=discard]").click()
    page.keyboard.press("Enter")

    expect(page.locator("[data-done=discard]")).to_contain_text("Discarded: 1.")
    assert "9 bar" not in " ".join(staged.texts("valve"))


def test_golden_questions_are_asked_and_their_answers_shown(world: World, open_page: Opener) -> None:
    golden(world)
    page = open_page("#/stages?vault=team")

    page.locator("[data-action=ask-golden]").click()

    expect(page.locator("[data-golden] tbody tr")).to_have_count(2)
    expect(page.locator("[data-page=stages]")).to_contain_text("2 of 2 answered")


def test_a_reader_sees_what_waits_and_changes_nothing(staged: World, open_page: Opener) -> None:
    page = open_page("#/stages?vault=team", "reader")

    expect(page.locator("[data-stage=spring] [data-action=check]")).to_be_visible()
    expect(page.locator("[data-action=promote], [data-action=discard], [data-action=ask-golden]")).to_have_count(0)
