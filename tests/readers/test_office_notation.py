"""RTF, OpenDocument and slides lose no meaning: powers, strikes, merged cells and automatic numbers."""

from __future__ import annotations

import io
import re
import zipfile

import pytest

from readers.office.opendocument import read_opendocument
from readers.office.presentation import read_presentation
from readers.office.rtf import read_rtf
from readers.parsed import ParsedDocument
from tests import office_files

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


def rtf(body: str) -> ParsedDocument:
    return read_rtf(rf"{{\rtf1\ansi{{\stylesheet{{\s1\super raised;}}}}{body}}}".encode())


def odt(body: str) -> ParsedDocument:
    styles = f"<office:automatic-styles>{LOOKS}{LISTS}</office:automatic-styles>"
    body = f"<office:body><office:text>{body}</office:text></office:body>"
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {NAMES}>{styles}{body}</office:document-content>",
        "styles.xml": f"<office:document-styles {NAMES}>{OUTLINE}</office:document-styles>",
    }
    return read_opendocument(office_files.packed(parts))


def slide(paragraphs: str) -> ParsedDocument:
    """A slide whose text is these paragraphs."""
    deck = office_files.presentation([{"title": "Yard", "text": "PLACE"}])
    with zipfile.ZipFile(io.BytesIO(deck)) as archive:
        part = archive.read("ppt/slides/slide1.xml").decode()
    part = re.sub(r"<a:p><a:r><a:t>PLACE</a:t></a:r></a:p>", paragraphs, part)
    return read_presentation(office_files.repacked(deck, {"ppt/slides/slide1.xml": part.encode()}))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"10{\super 4} crates", "10⁴ crates"),
        (r"CO{\sub 2} gas", "CO₂ gas"),
        (r"2\super 40\nosupersub  states", "2⁴⁰ states"),
        (r"2{\up6 8} states", "2⁸ states"),
        (r"2{\super\i n}{\super +1} ways", "2^(n+1) ways"),
        (r"Fee: {\strike 9} 7", "Fee: ~~9~~ 7"),
        (r"Fee: \striked1 9\plain  7", "Fee: ~~9~~ 7"),
        (r"{\strike One\par Two} Three", "~~One~~\n\n~~Two~~ Three"),
        (r"A \\super name", "A \\super name"),
        (r"{\pntext 3.\tab}Oil it", "3. Oil it"),
    ],
)
def test_rtf_keeps_powers_strikes_and_numbers(source: str, text: str) -> None:
    assert rtf(source).text.strip() == text


def test_deleted_text_of_rtf_is_left_out_with_a_warning() -> None:
    document = rtf(r"Bring {\deleted nine \'e9} {\revised ten} pipes.")

    assert document.text == "Bring ten pipes.\n"
    assert document.warnings == ("text deleted under tracked changes is left out",)


def test_merged_cells_of_rtf_fill_what_they_cover() -> None:
    first = r"\trowd\clvmgf\cellx900\cellx1800\cellx2700 North\cell Saw\cell 4\cell\row"
    second = r"\trowd\clvmrg\cellx900\cellx1800\cellx2700 \cell Axe\cell 9\cell\row"
    third = r"\trowd\clmgf\cellx900\clmrg\cellx1800\cellx2700 All\cell\cell 13\cell\row"
    fourth = r"\trowd\cellx1805\cellx2700 Both\cell 2\cell\row\pard Done.\par"

    lines = rtf(first + second + third + fourth).text.splitlines()

    assert lines[2:5] == ["| North | Axe | 9 |", "| All | All | 13 |", "| Both | Both | 2 |"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('10<text:span text:style-name="Up">4</text:span> crates', "10⁴ crates"),
        ('CO<text:span text:style-name="Low">2</text:span> gas', "CO₂ gas"),
        ('Fee: <text:span text:style-name="Old">9</text:span> 7', "Fee: ~~9~~ 7"),
        (
            "<text:ruby><text:ruby-base>水</text:ruby-base><text:ruby-text>mizu</text:ruby-text></text:ruby>",
            "水(mizu)",
        ),
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


def test_a_heading_of_opendocument_that_is_an_item_of_a_list_has_its_number() -> None:
    item = '<text:list-item><text:h text:outline-level="3">Saws</text:h></text:list-item>'

    assert odt(f'<text:list text:style-name="L">{item}</text:list>').text == "### 1. Saws\n"
