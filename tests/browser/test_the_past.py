"""Versions of a document with what changed, Restore, the undoing of a deletion, and the changes of a week."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener, ask
from tests.world import World

OLD = "# Pump\n\nThe pump's code is QX-5521. It stands in the cellar, behind the 2nd door.\n"
NEW = OLD.replace("QX-5521", "ZZ-9000")


@pytest.fixture
def changed(world: World) -> World:
    """A world in which the pump got another code a minute later."""
    world.now_s += 60
    world.put("team/pump.md", NEW)
    world.now_s += 60
    return world


def text_of(page: Page, path: str = "team/pump.md") -> str:
    """The text that a document's page shows."""
    page.goto(page.url.partition("#")[0] + f"#/documents/{path}")
    page.locator("[data-text] .chunk, [data-text] .rendered").first.wait_for()
    return page.locator("[data-text]").inner_text()


def test_what_changed_between_two_versions_is_shown_by_words(changed: World, open_page: Opener) -> None:
    page = open_page("#/documents/team/pump.md")
    page.locator("[data-compare]").click()

    expect(page.locator("[data-compared] del")).to_contain_text("QX-5521.")
    expect(page.locator("[data-compared] ins")).to_contain_text("ZZ-9000.")
    expect(page.locator("[data-compared] .diff")).to_contain_text("It stands in the cellar")


def test_an_old_version_is_restored_as_a_new_one(changed: World, open_page: Opener) -> None:
    page = open_page("#/versions/team/pump.md")

    page.locator("[data-action=restore]").click()
    expect(page.locator("[data-restored=restore]")).to_be_visible()

    assert "QX-5521" in text_of(page)


def test_restoring_a_document_leaves_one_whose_path_begins_the_same(changed: World, open_page: Opener) -> None:
    changed.put("team/pump.md.txt", "Another file.")
    page = open_page("#/versions/team/pump.md")

    page.locator("[data-action=restore]").click()
    expect(page.locator("[data-restored=restore]")).to_be_visible()

    assert "Another file." in text_of(page, "team/pump.md.txt")


def test_two_versions_are_chosen_by_the_keyboard_and_the_address_names_them(changed: World, open_page: Opener) -> None:
    changed.put("team/pump.md", NEW + "\nIt was painted.\n")
    page = open_page("#/versions/team/pump.md")
    expect(page.locator("[data-compared] ins")).to_contain_text("It was painted.")

    page.locator("[data-choose^='from']:checked").focus()
    page.keyboard.press("ArrowDown")

    expect(page.locator("[data-compared] del")).to_contain_text("QX-5521.")
    expect(page).to_have_url(re.compile("from=version-000001&to="))


def test_a_deletion_is_undone_where_it_was_made(world: World, open_page: Opener) -> None:
    page = open_page("#/documents")
    page.locator("[data-document='team/pump.md'] [data-action=delete]").click()
    page.locator("[data-action=confirm]").click()

    page.locator("dialog [data-action=undo]").click()
    expect(page.locator("dialog [data-restored=restore]")).to_be_visible()
    page.locator("[data-action=close]").click()

    assert "QX-5521" in text_of(page)


def test_a_deleted_document_is_taken_back_from_the_list_of_deleted_ones(world: World, open_page: Opener) -> None:
    world.delete("team/pump.md")
    world.now_s += 60
    page = open_page("#/documents?status=deleted")

    page.locator("[data-document='team/pump.md'] [data-action=undo]").click()
    expect(page.locator("[data-restored=restore]")).to_be_visible()

    assert "QX-5521" in text_of(page)


def test_the_page_of_a_deleted_document_says_what_went_and_takes_it_back(world: World, open_page: Opener) -> None:
    world.now_s += 60
    world.delete("team/pump.md")
    page = open_page("#/versions/team/pump.md")
    expect(page.locator("[data-compared] del").last).to_contain_text("QX-5521")

    page.goto(page.url.partition("#")[0] + "#/documents/team/pump.md")
    page.locator("[data-action=undo]").click()

    expect(page.locator("[data-page=document][data-state=indexed]")).to_be_visible()


def test_a_reader_compares_and_restores_nothing(changed: World, open_page: Opener) -> None:
    page = open_page("#/versions/team/pump.md", "reader")

    expect(page.locator("[data-compared] ins")).to_contain_text("ZZ-9000.")
    expect(page.locator("[data-action=restore]")).to_have_count(0)


def test_the_changes_of_a_week_lead_to_what_changed(changed: World, open_page: Opener) -> None:
    changed.delete("team/valve.md")
    page = open_page()
    page.clock.set_fixed_time(datetime.fromtimestamp(changed.now_s, UTC))
    page.goto(page.url.partition("#")[0] + "#/changes?vault=team")

    expect(page.locator("[data-change]")).to_have_count(4)
    expect(page.locator("[data-change]").first).to_have_attribute("data-kind", "deleted")
    page.locator("[data-change]").nth(1).locator("[data-compare]").click()

    expect(page.locator("[data-compared] ins")).to_contain_text("ZZ-9000.")


def test_a_receipt_says_why_the_answer_is_another_now_and_shows_the_words(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    page.locator("[data-receipt]").click()
    world.put("team/pump.md", NEW)
    world.chat.reply = "The pump's code is ZZ-9000 [1]."

    page.locator("[data-replay]").click()
    expect(page.locator("[data-because=versions]")).to_be_visible()
    page.locator("[data-difference] [data-compare]").click()

    expect(page.locator("[data-compared] ins")).to_contain_text("ZZ-9000.")


def test_a_vault_is_compared_with_a_day_and_taken_back_to_it(world: World, open_page: Opener) -> None:
    world.now_s += 2 * 86_400
    world.put("team/pump.md", NEW)
    world.put("team/new.md", "# New")
    page = open_page()
    now = datetime.fromtimestamp(world.now_s, UTC)
    page.clock.set_fixed_time(now)
    page.goto(page.url.partition("#")[0] + "#/changes?vault=team")

    page.locator("#then-day").fill((now - timedelta(days=1)).date().isoformat())
    expect(page.locator("[data-step=restore] a")).to_have_text("pump.md")
    expect(page.locator("[data-step=delete] a")).to_have_text("new.md")
    page.locator("[data-action=take-back]").click()
    page.locator("[data-action=confirm]").click()

    expect(page.locator("[data-then]")).to_contain_text("Taken back: 2.")
    assert "QX-5521" in text_of(page)


def test_the_list_of_documents_shows_what_was_there_on_a_day(world: World, open_page: Opener) -> None:
    world.now_s += 2 * 86_400
    world.put("team/pump.md", NEW.replace("# Pump", "# Turbine"))
    world.put("team/new.md", "# New")
    world.delete("team/valve.md")
    world.now_s += 60
    page = open_page()
    now = datetime.fromtimestamp(world.now_s, UTC)
    page.clock.set_fixed_time(now)
    page.goto(page.url.partition("#")[0] + "#/documents")
    expect(page.locator("[data-document] a")).to_have_text(["New", "Turbine"])

    page.locator("#by-as_of").fill((now - timedelta(days=1)).date().isoformat())

    expect(page.locator("[data-document] a")).to_have_text(["Pump", "Valve"])
    expect(page.locator("p[data-then]")).to_contain_text("What answered at the end of 16 Jan 2027")
    expect(page.locator("[data-document] button")).to_have_count(0)
    expect(page).to_have_url(re.compile("as_of=2027-01-16"))
    page.reload()
    expect(page.locator("[data-document] a")).to_have_text(["Pump", "Valve"])
    page.locator("[data-document] a").first.click()
    expect(page.locator("[data-old-version]")).to_be_visible()
    expect(page.locator("[data-text]")).to_contain_text("QX-5521")


def test_the_list_of_a_day_before_the_retention_says_what_is_stored(world: World, open_page: Opener) -> None:
    page = open_page("#/documents?as_of=2020-01-01")

    expect(page.locator("[data-problem]")).to_contain_text("30 days")
