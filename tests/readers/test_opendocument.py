"""OpenDocument texts and slides: structure, notes, numbers, raised and struck text."""

from __future__ import annotations

import pytest

from readers.formats import read_here
from readers.office.opendocument import read_opendocument
from readers.parsed import ParsedDocument, WrittenLink
from tests import office_files
from tests.reading import parse, place_of

NAMES = 'xmlns:office="o" xmlns:text="t" xmlns:style="s"'


LOOKS = (
    '<style:style style:name="Up"><style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="Low"><style:text-properties style:text-position="-33% 58%"/></style:style>'
    '<style:style style:name="Struck"><style:text-properties style:text-line-through-style="solid"/></style:style>'
    '<style:style style:name="Old" style:parent-style-name="Struck"/>'
)


LISTS = (
    '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/>'
    "</text:list-style>"
)


OUTLINE = (
    '<text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style '
    'text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
)


def odt(body: str) -> ParsedDocument:
    styles = f"<office:automatic-styles>{LOOKS}{LISTS}</office:automatic-styles>"
    body = f"<office:body><office:text>{body}</office:text></office:body>"
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {NAMES}>{styles}{body}</office:document-content>",
        "styles.xml": f"<office:document-styles {NAMES}>{OUTLINE}</office:document-styles>",
    }
    return read_opendocument(office_files.packed(parts))


def test_an_opendocument_text_keeps_headings_lists_and_tables() -> None:
    body = office_files.odt({"Pumps": ["They leak."], "Parts": ["A seal."]}, rows=[["part", "price"], ["seal", 3]])

    document = parse(body, "a.odt")

    assert document.text == (
        "# Pumps\n\nThey leak.\n\n# Parts\n\nA seal.\n\n- see Pumps\n- see Parts\n\n"
        "| part | price |\n| --- | --- |\n| seal | 3 |\n"
    )
    assert len(document.tables) == 1


def test_opendocument_notes_pictures_links_and_comments_are_read_or_named() -> None:
    content = (
        '<office:document-content xmlns:office="o" xmlns:text="t" xmlns:draw="d" xmlns:xlink="x" xmlns:svg="s">'
        "<office:body><office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
        "<text:p>It<text:s/>leaks<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Since "
        "May.</text:p></text:note-body></text:note>: <text:a xlink:href='b.odt'>more</text:a>"
        "<office:annotation><text:p>really?</text:p></office:annotation>"
        "<draw:frame><draw:image/><svg:desc>A red pump</svg:desc></draw:frame></text:p>"
        "<text:p><draw:frame><draw:image/></draw:frame></text:p></office:text></office:body></office:document-content>"
    )
    body = office_files.packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})

    document = parse(body, "a.odt")

    assert document.text == "It leaks[1]: more\n\n[A red pump]\n\n[1] Since May.\n"
    assert document.links == (WrittenLink("b.odt", "more"),)
    assert document.warnings == (
        "text deleted under tracked changes is left out",
        "1 comments are left out",
        "1 pictures without a description are left out",
    )


def test_opendocument_slides_are_numbered() -> None:
    document = parse(office_files.odp([("Pumps", "They leak."), ("Parts", "A seal.")]), "a.odp")

    assert document.text == "## Pumps\n\nThey leak.\n\n## Parts\n\nA seal.\n"
    assert place_of(document, "seal") == "slide 2"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('10<text:span text:style-name="Up">4</text:span> crates', "10⁴ crates"),
        ('CO<text:span text:style-name="Low">2</text:span> gas', "CO₂ gas"),
        ('Fee: <text:span text:style-name="Old">9</text:span> 7', "Fee: ~~9~~ 7"),
        ("<text:ruby><text:ruby-base>水</text:ruby-base><text:ruby-text>mizu</text:ruby-text></text:ruby>", "水(mizu)"),
    ],
)
def test_opendocument_keeps_powers_strikes_and_readings(body: str, text: str) -> None:
    assert odt(f"<text:p>{body}</text:p>").text.strip() == text


def test_a_note_of_opendocument_stays_apart_from_a_number_and_its_paragraphs_from_each_other() -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>At the gate.</text:p>"

    document = odt(f"<text:p>Pay 5{note}<text:p>In cash.</text:p></text:note-body></text:note></text:p>")

    assert document.text == "Pay 5 [1]\n\n[1] At the gate. In cash.\n"


def test_headings_and_lists_of_opendocument_have_their_numbers() -> None:
    headings = "".join(
        f'<text:h text:outline-level="{level}">{text}</text:h>'
        for level, text in ((1, "Aims"), (1, "Work"), (2, "Saws"))
    )
    inner = "<text:list><text:list-item><text:p>In</text:p></text:list-item></text:list>"
    first = f'<text:list text:style-name="L"><text:list-item><text:p>A</text:p>{inner}</text:list-item></text:list>'
    second = first.replace("<text:list ", '<text:list text:continue-numbering="true" ', 1)

    text = odt(headings + first + "<text:p>Pause</text:p>" + second + "<text:p>Pause</text:p>" + first).text

    assert text.startswith("# 1 Aims\n\n# 2 Work\n\n## 2.1 Saws\n\n1. A\n  a) In\n")
    assert "Pause\n\n2. A" in text
    assert text.endswith("Pause\n\n1. A\n  a) In\n")


def test_a_heading_of_opendocument_that_is_an_item_of_a_list_has_its_number() -> None:
    item = '<text:list-item><text:h text:outline-level="3">Saws</text:h></text:list-item>'

    assert odt(f'<text:list text:style-name="L">{item}</text:list>').text == "### 1. Saws\n"


def test_an_open_document_marks_raised_and_struck_text_and_fills_merged_cells() -> None:
    looks = {"up": 'style:text-position="super 58%"', "gone": 'style:text-line-through-style="solid"'}
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties {look}/></style:style>'
        for name, look in looks.items()
    )
    spans = [f'<text:span text:style-name="{name}">{text}</text:span>' for name, text in (("up", "6"), ("gone", "70"))]
    paragraph = f"<text:p>It holds 10{spans[0]} l. The fee is {spans[1]} 60.</text:p>"

    body = office_files.odf("text", f"{paragraph}<table:table>{office_files.OPEN_ROWS}</table:table>", styles)
    lines = read_here("opendocument", body, "a.odt").text.splitlines()
    assert lines[0] == "It holds 10⁶ l. The fee is ~~70~~ 60."
    assert lines[-3:] == ["| North | P1 | 4 |", "| North | P2 | 7 |", "| South | none | none |"]


def test_page_headers_and_footers_of_an_open_document_stand_once_around_its_text() -> None:
    kinds = ("office", "style", "text")
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in kinds)
    page = (
        "<style:master-page><style:header><text:p>Pumps of the hall</text:p></style:header><style:footer>"
        "<text:p>Draft 7</text:p><text:p><text:page-number>1</text:page-number></text:p></style:footer>"
        "</style:master-page>"
    )
    styles = f"<office:document-styles {names}>{page}{page}</office:document-styles>"
    body = office_files.repacked(
        office_files.odf("text", "<text:p>It leaks.</text:p>"), {"styles.xml": styles.encode()}
    )

    assert parse(body, "a.odt").text == "Pumps of the hall\n\nIt leaks.\n\nDraft 7\n"
