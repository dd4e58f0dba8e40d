"""What waits in a stage, its golden questions, promoting and discarding it, in the page."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from ragdrop.domain.history import STAGE
from tests.browser.conftest import Opener
from tests.browser.payloads import PAYLOADS
from tests.browser.test_accessibility import violations
from tests.browser.test_hostile_text import unharmed
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


def settings(world: World) -> dict[str, object]:
    """The settings file of vault `team` as it is in the bucket."""
    body = world.documents.get(world.key("team/.ragdrop.json").s3_key)
    assert body is not None
    found: dict[str, object] = json.loads(body)
    return found


def test_golden_questions_are_added_changed_and_removed_and_all_else_stays(world: World, open_page: Opener) -> None:
    golden(world)
    stored = settings(world) | {"golden_gate": 0.5}
    world.put("team/.ragdrop.json", json.dumps(stored))
    page = open_page("#/stages?vault=team")
    page.locator("[data-action=edit-golden]").click()
    rows = page.locator("[data-golden-row]")
    expect(rows).to_have_count(2)

    rows.first.get_by_label("Question").fill("Where does the pump stand?")
    rows.first.get_by_label("Expected").fill("in the cellar")
    rows.nth(1).locator("[data-action=remove]").click()
    page.locator("[data-action=add-golden]").click()
    rows.nth(1).get_by_label("Question").fill("What opens at 7 bar?")
    rows.nth(1).get_by_label("What must be found").select_option("document")
    rows.nth(1).get_by_label("Expected").fill("valve.md")
    page.locator("[data-action=save-golden]").click()
    page.locator("[data-action=ask-golden]").click()

    expect(page.locator("[data-golden] tbody tr")).to_have_count(2)
    expect(page.locator("[data-page=stages]")).to_contain_text("2 of 2 answered")
    asked = [
        {"question": "Where does the pump stand?", "text": "in the cellar"},
        {"question": "What opens at 7 bar?", "document": "valve.md"},
    ]
    assert settings(world) == {"golden_questions": asked, "golden_gate": 0.5}


def test_a_vault_without_settings_gets_its_first_golden_question(world: World, open_page: Opener) -> None:
    page = open_page("#/stages?vault=team")
    page.locator("[data-action=edit-golden]").click()

    page.get_by_label("Question", exact=True).fill("Which code does the pump have?")
    page.get_by_label("Expected").fill("QX-5521")
    page.get_by_label("Expected").press("Enter")
    page.locator("[data-action=ask-golden]").click()

    expect(page.locator("[data-golden] tbody tr")).to_have_count(1)


def test_golden_questions_that_someone_changed_meanwhile_are_not_overwritten(world: World, open_page: Opener) -> None:
    golden(world)
    page = open_page("#/stages?vault=team")
    page.locator("[data-action=edit-golden]").click()
    page.locator("[data-golden-row]").first.get_by_label("Expected").fill("QX")
    other = {"golden_questions": [{"question": "Another?", "text": "7 bar"}]}
    world.put("team/.ragdrop.json", json.dumps(other))

    page.locator("[data-action=save-golden]").click()

    page.locator("[data-edit-golden] [data-problem]").wait_for()
    assert settings(world) == other


def test_settings_that_are_refused_say_why_and_the_questions_stay_in_the_form(world: World, open_page: Opener) -> None:
    world.put("team/.ragdrop.json", json.dumps({"colour": "red"}))
    page = open_page("#/stages?vault=team")
    page.locator("[data-action=edit-golden]").click()
    page.get_by_label("Question", exact=True).fill("Which code does the pump have?")
    page.get_by_label("Expected").fill("QX-5521")

    page.locator("[data-action=save-golden]").click()

    expect(page.locator("[data-edit-golden] [data-failure]")).to_contain_text("colour")
    expect(page.get_by_label("Expected")).to_have_value("QX-5521")


def test_hostile_golden_questions_are_text_and_the_form_has_no_violation(world: World, open_page: Opener) -> None:
    asked = [{"question": each[:900], "text": each[:900]} for each in PAYLOADS if each.strip()][:50]
    world.put("team/.ragdrop.json", json.dumps({"golden_questions": asked}))
    page = open_page("#/stages?vault=team")
    page.locator("[data-action=ask-golden]").click()
    page.locator("[data-golden] tbody tr").first.wait_for()
    unharmed(page)

    page.locator("[data-action=edit-golden]").click()
    expect(page.locator("[data-golden-row]")).to_have_count(len(asked))
    unharmed(page)
    assert violations(page) == []


def test_golden_questions_are_edited_by_admins_alone(world: World, open_page: Opener) -> None:
    golden(world)
    page = open_page("#/stages?vault=team", "writer")

    expect(page.locator("[data-action=ask-golden]")).to_be_visible()
    expect(page.locator("[data-action=edit-golden]")).to_have_count(0)
