"""Documents that wait in a stage, and feedback on answers, in the page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from ragdrop.domain.history import STAGE
from tests.browser.conftest import Opener, ask
from tests.world import World


def test_a_staged_document_is_listed_with_its_stage_and_found_by_its_status(world: World, open_page: Opener) -> None:
    world.put("team/pump.md", "# Pump\n\nThe pump is new.", {STAGE: "spring"})

    page = open_page("#/documents?status=staged")

    row = page.locator("[data-document='team/pump.md']")
    expect(row.locator("[data-status=staged]")).to_contain_text("Staged")
    expect(row).to_contain_text("spring")
    expect(page.locator("[data-document]")).to_have_count(1)


def test_a_staged_document_says_what_it_waits_in(world: World, open_page: Opener) -> None:
    world.put("team/pump.md", "# Pump\n\nThe pump is new.", {STAGE: "spring"})

    page = open_page("#/documents/team/pump.md")

    expect(page.locator("[data-page=document]")).to_contain_text("This version waits in a stage")
    expect(page.locator("[data-page=document]")).to_contain_text("spring")


def test_an_answer_is_called_wrong_in_the_users_own_words(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")

    page.locator("[data-say=wrong]").click()
    page.locator("[data-words]").fill("see team/valve.md")
    page.locator("[data-tell]").click()

    expect(page.locator("[data-say=wrong]")).to_have_attribute("aria-pressed", "true")
    (receipt,) = world.receipts.stored.values()
    assert [(each.kind, each.text) for each in receipt.feedback.values()] == [("wrong", "see team/valve.md")]


def test_an_answer_is_called_right_by_one_click_and_its_receipt_shows_it(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")

    page.locator("[data-say=right]").click()
    expect(page.locator("[data-say=right]")).to_have_attribute("aria-pressed", "true")
    page.locator("[data-receipt]").click()

    expect(page).to_have_url(re.compile("#/answers/"))
    expect(page.locator("[data-say=right]").last).to_have_attribute("aria-pressed", "true")


def test_feedback_that_does_not_arrive_is_not_shown_as_given(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    world.receipts.stored.clear()

    page.locator("[data-say=right]").click()

    expect(page.locator(".toast")).to_have_text("It could not be sent")
    expect(page.locator("[data-say=right]")).to_have_attribute("aria-pressed", "false")


def test_an_upload_goes_to_the_vault_and_folder_that_the_list_shows(world: World, open_page: Opener) -> None:
    world.put("wiki/notes/a.md", "# A")

    page = open_page("#/documents?vault=team")
    page.locator("#by-vault").select_option("wiki")
    page.locator("#by-prefix").fill("notes/")
    expect(page.locator("#upload-vault")).to_have_value("wiki")
    expect(page.locator("#upload-folder")).to_have_value("notes")
