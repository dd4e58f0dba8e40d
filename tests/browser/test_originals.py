"""The original beside the proof, in Chromium: marks lie on the quoted words, cells are marked, and nothing runs."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest
from playwright.sync_api import Page, expect

from ragdrop.client.events import server_sent_events
from readers.parsed import DrawnPage
from tests.browser.conftest import Opener, ask
from tests.browser.payloads import PAYLOADS
from tests.browser.test_hostile_text import unharmed
from tests.document_files import pdf, pdf_of
from tests.office_files import mail, presentation
from tests.readers.test_page_drawing import COLUMNS, letters, placed, under
from tests.readers.test_page_recognition import Says, parser_of
from tests.world import World

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
COSTS = "item,month,EUR\nDog food,2026-08,12.50\nVet,2026-08,80\nDog food,2026-09,7\nTotal,,99.50\n"
BOXES = """() => {
  const sheet = document.querySelector(".sheet img").getBoundingClientRect();
  const share = ({ x, y, width, height }) => [
    (x - sheet.x) / sheet.width, (y - sheet.y) / sheet.height, width / sheet.width, height / sheet.height];
  return [...document.querySelectorAll("[data-page-mark]")].map((mark) => share(mark.getBoundingClientRect()));
}"""


def shown_under(page: Page, body: bytes, number: int) -> list[str]:
    """The letters of the PDF that lie under the marks as the browser laid them out."""
    page.locator("[data-page-mark]").first.wait_for(state="attached")
    page.wait_for_function("document.querySelector('.sheet img').complete")
    boxes = tuple((x - 1e-3, y - 1e-3, width + 2e-3, height + 2e-3) for x, y, width, height in page.evaluate(BOXES))
    return letters(under(body, number, DrawnPage(b"", 1, 1, 1, boxes)))


def test_the_words_of_a_citation_are_marked_on_the_page_of_the_pdf(world: World, open_page: Opener) -> None:
    body = pdf(["Nothing of it."], ["The valve of tank nine opens at 7 bar."])
    world.put("team/manual.pdf", body)
    world.chat.reply = "The valve of tank nine opens at 7 bar [1]."
    page = open_page()
    with page.expect_response("**/ask") as answered:
        ask(page, "When does the valve of tank nine open?")
    done = json.loads(dict(server_sent_events([answered.value.body()]))["done"])
    page.locator("[data-answer] [data-mark]").first.click()

    page.locator("[data-evidence] img[data-drawn='2'], [data-evidence] img[data-drawn]").first.wait_for()

    [citation] = done["citations"]
    assert (citation["path"], citation["page"]) == ("manual.pdf", 2)
    assert shown_under(page, body, 2) == letters(citation["quote"])
    expect(page.locator("[data-original] [role=status]")).to_contain_text("the quoted words are outlined")
    assert page.locator("[data-evidence] img").get_attribute("alt") == "Page 2 of 2 of manual.pdf"


def test_a_pdf_whose_name_does_not_say_so_is_drawn_with_its_marks(world: World, open_page: Opener) -> None:
    body = pdf(["Nothing of it."], ["The valve of tank nine opens at 7 bar."])
    world.put("team/manual", body)
    world.put("team/manual.2027", body)
    quote = "tank nine opens"
    start = world.app.documents.document_service.text(world.caller, world.key("team/manual")).index(quote)
    page = open_page(f"#/documents/team/manual?span={start}-{start + len(quote)}")

    assert shown_under(page, body, 2) == letters(quote)
    with page.expect_response("**/manual/original") as link:
        page.locator("[data-open-file]").click()
    assert (link.value.json()["media_type"], link.value.json()["is_shown"]) == ("application/pdf", True)
    world.chat.reply = "The valve of tank nine opens at 7 bar [1]."
    page.goto(page.url.partition("#")[0] + "#/")
    ask(page, "When does the valve of tank nine open?")
    page.locator("[data-answer] [data-mark]").first.click()
    page.locator("[data-evidence] img[data-drawn]").wait_for()


def test_a_span_in_two_columns_is_marked_in_the_document(world: World, open_page: Opener) -> None:
    body = pdf_of(placed(COLUMNS))
    world.put("team/columns.pdf", body)
    text = world.app.documents.document_service.text(world.caller, world.key("team/columns.pdf"))
    quote = "takes 2 hours to fit, so that a new filter"
    start = text.index(quote)

    page = open_page(f"#/documents/team/columns.pdf?span={start}-{start + len(quote)}")

    assert shown_under(page, body, 1) == letters(quote)
    unharmed(page)


class TestPictures:
    """Pictures whose words were recognised."""

    @pytest.fixture
    def world(self) -> World:
        """A sign in a picture."""
        said = Says("Station four\nThe valve of tank nine opens at 7 bar.")
        world = World(parser=parser_of(said), settings={"MIN_RELEVANCE": "0"})
        world.put("team/sign.png", PNG)
        world.chat.reply = "The valve of tank nine opens at 7 bar [1]."
        return world

    def test_the_evidence_shows_the_picture_and_marks_the_quote_in_its_words(self, url: str, open_page: Opener) -> None:
        page = open_page()
        link = {"url": f"{url}/sign-of-the-bucket", "media_type": "image/png", "is_shown": True}
        page.route("**/sign.png/original*", lambda route: route.fulfill(json=link))
        page.route("**/sign-of-the-bucket", lambda route: route.fulfill(body=PNG, content_type="image/png"))
        ask(page, "When does the valve of tank nine open?")
        page.locator("[data-answer] [data-mark]").first.click()

        evidence = page.locator("[data-evidence]")

        expect(evidence.locator("mark[data-quote]")).to_have_text("The valve of tank nine opens at 7 bar")
        expect(evidence.locator("[data-original=picture] img")).to_be_visible()
        assert evidence.locator("img").evaluate("element => element.decode().then(() => element.naturalWidth)") == 1


def test_pages_of_a_pdf_are_turned(world: World, open_page: Opener) -> None:
    world.put("team/manual.pdf", pdf(["One."], ["Two."]))
    page = open_page("#/documents/team/manual.pdf")
    page.locator("img[alt='Page 1 of 2 of manual.pdf']").wait_for()

    page.locator("[data-turn-page='1']").click()

    page.locator("img[alt='Page 2 of 2 of manual.pdf']").wait_for()
    expect(page.locator("[data-turn-page='1']")).to_be_disabled()
    expect(page.locator("[data-turn-page='-1']")).to_be_enabled()


def test_markdown_and_html_look_as_they_should_and_the_passage_is_marked(world: World, open_page: Opener) -> None:
    world.put("team/a.md", "# Pump\n\nIt is **very red**.\n\n| part | price |\n|---|---|\n| seal | 3 |\n")
    world.put("team/b.html", "<html><h1>Pump</h1><ul><li>It leaks.</li></ul><script>pwned()</script></html>")
    text = world.app.documents.document_service.text(world.caller, world.key("team/a.md"))
    start = text.index("very red")

    page = open_page(f"#/documents/team/a.md?span={start}-{start + 8}")
    page.locator("[data-text] strong mark").wait_for()
    assert page.locator("[data-text] strong mark").text_content() == "very red"
    assert page.locator("[data-text] table td").all_text_contents() == ["seal", "3"]
    page.locator("[data-look-toggle]").uncheck()
    expect(page.locator("[data-text] [data-chunk]").first).to_contain_text("**very red**")

    page.goto(page.url.partition("#")[0] + "#/documents/team/b.html")
    page.locator("[data-text] li").wait_for()
    assert page.locator("[data-text] h3").text_content() == "Pump"
    unharmed(page)


def test_what_a_note_states_of_itself_keeps_its_lines(world: World, open_page: Opener) -> None:
    world.put("team/note.md", "---\ntitle: Pump\ntags: [a, b]\n---\n\n# Pump\n\nIt runs.\n\n---\n\nIt is red.\n")

    page = open_page("#/documents/team/note.md")

    text = page.locator("[data-text] .rendered")
    expect(text.locator("pre")).to_have_text("title: Pump\ntags: [a, b]")
    expect(text.locator("hr")).to_have_count(1)
    expect(text.locator("p")).to_have_text(["It runs.", "It is red."])


@pytest.mark.parametrize(
    ("question", "value", "used"),
    [
        ("What is the sum of EUR of dog food?", "19.50", ["12.50", "7"]),
        ("What is the average EUR of dog food?", "9.75", ["12.50", "7"]),
        ("What is the largest EUR?", "80", ["80"]),
        ("How many costs were over 10 EUR?", "2", ["12.50", "80"]),
        ("What is the median EUR?", "12.50", ["12.50", "80", "7"]),
    ],
)
def test_a_tables_answer_shows_its_cells_and_is_computed_again(
    world: World, open_page: Opener, question: str, value: str, used: list[str]
) -> None:
    world.put("team/costs.csv", COSTS)
    page = open_page()
    ask(page, question)
    page.locator("[data-table-proof] summary").click()
    page.locator("[data-cells]").wait_for()

    assert page.locator("[data-cells] mark").all_text_contents() == used
    expect(page.locator("[data-recomputed] [data-same=true]")).to_contain_text(value)


def test_the_file_is_opened_and_the_document_is_asked(world: World, open_page: Opener) -> None:
    page = open_page("#/documents/team/pump.md")
    with page.expect_response("**/team/pump.md/original") as link:
        page.locator("[data-open-file]").click()
    assert link.value.json()["is_shown"] is False

    page.locator("[data-ask-about]").click()

    expect(page.locator(".chosen")).to_contain_text("team/pump.md")
    with page.expect_request("**/ask") as asked:
        ask(page, "Which code does the pump have?")
    assert (asked.value.post_data_json or {})["folders"] == ["team/pump.md"]


def test_hostile_cells_pages_and_markup_are_text(world: World, open_page: Opener) -> None:
    page = open_page("#/documents")
    for number, payload in enumerate(PAYLOADS):
        cell = json.dumps(payload.replace("\n", " "))[1:-1].replace('\\"', '""')
        world.put(f"cells/{number:02}.csv", f'item,EUR\n"{cell}",{number + 1}\n')
        world.put(f"cells/{number:02}.html", f"<h1>Plain {number}</h1><p>Here: {payload}</p>")
        for name in (f"{number:02}.csv", f"{number:02}.html"):
            page.goto(page.url.partition("#")[0] + f"#/documents/cells/{name}")
            page.locator("[data-text] .rendered, [data-text] .chunk, [data-problem], .notice").first.wait_for()
            unharmed(page)


def test_hostile_words_of_a_pdf_are_text(world: World, open_page: Opener) -> None:
    printable = [each for each in PAYLOADS if each.isascii() and each.isprintable()]
    lines = [each.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")[:90] for each in printable]
    world.put("team/hostile.pdf", pdf(lines[:40], lines[40:] or ["end"]))

    page = open_page("#/documents/team/hostile.pdf")

    page.locator("img[data-drawn]").wait_for()
    unharmed(page)


def test_slides_and_the_attachments_of_a_mail_stand_under_their_names(world: World, open_page: Opener) -> None:
    world.put("team/talk.pptx", presentation([{"title": "Pump"}, {"title": "Valve"}, {"title": "Tank"}]))
    hostile = '"><img src=x onerror=pwned()>.txt'
    world.put("team/a.eml", mail("The pump leaks.", attachments={hostile: b"It costs 7."}))

    page = open_page("#/documents/team/talk.pptx")
    page.locator("[data-part]").first.wait_for()
    assert page.locator("[data-part]").all_text_contents() == ["Slide 1", "Slide 2", "Slide 3"]

    page.goto(page.url.partition("#")[0] + "#/documents/team/a.eml")
    page.get_by_text("It costs 7.").wait_for()
    expect(page.locator("[data-part]").last).to_contain_text("attachment")
    unharmed(page)
