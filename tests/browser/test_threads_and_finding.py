"""Threads that stay, are shared and are exported, and the field that finds while one types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

from ragdrop.generate.prompt import INSTRUCTIONS
from ragdrop.ports.model_services import Message
from tests.browser.conftest import Opener, ask
from tests.world import World

QUESTION = "Which code does the pump have?"


def asked(page: Page) -> str:
    """The address of the thread that a question begins."""
    ask(page, QUESTION)
    expect(page).to_have_url(re.compile("#/threads/"))
    return page.url


def listed(page: Page) -> Page:
    """The view of threads, of one who has one."""
    page.goto(page.url.partition("#")[0] + "#/threads")
    page.locator("[data-thread]").wait_for()
    return page


def test_a_reload_shows_the_conversation_again_and_continues_it(open_page: Opener) -> None:
    page = open_page()
    asked(page)

    page.reload()

    expect(page.locator("[data-turn] h2")).to_have_text([QUESTION])
    expect(page.locator("[data-answer] [data-mark]").first).to_be_visible()
    ask(page, "Where does it stand?")
    page.reload()
    expect(page.locator("[data-turn]")).to_have_count(2)


def test_a_reload_shows_a_follow_up_as_it_was_put_and_as_it_was_understood(world: World, open_page: Opener) -> None:
    def reply(messages: Sequence[Message]) -> str:
        is_condensing = messages[0].content == INSTRUCTIONS
        return "Where does the pump stand?" if is_condensing else "It stands in the cellar, behind the 2nd door. [1]"

    page = open_page()
    asked(page)
    world.chat.reply = reply
    ask(page, "And where does it stand?")
    understood = page.locator("[data-asked]").inner_text()

    page.reload()

    expect(page.locator("[data-turn] h2")).to_have_text([QUESTION, "And where does it stand?"])
    expect(page.locator("[data-asked]")).to_have_count(1)
    assert page.locator("[data-asked]").inner_text() == understood
    assert "Where does the pump stand?" in understood


def test_a_thread_is_renamed_found_by_its_name_and_deleted_for_good(open_page: Opener) -> None:
    page = open_page()
    thread = asked(page)
    listed(page).locator("[data-action=rename]").click()
    page.locator("[data-name]").fill("Cellar")
    page.locator("[data-name]").press("Enter")
    expect(page.locator("[data-thread] a")).to_have_text("Cellar")

    page.locator("[data-find-thread]").fill("attic")
    expect(page.locator("[data-thread]")).to_have_count(0)
    page.locator("[data-find-thread]").fill("cell")
    page.locator("[data-action=delete]").click()
    page.locator("[data-thread] .danger").first.click()
    expect(page.locator("[data-thread]")).to_have_count(0)

    page.goto(thread)
    expect(page.locator("[data-problem]")).to_be_visible()


def test_a_shared_thread_shows_another_reader_what_that_one_may_read(world: World, open_page: Opener) -> None:
    page = open_page()
    thread = asked(page)
    world.put("secret/plan.md", "# Plan\n\nThe new pump's code is ZZ-77.\n")
    listed(page).locator("[data-action=share]").click()
    expect(page.locator("[data-thread] .chip")).to_be_visible()

    of_team = open_page("#" + thread.partition("#")[2], "reader", "team")
    expect(of_team.locator("[data-turn] h2")).to_have_text([QUESTION])
    elsewhere = open_page("#" + thread.partition("#")[2], "reader", "secret")
    elsewhere.locator("main").wait_for()
    elsewhere.wait_for_load_state("networkidle")

    assert QUESTION not in elsewhere.locator("main").inner_text()


def test_a_thread_is_exported_as_markdown_with_its_footnotes(open_page: Opener) -> None:
    page = open_page()
    asked(page)

    with page.expect_download() as download:
        listed(page).locator("[data-action=export]").click()

    text = Path(download.value.path()).read_text("utf-8")
    assert QUESTION in text
    assert "QX-5521" in text
    assert "[^1]" in text


def test_a_code_is_found_as_one_types_and_enter_opens_its_place(open_page: Opener) -> None:
    page = open_page()
    page.keyboard.press("Control+k")
    page.keyboard.type("QX-55")
    page.get_by_role("option").filter(has_text="pump.md").first.wait_for()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("#/documents/team/pump.md"))
    expect(page.locator("main mark").first).to_contain_text("QX-55")


def test_dates_are_written_as_the_browsers_locale_has_them(open_page: Opener) -> None:
    page = open_page("#/documents/team/pump.md")
    page.locator("main h1").wait_for()
    page.wait_for_load_state("networkidle")

    text = page.locator("main").inner_text()
    assert " Jan 2027" in text
    assert "Jan 15, 2027" not in text
