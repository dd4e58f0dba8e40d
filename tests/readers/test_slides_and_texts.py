"""Presentations, OpenDocument, RTF, books and subtitles: text, structure and places."""

from __future__ import annotations

import pytest

from ragdrop.models.splitter import SemanticSplitter
from readers.content import ContentParser
from readers.errors import CorruptFileError, EmptyFileError, EncryptedFileError, ReadError
from readers.formats import read_here
from readers.parsed import ParsedDocument, WrittenLink
from tests import office_files

DECK = [
    {"title": "Pumps", "text": "They leak.", "notes": "Ask Ann about QX-5521."},
    {"title": "Parts", "text": "", "table": [["part", "price"], ["seal", "3"]], "hidden": True},
]
RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 The caf\'e9 pump leaks.\par "
    r"\trowd\cellx1000\cellx2000 part\cell price\cell\row \trowd seal\cell 3\cell\row \pard Call \u8364? Ann.\par}"
)
VTT = (
    "WEBVTT\n\nNOTE made by hand\n\n1\n00:00:01.000 --> 00:00:03.000\n<v Ann>The pump <i>leaks</i>.\n\n"
    "00:01:20.500 --> 00:01:22.000\nSince May &amp; June.\n"
)


def parse(body: bytes | str, name: str = "a") -> ParsedDocument:
    return ContentParser(read_here).parse(body.encode() if isinstance(body, str) else body, name=name)


def place_of(document: ParsedDocument, words: str) -> str | None:
    (chunk,) = SemanticSplitter(lambda: None).split(document, max_tokens=2_000, overlap_tokens=0)
    start = document.text.index(words)
    return chunk.place_at(start, start + len(words))


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


def test_rtf_becomes_paragraphs_and_tables() -> None:
    document = parse(RTF, "a.rtf")

    assert document.text == ("The café pump leaks.\n\n| part | price |\n| --- | --- |\n| seal | 3 |\n\nCall € Ann.\n")


def test_a_truncated_rtf_is_read_with_a_warning() -> None:
    document = parse(RTF[:150], "a.rtf")

    assert "pump leaks" in document.text
    assert "truncated" in document.warnings[0]


def test_a_book_is_read_chapter_by_chapter() -> None:
    chapters = ["<h1>Care</h1><p>Oil it.</p>", "<h1>Parts</h1><p>A seal.</p>"]

    document = parse(office_files.epub(chapters), "a.epub")

    assert document.text == "# Pumps\n\nAnn\n\n## Care\n\nOil it.\n\n## Parts\n\nA seal.\n"
    assert document.heading_path(document.text.index("seal")) == ("Pumps", "Parts")
    assert place_of(document, "seal") == "chapter 2"


def test_a_protected_book_says_so_and_one_with_disguised_fonts_is_read() -> None:
    encryption = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'
    name = "META-INF/encryption.xml"

    with pytest.raises(EncryptedFileError):
        parse(office_files.epub(["x"], parts={name: encryption.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}))
    fonts = encryption.format("http://www.idpf.org/2008/embedding")
    assert "leaks" in parse(office_files.epub(["It leaks."], parts={name: fonts})).text


def test_subtitles_are_lines_at_their_times() -> None:
    document = parse(VTT, "a.vtt")

    assert document.text == "Ann: The pump leaks.\nSince May & June.\n"
    assert (place_of(document, "leaks"), place_of(document, "June")) == ("00:00:01", "00:01:20")
    assert parse(VTT.partition("\n\n1\n")[2].replace(".000", ",000"), "a.srt").text.startswith("Ann: ")


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        (office_files.presentation([{}])[:3_000], "a.pptx", CorruptFileError),
        (office_files.odt({"A": ["b"]})[:-400], "a.odt", CorruptFileError),
        (office_files.odt({}), "a.odt", EmptyFileError),
        (office_files.epub([""]), "a.epub", ReadError),
        (office_files.epub([]), "a.epub", CorruptFileError),
        (b"{\\rtf1 ", "a.rtf", CorruptFileError),
        (b"{\\rtf1 }", "a.rtf", EmptyFileError),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\n\n", "a.vtt", EmptyFileError),
        (b"\0\1\2 no such file", "a.pptx", CorruptFileError),
    ],
)
def test_what_cannot_be_read_says_why(body: bytes, name: str, error: type[ReadError]) -> None:
    with pytest.raises(error):
        parse(body, name)
