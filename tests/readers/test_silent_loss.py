"""Nothing of a document vanishes in silence: it is read, or a warning names it, and a refusal gives the true reason."""

from __future__ import annotations

import pytest

from readers.content import ContentParser
from readers.errors import CorruptFileError, EmptyFileError, EncryptedFileError, ReadError, UnsupportedFormatError
from readers.formats import read_here
from readers.parsed import ParsedDocument
from tests import document_files

NAMES = f'xmlns:w="{document_files.WORD}" xmlns:m="{document_files.MATH}"'
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
    header = f"<w:hdr {NAMES}>{document_files.paragraph('Confidential &amp; internal')}</w:hdr>"
    footer = f"<w:ftr {NAMES}>{document_files.paragraph('7')}{document_files.paragraph('North hall')}</w:ftr>"
    parts = {"word/header1.xml": header, "word/header2.xml": header, "word/footer1.xml": footer}

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.text.split("\n\n") == ["Confidential & internal", "The pump.", "North hall\n"]


def test_comments_that_are_left_out_are_named() -> None:
    parts = {"word/comments.xml": f'<w:comments xmlns:w="{document_files.WORD}"><w:comment w:id="1"/></w:comments>'}

    document = parse(document_files.docx(document_files.paragraph("The pump."), parts=parts), "a.docx")

    assert document.warnings == ("the comments of the Word document are left out",)


WHOLE = document_files.docx(document_files.paragraph("The pump leaks. " * 50))


@pytest.mark.parametrize("length", [60, 200, 400, len(WHOLE) // 2, len(WHOLE) - 30])
def test_a_truncated_word_document_is_corrupt_wherever_it_ends(length: int) -> None:
    with pytest.raises(CorruptFileError):
        parse(WHOLE[:length], "a.docx")


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a"])
def test_an_office_document_with_a_password_is_encrypted_whatever_it_is(name: str) -> None:
    with pytest.raises(EncryptedFileError):
        parse(COMPOUND + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), name)


def old_office(stream: bytes) -> bytes:
    return COMPOUND + b"\0" * (512 - len(COMPOUND)) + stream.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (old_office(b"\xec\xa5" + b"\0" * 9 + b"\x01"), "a.doc"),
        (old_office(b"\x09\x08\x10\0" + b"\0" * 16 + b"\x2f\0"), "a.xls"),
        (document_files.odt('<manifest:encryption-data xmlns:manifest="m"/>'), "a.odt"),
    ],
)
def test_an_older_or_open_document_with_a_password_is_encrypted(body: bytes, name: str) -> None:
    with pytest.raises(EncryptedFileError):
        parse(body, name)


def test_an_older_document_without_a_password_is_unsupported() -> None:
    body, name = old_office(b"\xec\xa5" + b"\0" * 10), "a.doc"
    with pytest.raises(UnsupportedFormatError):
        parse(body, name)


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


def warned(document: ParsedDocument, words: str) -> bool:
    return any(words in warning for warning in document.warnings)


def test_a_formula_is_read_whatever_prefix_its_names_have() -> None:
    body = f'<w:p><n:oMath xmlns:n="{document_files.MATH}"><n:r><n:t>x+1</n:t></n:r></n:oMath></w:p>'

    assert parse(document_files.docx(body), "a.docx").text.strip() == "x+1"


@pytest.mark.parametrize(
    ("inner", "read"),
    [
        (f"<m:m><m:mr>{text('e', '1')}{text('e', '2')}</m:mr><m:mr>{text('e', '3')}{text('e', '4')}</m:mr></m:m>",
         "It is [1, 2; 3, 4]"),
        (f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>{text("e", "x")}</m:d>', "It is [x]"),
        (f"<m:sPre>{text('sub', '2')}{text('sup', '3')}{text('e', 'H')}</m:sPre>", "It is _2^3 H"),
        (f"<m:limLow>{text('e', 'lim')}{text('lim', 'n→∞')}</m:limLow>", "It is lim_(n→∞)"),
        (f"<m:eqArr>{text('e', 'x=1')}{text('e', 'y=2')}</m:eqArr>", "It is x=1; y=2"),
    ],
    ids=["matrix", "brackets", "marks before", "limit", "lines"],
)  # fmt: skip
def test_the_parts_of_a_formula_stay_apart(inner: str, read: str) -> None:
    assert parse(document_files.docx(formula(inner)), "a.docx").text.strip() == read


def test_formulas_of_notes_and_page_headers_are_read() -> None:
    formula_of = "<m:oMath><m:r><m:t>z=3</m:t></m:r></m:oMath>"
    note = f'<w:footnote w:id="1"><w:p>{formula_of}</w:p></w:footnote>'
    parts = {
        "word/footnotes.xml": f"<w:footnotes {NAMES}>{note}</w:footnotes>",
        "word/header1.xml": f"<w:hdr {NAMES}><w:p><w:r><w:t>Rule </w:t></w:r>{formula_of}</w:p></w:hdr>",
    }
    body = '<w:p><w:r><w:t>The pump.</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'

    read = parse(document_files.docx(body, parts=parts), "a.docx").text

    assert read.startswith("Rule z=3\n")
    assert read.count("z=3") == 2


def test_a_page_header_that_is_damaged_costs_no_other_text() -> None:
    body = document_files.docx(document_files.paragraph("The pump."), parts={"word/header1.xml": "<w:hdr>"})

    document = parse(body, "a.docx")

    assert document.text == "The pump.\n"
    assert warned(document, "page header or footer")


def test_text_boxes_of_page_headers_are_read_once() -> None:
    inside = f"<w:txbxContent>{document_files.paragraph('North hall')}</w:txbxContent>"
    drawn = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice><w:drawing>{inside}</w:drawing></mc:Choice><mc:Fallback><w:pict>{inside}</w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    header = f'<w:hdr xmlns:w="{document_files.WORD}"><w:p><w:r>{drawn}</w:r><w:r><w:t>Plan</w:t></w:r></w:p></w:hdr>'

    document = parse(document_files.docx(document_files.paragraph("b"), parts={"word/header1.xml": header}), "a.docx")

    assert sorted(document.text.split()) == ["North", "Plan", "b", "hall"]


@pytest.mark.parametrize(
    ("body", "parts", "named"),
    [
        ("<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>", {}, "text deleted under tracked changes"),
        ('<w:altChunk w:id="a"/>', {}, "inserted documents"),
        ("", {"word/embeddings/sheet.xlsx": "<x/>"}, "1 embedded files"),
        ("", {"word/charts/chart1.xml": "<x/>", "word/diagrams/data1.xml": "<x/>"}, "2 charts and diagrams"),
    ],
    ids=["deleted", "inserted", "embedded", "drawn"],
)
def test_what_is_left_out_of_a_word_document_is_named(body: str, parts: dict[str, str], named: str) -> None:
    document = parse(document_files.docx(document_files.paragraph("The pump.") + body, parts=parts), "a.docx")

    assert document.text == "The pump.\n"
    assert warned(document, named)


def test_the_description_of_a_picture_is_read_and_a_picture_without_one_is_named() -> None:
    described, bare = document_files.picture("A red valve"), document_files.picture("")

    document = parse(document_files.docx(f"<w:p>{described}{bare}</w:p>", parts=document_files.PICTURE_PARTS), "a.docx")

    assert document.text == "[A red valve]\n"
    assert document.warnings == ("1 pictures of the Word document are left out",)


@pytest.mark.parametrize("name", ["a.docx", "a.pdf"])
def test_bytes_that_are_not_what_their_name_says_are_corrupt(name: str) -> None:
    with pytest.raises(CorruptFileError):
        parse(b"\0" * 4_000, name)


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


def test_hidden_parts_of_a_page_are_named() -> None:
    document = parse(b"<html><body><p>Seen</p><p hidden>kept back</p><p hidden> </p></body></html>", "a.html")

    assert document.text == "Seen\n"
    assert document.warnings == ("1 hidden parts of the page are left out",)


@pytest.mark.parametrize("mark", [";", "^", "\t"])
def test_a_first_line_that_names_the_separator_is_obeyed_and_is_no_row(mark: str) -> None:
    body = f"sep={mark}\r\nname{mark}place\r\npump{mark}hall\r\n".encode("utf-8-sig")

    assert parse(body, "a.csv").text == "| name | place |\n| --- | --- |\n| pump | hall |\n"
