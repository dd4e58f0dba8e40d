"""Nothing of a document vanishes in silence: it is read, or a warning names it, and a refusal gives the true reason."""

from __future__ import annotations

import pytest

from ragdrop.domain.parsed import ParsedDocument
from ragdrop.errors import CorruptDocumentError, DocumentError, EmptyDocumentError, EncryptedDocumentError
from ragdrop.formats.content import ContentParser, read_here
from tests import document_files

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of the old Office begin


def parse(body: bytes, name: str) -> ParsedDocument:
    return ContentParser(read_here).parse(body, name=name)


def formula(inner: str) -> str:
    return f"<w:p><w:r><w:t>It is </w:t></w:r><m:oMath>{inner}</m:oMath></w:p>"


def text(name: str, held: str) -> str:
    return f"<m:{name}><m:r><m:t>{held}</m:t></m:r></m:{name}>"


@pytest.mark.parametrize(
    ("inner", "read"),
    [
        ("<m:r><m:t>E=m</m:t></m:r>" + f"<m:sSup>{text('e', 'c')}{text('sup', '2')}</m:sSup>", "It is E=mc^2"),
        (f"<m:f>{text('num', 'a+b')}{text('den', '2')}</m:f>", "It is (a+b)/2"),
        (f"<m:rad>{text('e', 'x')}</m:rad>", "It is √(x)"),
    ],
)
def test_a_formula_of_a_word_document_is_read_on_one_line(inner: str, read: str) -> None:
    assert parse(document_files.docx(formula(inner)), "a.docx").text.strip() == read


def test_a_formula_in_a_paragraph_of_its_own_is_read() -> None:
    body = f"<w:p><m:oMathPara><m:oMath>{text('r', 'x')}</m:oMath></m:oMathPara></w:p>"
    body = body.replace("<m:r><m:r>", "<m:r>").replace("</m:r></m:r>", "</m:r>")

    assert parse(document_files.docx(body), "a.docx").text.strip() == "x"


def test_page_headers_and_footers_are_read_once() -> None:
    parts = {
        "word/header1.xml": f"<w:hdr>{document_files.paragraph('Confidential &amp; internal')}</w:hdr>",
        "word/header2.xml": f"<w:hdr>{document_files.paragraph('Confidential &amp; internal')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr>{document_files.paragraph('7')}{document_files.paragraph('North hall')}</w:ftr>",
    }

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.text.split("\n\n") == ["Confidential & internal", "The pump.", "North hall\n"]


def test_comments_that_are_left_out_are_named() -> None:
    parts = {"word/comments.xml": f'<w:comments xmlns:w="{document_files.WORD}"><w:comment w:id="1"/></w:comments>'}

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.warnings == ("the comments of the Word document are left out",)


WHOLE = document_files.docx(document_files.paragraph("The pump leaks. " * 50))


@pytest.mark.parametrize("length", [60, 200, 400, len(WHOLE) // 2, len(WHOLE) - 30])
def test_a_truncated_word_document_is_corrupt_wherever_it_ends(length: int) -> None:
    with pytest.raises(CorruptDocumentError):
        parse(WHOLE[:length], "a.docx")


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a"])
def test_an_office_document_with_a_password_is_encrypted_whatever_it_is(name: str) -> None:
    with pytest.raises(EncryptedDocumentError):
        parse(COMPOUND + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), name)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (document_files.pdf([]), EmptyDocumentError),
        (document_files.pdf([])[:-12], CorruptDocumentError),
        (document_files.pdf([]).replace(b"xref\n0 6", b"xref\n0 9"), CorruptDocumentError),
    ],
    ids=["whole", "truncated", "broken table"],
)
def test_a_damaged_pdf_without_text_is_corrupt_and_not_empty(body: bytes, error: type[DocumentError]) -> None:
    with pytest.raises(error):
        parse(body, "a.pdf")
