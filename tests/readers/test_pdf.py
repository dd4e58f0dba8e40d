"""PDFs: pages, damage, and a warning for all that is not read."""

from __future__ import annotations

import pytest

from readers.parsed import ParsedDocument
from readers.read_errors import CorruptFileError, EmptyFileError, ReadError
from tests import document_files
from tests.reading import parse


def warned(document: ParsedDocument, words: str) -> bool:
    return any(words in warning for warning in document.warnings)


def test_a_pdf_knows_where_its_pages_start() -> None:
    document = parse(document_files.pdf(["The pump leaks."], ["Call Ann."]), "a.txt")

    assert document.media_type == "application/pdf"
    assert document.page(document.text.index("pump")) == 1
    assert document.page(document.text.index("Ann")) == 2


def test_a_damaged_pdf_is_read_with_a_warning() -> None:
    broken = document_files.pdf(["The pump leaks."]).replace(b"xref\n0 6", b"xref\n0 9")

    document = parse(broken, "a.pdf")

    assert "The pump leaks." in document.text
    assert "damaged" in document.warnings[0]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (document_files.pdf([]), EmptyFileError),
        (document_files.pdf([])[:-12], CorruptFileError),
        (document_files.pdf([]).replace(b"xref\n0 6", b"xref\n0 9"), CorruptFileError),
    ],
    ids=["whole", "truncated", "broken table"],
)
def test_a_damaged_pdf_without_text_is_corrupt_and_not_empty(body: bytes, error: type[ReadError]) -> None:
    with pytest.raises(error):
        parse(body, "a.pdf")


def test_a_pdf_whose_beginning_is_lost_is_corrupt() -> None:
    with pytest.raises(CorruptFileError):
        parse(document_files.pdf(["The pump leaks."])[20:], "a.pdf")


def test_pages_that_show_a_picture_and_no_text_are_named() -> None:
    body = document_files.pdf(["The pump leaks."], document_files.SCAN, document_files.SCAN)

    document = parse(body, "a.pdf")

    assert document.text.strip() == "The pump leaks."
    assert warned(document, "2 of 3 pages show pictures without a text layer and are left out: 2, 3")


def test_a_pdf_of_pictures_alone_is_empty_because_it_has_no_text_layer() -> None:
    with pytest.raises(EmptyFileError, match="no text layer"):
        parse(document_files.pdf(document_files.SCAN), "a.pdf")


def test_files_attached_to_a_pdf_are_named() -> None:
    catalog = b"<</Type/Catalog/Pages 2 0 R"
    attached = catalog + b"/Names<</EmbeddedFiles<</Names[(a.txt)<</Type/Filespec/F(a.txt)>>]>>>>"

    assert warned(parse(document_files.pdf(["x pump"]).replace(catalog, attached), "a.pdf"), "1 attached files")


def test_values_of_form_fields_and_comments_of_a_pdf_are_named() -> None:
    rect = "/Rect[0 0 9 9]"
    annots = f"/Annots[<</Subtype/Widget{rect}/FT/Tx/T(a)/V(7)>><</Subtype/Text{rect}/Contents(Check)>>]/MediaBox"
    body = document_files.pdf(["x pump"]).replace(b"/MediaBox", annots.encode())

    document = parse(body, "a.pdf")

    assert warned(document, "1 filled form fields")
    assert warned(document, "1 comments")


def test_a_page_whose_content_cannot_be_unpacked_is_corrupt_and_not_empty() -> None:
    whole = document_files.pdf([])
    body = whole.replace(b"26>>stream\nBT /F1 12 Tf 50 700 Td  ET", b"13/Filter[/A85]>>stream\n\xff\xfe 12345 6789")
    assert len(body) == len(whole)

    with pytest.raises(CorruptFileError, match="broken"):
        parse(body, "a.pdf")


def test_columns_that_a_pdf_has_line_by_line_are_named_in_a_warning() -> None:
    left, right = "Drain the tank first and wait until", "The ferry leaves at eight, and the"
    columns = [[(50, 700 - 14 * at, left) for at in range(9)], [(310, 700 - 14 * at, right) for at in range(9)]]
    across = [piece for pair in zip(*columns, strict=True) for piece in pair]

    def page(pieces: list[tuple[int, int, str]]) -> bytes:
        shown = " ".join(f"1 0 0 1 {x} {y} Tm ({words}) Tj" for x, y, words in pieces)
        return document_files.pdf_of(f"BT /F1 11 Tf {shown} ET")

    assert parse(page(columns[0] + columns[1]), "a.pdf").warnings == ()
    assert parse(page(across), "a.pdf").warnings == (
        "columns of 1 pages stand in the PDF line by line, and their sentences are mixed: 1",
    )
