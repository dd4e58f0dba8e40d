"""Threads that stay, are shared and are exported, and the field that finds while one types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

from ragdrop.generate.prompt import INSTRUCTIONS
from ragdrop.ports.model_services import Message
from tests.browser.conftest import Opener, ask
from tests.world import World

QUESTION = "Which code does the pump have?"


def replies(understood: str, answer: str) -> Callable[[Sequence[Message]], str]:
    """A chat model that takes a follow-up for *understood*, and says *answer*."""
    return lambda messages: understood if messages[0].content == INSTRUCTIONS else answer


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
    page = open_page()
    asked(page)
    world.chat.reply = replies("Where does the pump stand?", "It stands in the cellar, behind the 2nd door. [1]")
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


def test_what_can_be_done_with_a_thread_stands_in_one_line(open_page: Opener) -> None:
    page = open_page()
    asked(page)

    tools = listed(page).locator("[data-thread] button").all()

    assert len({round(box["y"]) for tool in tools if (box := tool.bounding_box())}) == 1


def test_a_follow_up_is_asked_again_as_one_edits_what_was_understood(world: World, open_page: Opener) -> None:
    page = open_page()
    asked(page)
    world.chat.reply = replies("Where does the pump stand?", "It stands in the cellar [1].")
    ask(page, "And where does it stand?")
    expect(page.locator("[data-asked]")).to_contain_text("Where does the pump stand?")

    page.locator("[data-edit]").click()

    expect(page.locator("[data-question]")).to_have_value("Where does the pump stand?")
    expect(page.locator("[data-question]")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.type(" in May?")
    with page.expect_request("**/ask") as sent:
        page.keyboard.press("Enter")
    assert (sent.value.post_data_json or {})["query"] == "Where does the pump stand in May?"
    expect(page.locator("[data-turn] h2").last).to_have_text("Where does the pump stand in May?")


def test_a_shared_thread_shows_each_reader_what_that_one_may_read(world: World, open_page: Opener) -> None:
    other = "Which code does the new fan have?"
    page = open_page()
    thread = asked(page)
    world.put("secret/plan.md", "# Plan\n\nThe new fan's code is ZZ-77.\n")
    page.reload()  # which knows the new vault
    world.chat.reply = replies(other, "The new fan's code is ZZ-77 [1].")
    page.locator("[data-scope]").click()
    page.locator("#scope [value=secret]").check()
    ask(page, other)
    expect(page.locator("[data-turn]")).to_have_count(2)
    page.locator("[data-thread-bar] [data-action=share]").click()
    page.locator(".toast").wait_for()

    def seen_by(vault: str) -> Page:
        shown = open_page("#" + thread.partition("#")[2], "reader", vault)
        shown.locator("[data-turn][data-state=done]").wait_for()
        expect(shown.locator("[data-thread-bar]")).to_contain_text("gone: 1")
        return shown

    of_team, of_secret = seen_by("team"), seen_by("secret")
    expect(of_team.locator("[data-turn] h2")).to_have_text([QUESTION])
    expect(of_team.locator("[data-answer]")).to_contain_text("QX-5521")
    of_team.locator("[data-answer] [data-mark]").first.click()
    expect(of_team.locator("[data-evidence] mark[data-quote]")).to_contain_text("QX-5521")
    expect(of_secret.locator("[data-turn] h2")).to_have_text([other])
    expect(of_secret.locator("[data-answer]")).to_contain_text("ZZ-77")
    for shown, words in ((of_team, (other, "ZZ-77", "plan.md")), (of_secret, (QUESTION, "QX-5521", "pump.md"))):
        assert [each for each in words if each in shown.content()] == []


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
