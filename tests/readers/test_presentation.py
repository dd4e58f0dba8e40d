"""Presentations: titles, tables, notes, numbers, raised and struck text."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pptx

from ragdrop.models.splitter import SemanticSplitter
from readers.formats import read_here
from readers.office.presentation import read_presentation
from readers.parsed import ParsedDocument
from tests import office_files
from tests.reading import parse, place_of

DECK: Any = [
    {"title": "Pumps", "text": "They leak.", "notes": "Ask Ann about QX-5521."},
    {"title": "Parts", "text": "", "table": [["part", "price"], ["seal", "3"]], "hidden": True},
]


def slide(paragraphs: str) -> ParsedDocument:
    """A slide whose text is these paragraphs."""
    deck = office_files.presentation([{"title": "Yard", "text": "PLACE"}])
    with zipfile.ZipFile(io.BytesIO(deck)) as archive:
        part = archive.read("ppt/slides/slide1.xml").decode()
    part = re.sub(r"<a:p><a:r><a:t>PLACE</a:t></a:r></a:p>", paragraphs, part)
    return read_presentation(office_files.repacked(deck, {"ppt/slides/slide1.xml": part.encode()}))


def test_slides_have_titles_tables_notes_and_numbers() -> None:
    document = parse(office_files.presentation(DECK), "a.pptx")

    assert document.text == (
        "## Pumps\n\nThey leak.\n\n### Notes\n\nAsk Ann about QX-5521.\n\n"
        "## Parts\n\n| part | price |\n| --- | --- |\n| seal | 3 |\n"
    )
    assert (place_of(document, "leak"), place_of(document, "QX"), place_of(document, "seal")) == (
        "slide 1",
        "slide 1, notes",
        "slide 2",
    )
    assert document.page(document.text.index("seal")) == 2
    assert document.warnings == ("1 hidden slides are read: 2",)


def test_a_chunk_of_several_slides_knows_the_slide_and_page_of_a_quote() -> None:
    document = parse(office_files.presentation([{"title": f"Slide of {number}"} for number in range(1, 6)]))
    (chunk,) = SemanticSplitter(lambda: None).split(document, max_tokens=2_000, overlap_tokens=0)
    start = document.text.index("of 4")

    assert (chunk.page, chunk.place) == (1, "slides 1 to 5")
    assert (chunk.page_at(start, start + 4), chunk.place_at(start, start + 4)) == (4, "slide 4")


def test_a_slide_that_is_damaged_is_left_out_with_a_warning() -> None:
    body = office_files.repacked(office_files.presentation(DECK), {"ppt/slides/slide1.xml": b"<p:sld"})

    document = parse(body, "a.pptx")

    assert "Pumps" not in document.text
    assert document.warnings[0] == "1 of 2 slides cannot be read and are left out: 1"


def test_slides_are_read_by_their_names_where_their_order_is_lost() -> None:
    document = parse(office_files.repacked(office_files.presentation(DECK), {"ppt/presentation.xml": b"<"}), "a.pptx")

    assert document.text.index("Pumps") < document.text.index("Parts")
    assert "order of their names" in document.warnings[0]


def test_slides_keep_powers_strikes_and_automatic_numbers() -> None:
    def run(text: str, look: str = "") -> str:
        return f"<a:r><a:rPr {look}/><a:t>{text}</a:t></a:r>"

    automatic = '<a:pPr><a:buAutoNum type="arabicParenR" startAt="3"/></a:pPr>'
    up, down, line = 'baseline="30000"', 'baseline="-25000"', 'strike="sngStrike"'
    paragraphs = (
        f"<a:p>{run('10')}{run('4', up)}{run(' of CO')}{run('2', down)}</a:p>"
        f"<a:p>{run('Fee: ')}{run('9', line)}{run(' 7')}</a:p>"
        f"<a:p>{automatic}{run('Oil')}</a:p><a:p>{automatic}{run('Turn')}</a:p>"
    )

    assert slide(paragraphs).text == "## Yard\n\n10⁴ of CO₂\n\nFee: ~~9~~ 7\n\n3) Oil\n4) Turn\n"


def test_merged_cells_of_a_slides_table_are_filled_and_raised_and_struck_runs_marked() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    table = slide.shapes.add_table(3, 2, 0, 0, 100, 100).table
    for at, text in enumerate(("hall", "flow", "North", "10", "", "7")):
        table.cell(at // 2, at % 2).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    paragraph = table.cell(1, 1).text_frame.paragraphs[0]
    for text, name, value in (("6", "baseline", "30000"), (" 9", "strike", "sngStrike")):
        run = paragraph.add_run()
        run.text = text
        run.font._element.set(name, value)
    written = io.BytesIO()
    deck.save(written)

    rows = read_here("presentation", written.getvalue(), "a.pptx").text.splitlines()[-2:]
    assert rows == ["| North | 10⁶ ~~9~~ |", "| North | 7 |"]


def test_a_date_in_a_sentence_is_read_and_one_that_stands_alone_is_not() -> None:
    date = '<a:fld id="{1}" type="datetime1"><a:t>5 May</a:t></a:fld>'

    document = slide(f"<a:p><a:r><a:t>Open until </a:t></a:r>{date}</a:p><a:p>{date}</a:p>")

    assert document.text == "## Yard\n\nOpen until 5 May\n"
