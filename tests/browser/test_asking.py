"""Questions, answers and their evidence in the page."""

from __future__ import annotations

import json
import time

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from pages.browser import sign_in
from ragdrop.errors import GenerationError
from tests.browser.chromium import opened
from tests.browser.conftest import Opener, ask, evidence_of
from tests.browser.test_accessibility import violations
from tests.world import World

SENTENCE = "The pump's code is QX-5521."


def last_turn(page: Page) -> Locator:
    return page.locator("[data-turn]").last


def test_the_highlighted_text_is_the_quote_and_reads_back_identical(world: World, open_page: Opener) -> None:
    world.put("team/odd.md", "# Odd\n\nBefore 😀. The “Größe” of 𝔘nit-7 is\u00a0 8\u202fcm. After.\n")
    world.chat.reply = "The “Größe” of 𝔘nit-7 is\u00a0 8\u202fcm [1]."
    page = open_page()

    quote, highlighted = evidence_of(page, "What is the Größe of 𝔘nit-7?")

    assert highlighted == quote
    expect(page.locator("[data-evidence] [data-read-back=identical]")).to_be_visible()


def test_a_sentence_without_evidence_is_marked_by_a_sign_and_said_in_words(world: World, open_page: Opener) -> None:
    world.chat.reply = f"{SENTENCE[:-1]} [1]. The moon is made of green cheese."
    page = open_page()

    ask(page, "Which code does the pump have?")

    statuses = page.locator("[data-answer] [data-sentence]").evaluate_all("all => all.map(e => e.dataset.status)")
    assert statuses == ["verified", "unsupported"]
    signs = page.locator("[data-answer] [data-sign]").all_text_contents()
    assert len(set(signs)) == 2


def test_a_replaced_source_is_reported_and_the_quote_of_then_still_reads_back(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    world.put("team/pump.md", "# Pump\n\nThe pump's code is now ZZ-1.\n")

    page.locator("[data-answer] [data-mark]").first.click()

    expect(page.locator("[data-evidence] [data-source-state=changed]")).to_be_visible()
    expect(page.locator("[data-evidence] mark[data-quote]")).to_have_text(SENTENCE.rstrip("."))


def test_a_deleted_source_is_reported(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    world.delete("team/pump.md")

    page.locator("[data-answer] [data-mark]").first.click()

    expect(page.locator("[data-evidence] [data-source-state=gone]")).to_be_visible()


def test_an_abstention_shows_the_closest_passages(world: World, open_page: Opener) -> None:
    world.chat.reply = "INSUFFICIENT_INFORMATION"
    page = open_page()

    ask(page, "Which code does the pump have?")

    expect(page.locator("[data-abstained=insufficient_information]")).to_be_visible()
    expect(page.locator("[data-closest] a").first).to_be_visible()


def test_a_closest_passage_looks_as_in_its_document_and_prints_without_buttons(world: World, open_page: Opener) -> None:
    world.put("team/pump.md", "# Pump\n\nThe `QX` pump:\n\n- has the code **QX-5521**\n- stands in the cellar\n")
    world.chat.reply = "INSUFFICIENT_INFORMATION"
    page = open_page()
    ask(page, "Which code does the pump have?")

    passage = page.locator("[data-closest]").filter(has_text="cellar")

    expect(passage.locator("li")).to_have_count(2)
    assert "**" not in passage.inner_text()
    page.emulate_media(media="print")
    assert page.locator("button:visible").all_inner_texts() == []


def test_an_abstention_is_answered_from_its_passages_by_a_button(world: World, open_page: Opener) -> None:
    world.chat.reply = "INSUFFICIENT_INFORMATION"
    page = open_page()
    ask(page, "Which code does the pump have?")
    world.chat.reply = f"{SENTENCE[:-1]} [1]."

    with page.expect_request("**/ask") as sent:
        page.locator("[data-anyway]").click()

    assert json.loads(sent.value.post_data or "")["answer_anyway"] is True
    expect(page.locator("[data-answer]")).to_contain_text(SENTENCE[:-1])


def test_a_second_question_is_asked_with_the_first_as_its_history(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    with page.expect_request("**/ask") as sent:
        ask(page, "And where does it stand?")

    assert json.loads(sent.value.post_data or "")["history"] == [
        {"question": "Which code does the pump have?", "answer": "The pump's code is QX-5521 [1]."}
    ]


def test_the_keyboard_is_enough_to_ask_and_to_go_through_citations(world: World, open_page: Opener) -> None:
    world.chat.reply = f"{SENTENCE[:-1]} [1]. The valve opens at 7 bar [2]."
    page = open_page()
    page.locator("[data-question]").wait_for()
    page.locator("body").press("/")
    page.keyboard.type("Which code and which pressure?")
    page.keyboard.press("Enter")
    page.locator("[data-turn][data-state=done]").wait_for()
    page.evaluate("document.activeElement.blur()")

    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.locator("[data-evidence] mark[data-quote]").wait_for()
    first = page.locator("[data-evidence] mark[data-quote]").text_content()
    page.keyboard.press("ArrowRight")

    expect(page.locator("[data-evidence] mark[data-quote]")).not_to_have_text(first or "")
    page.keyboard.press("Escape")
    expect(page.locator("[data-evidence]")).to_be_hidden()


def test_an_answer_that_breaks_off_keeps_what_was_said(world: World, open_page: Opener) -> None:
    world.chat.break_after = 3
    page = open_page()
    page.locator("[data-question]").fill("Which code does the pump have?")

    page.locator("[data-question]").press("Enter")

    expect(page.locator("[data-broken]")).to_be_visible()
    expect(page.locator("[data-answer]")).to_contain_text("The pump's code")


def test_a_chat_model_that_is_down_has_a_state_with_a_way_on(world: World, open_page: Opener) -> None:
    world.chat.fail_with = GenerationError("it is away", service="chat", retryable=True)
    page = open_page()
    page.locator("[data-question]").fill("Which code does the pump have?")
    page.locator("[data-question]").press("Enter")
    problem = page.locator("[data-turn] [data-problem=unavailable]")
    problem.wait_for()
    world.chat.fail_with = None

    problem.locator("[data-retry]").click()

    page.locator("[data-turn][data-state=done]").wait_for()


def test_a_lost_network_has_a_state_with_a_way_on(open_page: Opener) -> None:
    page = open_page()
    page.locator("[data-question]").fill("Which code does the pump have?")
    page.context.set_offline(True)
    page.locator("[data-question]").press("Enter")
    problem = page.locator("[data-problem=offline]").first
    problem.wait_for()
    page.context.set_offline(False)

    problem.locator("[data-retry]").click()

    page.locator("[data-turn][data-state=done]").wait_for()


def test_a_key_that_expired_brings_the_sign_in_over_the_view_and_loses_nothing(
    world: World, url: str, chromium: Browser
) -> None:
    with opened(chromium, url) as page:
        sign_in(page, "rd_unknown")
        page.goto(f"{url}/app")

        page.locator("[data-sign-in-dialog]").wait_for()

        key, _ = world.app.operate.operator.create_key(world.tenant, "reader")
        page.locator("[data-key]").fill(key)
        page.locator("[data-sign-in]").click()
        expect(page.locator("[data-role=reader]")).to_be_visible()


def test_a_sign_in_link_signs_in_once_and_leaves_no_trace_in_the_address(
    world: World, url: str, chromium: Browser
) -> None:
    code, _ = world.app.tenants.sign_in_codes.make(world.app.operate.operator.create_key(world.tenant, "writer")[0])

    with opened(chromium, url) as page:
        page.goto(f"{url}/app#/sign-in/{code}")
        expect(page.locator("[data-role=writer]")).to_be_visible()
        assert code not in page.url
        page.go_back()
        assert code not in page.url
    with opened(chromium, url) as page:
        page.goto(f"{url}/app#/sign-in/{code}")
        expect(page.locator("[data-sign-in-dialog]")).to_be_visible()


def test_a_receipt_has_an_address_and_a_replay_shows_what_is_different(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    page.locator("[data-receipt]").first.click()
    page.locator("[data-receipt-facts]").wait_for()
    world.put("team/pump.md", "# Pump\n\nThe pump's code is ZZ-1000.\n")
    world.chat.reply = "The pump's code is ZZ-1000 [1]."

    page.reload()
    page.locator("[data-replay]").click()

    expect(page.locator("[data-difference] ins").first).to_contain_text("ZZ-1000")
    expect(page.locator("[data-difference]")).to_contain_text("team/pump.md")


def test_why_this_answer_shows_every_candidate_with_the_reason(open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")

    page.locator("[data-why] summary").click()

    page.locator("[data-scatter]").wait_for()
    expect(page.locator("[data-threshold]").first).to_be_attached()
    expect(page.locator("[data-settings]")).to_be_attached()


@pytest.mark.parametrize("width", [320, 390, 1_024, 2_560])
def test_no_width_scrolls_sideways(world: World, open_page: Opener, width: int) -> None:
    world.chat.reply = f"{SENTENCE[:-1]} [1]. " + "Averyveryverylongwordwithoutanybreak" * 12
    page = open_page(width=width)
    ask(page, "Which code does the pump have?")

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_whose_script_was_lost_is_not_blank(open_page: Opener) -> None:
    page = open_page()
    page.context.route("**/main.js", lambda route: route.abort())
    page.reload()
    expect(page.locator(".late")).to_be_visible(timeout=10_000)
    page.context.unroute("**/main.js")
    page.locator(".late a").click()

    page.locator("[data-question]").fill("Which code does the pump have?")
    page.locator("[data-question]").press("Enter")

    page.locator("[data-turn][data-state=done]").wait_for()
    expect(page.locator(".late")).to_have_count(0)


def test_what_is_known_of_the_key_later_leaves_the_problem_of_a_question(open_page: Opener) -> None:
    page = open_page()
    held: list[Route] = []
    page.context.route("**/ask", lambda route: route.abort())
    page.context.route("**/me", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks the function
    page.reload()
    page.locator("[data-question]").fill("Which code does the pump have?")
    page.locator("[data-question]").press("Enter")
    page.locator("[data-problem=offline]").first.wait_for()

    with page.expect_response("**/me"):
        held[0].continue_()

    page.locator("[data-role]").wait_for()
    expect(page.locator("[data-problem=offline]")).to_be_visible()


def test_cited_documents_stand_before_critical_ones_and_each_says_why(world: World, open_page: Opener) -> None:
    world.put(
        "team/rules.md",
        "---\npromotion_level: critical\ndoc_type: insight\n---\n# Rules\n\nNobody enters the cellar alone.\n",
    )
    world.chat.reply = "The pump's code is QX-5521 [2]."
    page = open_page()

    ask(page, "Which code does the pump have?")

    listed = last_turn(page).locator("[data-sources] li")
    expect(listed.first).to_contain_text("pump.md")
    expect(listed.first).to_contain_text("cited [")
    expect(listed.filter(has_text="rules.md")).to_contain_text("critical: read with every question")


def test_a_question_can_be_asked_of_a_day_in_the_past(world: World, open_page: Opener) -> None:
    page = open_page()
    page.locator("[data-filters]").click()
    page.get_by_label("As the documents were on").fill("2020-01-31")
    page.locator("[data-filters]").click()

    expect(page.locator("[data-filters]")).to_contain_text("as of 31 Jan 2020")
    with page.expect_request("**/ask") as asked:
        page.locator("[data-question]").fill("Which code does the pump have?")
        page.locator("[data-question]").press("Enter")
    assert json.loads(asked.value.post_data or "{}")["as_of"].startswith("2020-01-31T")


def test_on_a_phone_the_evidence_is_a_sheet_over_the_answer(world: World, open_page: Opener) -> None:
    page = open_page(width=390)
    ask(page, "Which code does the pump have?")
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] mark[data-quote]").wait_for()

    box = page.locator("[data-evidence]").bounding_box()
    assert box is not None
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 390, 900)
    assert box["y"] >= 0.25 * 900
    mark = page.locator("[data-answer] [data-mark]").first.bounding_box()
    assert mark is not None
    assert 0 <= mark["y"] < box["y"]
    assert violations(page) == []

    page.keyboard.press("Escape")
    expect(page.locator("[data-evidence]")).to_be_hidden()
    assert page.evaluate("document.activeElement.hasAttribute('data-mark')")


def test_a_view_that_waits_says_so(open_page: Opener) -> None:
    page = open_page("#/threads")
    page.locator("[data-page=threads]").wait_for()
    held: list[Route] = []
    page.context.route("**/documents/team/pump.md", lambda route: held.append(route))  # noqa: PLW0108 - as above

    page.evaluate("location.hash = '#/documents/team/pump.md'")

    expect(page.locator("main .loading")).to_be_visible()
    held[0].continue_()
    expect(page.locator("main h1")).to_have_text("Pump")


SHIFTS = """() => {
  window.shifts = 0;
  const count = (list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifts += each.value;
  };
  new PerformanceObserver(count).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.mark.parametrize("width", [390, 1_280])
def test_nothing_jumps_while_an_answer_arrives(world: World, open_page: Opener, width: int) -> None:
    said = " ".join(["The pump's code is QX-5521 [1]."] * 12)

    def later(messages: object) -> str:
        del messages
        time.sleep(0.8)  # what follows a key within half a second counts as asked for
        return said

    world.chat.reply = later
    page = open_page(width=width)
    page.evaluate(SHIFTS)

    ask(page, "Which code does the pump have?")
    page.wait_for_timeout(200)

    assert page.evaluate("window.shifts") < 0.1  # the limit of "good" in Core Web Vitals


@pytest.mark.parametrize("width", [390, 1_280])
def test_nothing_jumps_while_the_page_begins(open_page: Opener, width: int) -> None:
    page = open_page(width=width)
    page.locator("[data-here]").wait_for()
    page.wait_for_timeout(200)

    page.evaluate(SHIFTS)
    page.wait_for_timeout(200)

    assert page.evaluate("window.shifts") < 0.05  # half of what is "good" in Core Web Vitals


def test_a_printed_answer_has_its_footnotes_and_no_controls(world: World, open_page: Opener) -> None:
    page = open_page()
    ask(page, "Which code does the pump have?")
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] mark[data-quote]").wait_for()

    page.emulate_media(media="print")

    assert "team/pump.md" in page.locator(".print-only").inner_text()
    expect(page.locator("[data-answer]")).to_be_visible()
    for hidden in (".header", ".composer", "[data-evidence]", "[data-copy]"):
        expect(page.locator(hidden).first).to_be_hidden()
