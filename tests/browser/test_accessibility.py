"""WCAG 2.2 A and AA on every view in both themes, by axe."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import Opener, ask
from tests.document_files import pdf
from tests.world import World

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page: Page) -> list[str]:
    """What axe finds: the rule and where."""
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}}).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("width", [390, 1_440])
@pytest.mark.parametrize(
    "route",
    [
        "",
        "#/documents",
        "#/documents?as_of=2027-01-14",
        "#/documents/team/valve.md",
        "#/versions/team/valve.md",
        "#/changes?vault=team",
        "#/stages?vault=team",
        "#/connect",
        "#/health",
        "#/threads",
        "#/answers/unknown",
    ],
)
def test_a_view_has_no_violation(open_page: Opener, route: str, theme: str, width: int) -> None:
    page = open_page(route, theme=theme, width=width)
    page.locator("h1, [data-problem]").first.wait_for()
    page.wait_for_load_state("networkidle")

    assert violations(page) == []


def test_an_answer_with_its_evidence_and_its_reasons_has_none(world: World, open_page: Opener, theme: str) -> None:
    world.chat.reply = "The pump's code is QX-5521 [1]. The moon is made of green cheese. It opens at 9 bar [2]."
    page = open_page(theme=theme, width=1_440)
    ask(page, "Which code does the pump have?")
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] mark[data-quote]").wait_for()
    page.locator("[data-why] summary").click()
    page.locator("[data-scatter]").wait_for()

    assert violations(page) == []


def test_a_receipt_and_its_difference_have_none(world: World, open_page: Opener, theme: str) -> None:
    page = open_page(theme=theme)
    ask(page, "Which code does the pump have?")
    page.locator("[data-receipt]").first.click()
    page.locator("[data-replay]").click()
    page.locator("[data-difference]").wait_for()

    assert violations(page) == []


def test_the_sign_in_has_none(open_page: Opener, theme: str) -> None:
    page = open_page("#/documents", None, theme=theme)
    page.locator("[data-sign-in-dialog]").wait_for()

    assert violations(page) == []


def test_german_is_declared_and_has_none(open_page: Opener, theme: str) -> None:
    page = open_page("#/documents", locale="de-DE", theme=theme)
    page.get_by_role("heading", name="Dokumente").wait_for()
    page.wait_for_load_state("networkidle")

    assert page.locator("html").get_attribute("lang") == "de"
    assert violations(page) == []


def test_what_was_found_as_one_typed_has_none(open_page: Opener, theme: str) -> None:
    page = open_page(theme=theme)
    page.locator("[data-find]").press_sequentially("pum")
    page.get_by_role("option").first.wait_for()

    assert violations(page) == []


def test_the_page_of_a_pdf_and_the_cells_of_a_table_have_none(world: World, open_page: Opener, theme: str) -> None:
    world.put("team/manual.pdf", pdf(["The valve of tank nine opens at 7 bar."], ["The end."]))
    world.put("team/costs.csv", "item,EUR\nDog food,12.50\nVet,80\nDog food,7\n")
    page = open_page("#/documents/team/manual.pdf?span=4-9", theme=theme)
    page.locator("[data-page-mark]").first.wait_for(state="attached")
    assert violations(page) == []

    page.goto(page.url.partition("#")[0] + "#/")
    ask(page, "What is the sum of EUR of dog food?")
    page.locator("[data-table-proof] summary").click()
    page.locator("[data-cells]").wait_for()
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] .rendered table").wait_for()

    assert violations(page) == []
