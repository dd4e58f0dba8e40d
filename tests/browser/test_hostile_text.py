"""No document, name, answer or error runs in the page: every payload on every view that shows it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from ragdrop.domain.history import STAGE
from ragdrop.errors import GenerationError
from tests.browser.conftest import Opener, ask
from tests.browser.payloads import PAYLOADS
from tests.world import World

FOREIGN = (
    "script:not([src], head > script:first-of-type), iframe, object, embed, img:not([data-drawn]), video, audio, base, "
    "form[action], meta[http-equiv], math"
)


def test_there_are_many_different_payloads() -> None:
    assert len(set(PAYLOADS)) >= 60


def unharmed(page: Page) -> None:
    """Fail if something of a payload ran, or became an element, a listener or a link of its own."""
    assert page.evaluate("window.__pwned") is None
    assert page.locator(FOREIGN).count() == 0
    listeners = (
        "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on'))"
    )
    assert page.evaluate(listeners) == []
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href') ?? '')")
    assert [link for link in links if not link.startswith(("#", "http://", "https://"))] == []


@pytest.fixture
def hostile(world: World) -> World:
    """A document for each payload, which stands in its title, tags, headings and text, and in its name if it may."""
    for number, payload in enumerate(PAYLOADS):
        text = f"# {payload}\n\nThe code of {number} is LK-{number}. {payload}\n\n## {payload}\n\n[link]({payload})\n"
        facts = {"title": payload, "category": payload, "tags": json.dumps([payload])}
        printable = {name: value for name, value in facts.items() if value.isascii() and value.isprintable()}
        world.put(f"hostile/{number:02}.md", text, printable)
        name = payload.replace("/", "\u2215")
        if name.isprintable():
            world.put(f"names/{name}.md", f"# Plain {number}\n\nThis one has an odd name.")
            world.put(f"names/{name}.bin", bytes(range(200, 256)))
    return world


def test_lists_show_titles_and_names_as_text(hostile: World, open_page: Opener) -> None:
    page = open_page("#/documents?vault=hostile")
    page.get_by_text(PAYLOADS[0]).first.wait_for()
    unharmed(page)

    page.goto(page.url.partition("#")[0] + "#/documents?vault=names")
    page.get_by_text(PAYLOADS[0].replace("/", "\u2215")).first.wait_for()
    unharmed(page)

    then = datetime.fromtimestamp(hostile.now_s, UTC)
    page.clock.set_fixed_time(then + timedelta(days=1))
    hostile.now_s += 86_400
    page.goto(page.url.partition("#")[0] + f"#/documents?vault=names&as_of={then.date()}")
    page.locator("p[data-then]").wait_for()
    page.get_by_text(PAYLOADS[0].replace("/", "\u2215")).first.wait_for()
    unharmed(page)


def test_each_documents_page_shows_it_as_text(hostile: World, open_page: Opener) -> None:
    page = open_page("#/documents")
    for number in range(len(PAYLOADS)):
        page.goto(page.url.partition("#")[0] + f"#/documents/hostile/{number:02}.md")
        page.get_by_text(f"The code of {number} is LK-{number}.").first.wait_for()
        unharmed(page)


def test_the_past_and_stages_show_names_and_differences_as_text(hostile: World, open_page: Opener) -> None:
    for number, payload in enumerate(PAYLOADS):
        hostile.put(
            f"hostile/{number:02}.md", f"# Other\n\n{payload} {payload}\n", {STAGE: "next"} if number % 2 else {}
        )
    page = open_page("#/stages?vault=hostile")
    page.locator("[data-stage=next] a").first.wait_for()
    unharmed(page)
    page.clock.set_fixed_time(datetime.fromtimestamp(hostile.now_s, UTC))
    for vault in ("hostile", "names"):
        page.goto(page.url.partition("#")[0] + f"#/changes?vault={vault}")
        page.locator("[data-change]").first.wait_for()
        unharmed(page)
    for number in range(0, len(PAYLOADS), 2):
        page.goto(page.url.partition("#")[0] + f"#/versions/hostile/{number:02}.md")
        page.locator("[data-compared] ins").first.wait_for()
        unharmed(page)


def test_suggested_questions_are_text(hostile: World, open_page: Opener) -> None:
    page = open_page()
    page.locator("[data-suggestion]").first.wait_for()
    page.locator("[data-here] summary").click()
    page.get_by_role("heading", name="Links that lead to no document").wait_for()
    unharmed(page)


def test_names_in_addresses_are_text(hostile: World, open_page: Opener) -> None:
    page = open_page("#/documents")
    for payload in PAYLOADS[:20]:
        page.goto(page.url.partition("#")[0] + f"#/documents/names/{quote(payload, safe='')}")
        page.locator("[data-problem]").first.wait_for()
        unharmed(page)


def test_answers_are_text(world: World, open_page: Opener) -> None:
    page = open_page()
    for number, payload in enumerate(PAYLOADS):
        world.chat.reply = f"# {payload}\n\nThe pump's code is QX-5521 [1]. {payload}\n\n- {payload}\n"
        ask(page, f"Which code does the pump have, {number}?")
        unharmed(page)


def test_questions_and_evidence_are_text(hostile: World, open_page: Opener) -> None:
    page = open_page()
    for number in range(0, len(PAYLOADS), 5):
        hostile.chat.reply = f"The code of {number} is LK-{number} [1]."
        ask(page, f"The code of {number} is LK-{number}? {PAYLOADS[number]}"[:900])
        mark = page.locator("[data-turn]:last-of-type [data-mark]").first
        if mark.count():
            mark.click()
            page.locator("[data-evidence] mark[data-quote]").wait_for()
        unharmed(page)


def test_closest_passages_are_text(hostile: World, open_page: Opener) -> None:
    hostile.chat.reply = "INSUFFICIENT_INFORMATION"
    page = open_page()
    for number, payload in enumerate(PAYLOADS):
        ask(page, f"The code of {number} is LK-{number}? {payload}"[:900])
        page.locator("[data-turn]:last-of-type [data-closest]").first.wait_for()
        unharmed(page)


def test_errors_are_text(world: World, open_page: Opener) -> None:
    page = open_page()
    for number, payload in enumerate(PAYLOADS[:12]):
        world.chat.fail_with = GenerationError(payload, service="chat", retryable=False)
        page.locator("[data-question]").fill(f"Which code, {number}?")
        page.locator("[data-question]").press("Enter")
        page.locator("[data-turn]:last-of-type [data-problem]").wait_for()
        unharmed(page)


def test_what_is_found_as_one_types_is_text(hostile: World, open_page: Opener) -> None:
    page = open_page()
    for number in range(len(PAYLOADS)):
        page.locator("[data-find]").fill(f'"LK-{number}"')
        page.get_by_role("option").filter(has_text=f"hostile/{number:02}.md").first.wait_for()
        unharmed(page)


def test_names_of_threads_are_text(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, PAYLOADS[0])
    page.goto(page.url.partition("#")[0] + "#/threads")
    for payload in PAYLOADS:
        page.locator("[data-action=rename]").click()
        page.locator("[data-name]").fill(payload)
        page.locator("[data-name]").press("Enter")
        page.locator("[data-action=rename]").wait_for()
        unharmed(page)
