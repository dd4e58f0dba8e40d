"""A page of a PDF as it looks: the marks lie on the words of the parsed text that were asked for, and on no other."""

from __future__ import annotations

import ctypes
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import suppress

import pypdfium2
import pypdfium2.raw as pdfium
import pytest

from readers.isolated_reader import IsolatedReader
from readers.pages.page_drawing import MAX_PICTURE_BYTES, MAX_PIXELS, UNIT, draw_page
from readers.pages.pdf import read_pdf
from readers.parsed import DrawnPage, ParsedDocument
from readers.read_errors import CorruptFileError, EncryptedFileError, UnsafeFileError
from tests import table_files
from tests.document_files import pdf, pdf_of, pdf_of_glyphs

LEFT = ["The pump moves water from the lower tank to the", "upper tank. It stops when the float has reached its"]
RIGHT = ["The seal costs 40 pounds and takes 2 hours to fit,", "so that a new filter is the cheaper choice in all"]
COLUMNS = [(50, 700, LEFT), (330, 700, RIGHT)]


def placed(columns: list[tuple[int, int, list[str]]], size: int = 10) -> str:
    """Lines of text in columns, each from its left edge and its top down."""
    lines = [(x, y - 13 * at, line) for x, y, column in columns for at, line in enumerate(column)]
    return "".join(f"BT /F1 {size} Tf {x} {y} Td ({line}) Tj ET\n" for x, y, line in lines)


def turned(body: bytes, degrees: int) -> bytes:
    return body.replace(b"/MediaBox", f"/Rotate {degrees}/MediaBox".encode())


def letters(text: str) -> list[str]:
    """The letters and digits of a text in alphabetical order, ligatures taken apart."""
    return sorted(each for each in unicodedata.normalize("NFKC", text) if each.isalnum())


def page_of(document: ParsedDocument, number: int) -> str:
    bounds = [*document.pages, len(document.text)]
    return document.text[bounds[number - 1] : bounds[number]]


def under(body: bytes, number: int, drawn: DrawnPage) -> str:
    """The letters whose middles lie under the marks: asked of PDFium glyph by glyph, by position alone."""
    document = pypdfium2.PdfDocument(body)
    try:
        page = document[number - 1]
        text = page.get_textpage()
        return "".join(_under(page, text, drawn))
    finally:
        document.close()


def _under(page: pypdfium2.PdfPage, text: pypdfium2.PdfTextPage, drawn: DrawnPage) -> Iterator[str]:
    x, y = ctypes.c_int(), ctypes.c_int()
    for index in range(text.count_chars()):
        left, bottom, right, top = text.get_charbox(index)
        middle = (left + right) / 2, (bottom + top) / 2
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, UNIT, UNIT, 0, *middle, ctypes.byref(x), ctypes.byref(y))
        at = x.value / UNIT, y.value / UNIT
        if any(a <= at[0] <= a + width and b <= at[1] <= b + height for a, b, width, height in drawn.marks):
            yield chr(pdfium.FPDFText_GetUnicode(text.raw, index))


def marked(body: bytes, quote: str, number: int = 1) -> tuple[str, float]:
    """What lies under the marks of *quote*, which the parsed text of the page has, and the share that was found."""
    text = page_of(read_pdf(body), number)
    start = text.index(quote)
    drawn = draw_page(body, number, text, start, start + len(quote))
    return under(body, number, drawn), drawn.located


TABLE = pdf_of(table_files.cells(table_files.PUMPS, (60, 200, 340), 600))
CASES = {
    "a word": (pdf(["The pump leaks.", "Call Ann."]), "pump"),
    "a later one of equal words": (pdf(["The pump leaks.", "The pump hums."]), "pump hums"),
    "the second page": (pdf(["The pump leaks."], ["The pump hums."]), "pump hums"),
    "two columns, the left": (pdf_of(placed(COLUMNS)), "moves water from the lower tank to the upper tank."),
    "two columns, the right": (pdf_of(placed(COLUMNS)), "takes 2 hours to fit, so that a new filter"),
    "turned by 90": (turned(pdf_of(placed(COLUMNS)), 90), "stops when the float"),
    "turned by 180": (turned(pdf_of(placed(COLUMNS)), 180), "a new filter is the"),
    "turned by 270": (turned(pdf_of(placed(COLUMNS)), 270), "40 pounds"),
    "cut to a part": (pdf(["The pump leaks."]).replace(b"/MediaBox", b"/CropBox[40 600 400 760]/MediaBox"), "pump"),
    "a ligature": (
        pdf_of_glyphs("BT /F1 12 Tf 50 700 Td <0001000200030004> Tj ET", {1: "ffi", 2: "c", 3: "e", 4: "s"}),
        "ffices",
    ),
    "a sign for a ligature": (
        pdf_of_glyphs("BT /F1 12 Tf 50 700 Td <0001000200030004> Tj ET", {1: "\ufb03", 2: "c", 3: "e", 4: "s"}),
        "ces",
    ),
    "a cell": (TABLE, "QX-5522"),
    "a row of a table": (TABLE, "| P-200 | 6 bar | QX-5522 |"),
    "a raised digit": (pdf_of("BT /F1 12 Tf 50 700 Td (Area 12 m) Tj /F1 7.5 Tf 5 Ts (2) Tj ET"), "12 m"),
    "words on their side": (pdf_of("BT /F1 12 Tf 0 1 -1 0 300 300 Tm (The pump leaks.) Tj ET"), "pump"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_marks_lie_on_the_quoted_words_and_on_no_other(case: str) -> None:
    body, quote = CASES[case]
    pages = len(read_pdf(body).pages)

    found, located = marked(body, quote, pages)

    assert (letters(found), located) == (letters(quote), 1.0)


def test_a_word_that_a_hyphen_broke_is_marked_on_both_lines() -> None:
    lines = ["The filter of the pump must be changed each month by infor-", "med staff alone, as always."]
    body = pdf_of(placed([(50, 700, lines)]))
    text = page_of(read_pdf(body), 1)
    start = text.index("informed")

    drawn = draw_page(body, 1, text, start, start + len("informed"))

    assert letters(under(body, 1, drawn)) == letters("informed")
    assert len(drawn.marks) == 2


def test_every_span_of_words_of_a_page_of_two_columns_is_marked_exactly() -> None:
    body = pdf_of(placed(COLUMNS))
    text = page_of(read_pdf(body), 1)
    words = [found.span() for found in re.finditer(r"\S+", text)]

    for first in range(0, len(words), 3):
        for last in range(first, len(words), 5):
            start, end = words[first][0], words[last][1]
            drawn = draw_page(body, 1, text, start, end)
            assert letters(under(body, 1, drawn)) == letters(text[start:end])


def test_hebrew_that_a_page_stores_as_it_looks_is_marked() -> None:
    word = "\u05e9\u05dc\u05d5\u05dd"  # its last letter only ends words
    codes = dict(enumerate([*reversed(word), " ", "a", "b"], start=1))
    body = pdf_of_glyphs("BT /F1 12 Tf 50 700 Td <0001000200030004000500060007> Tj ET", codes)
    text = page_of(read_pdf(body), 1)
    start = text.index(word)

    drawn = draw_page(body, 1, text, start, start + len(word))

    assert (letters(under(body, 1, drawn)), drawn.located) == (letters(word), 1.0)


def test_words_that_the_page_does_not_have_are_marked_nowhere() -> None:
    drawn = draw_page(pdf(["The pump leaks."]), 1, "Recognised on a scan", 0, 10)

    assert (drawn.marks, drawn.located) == ((), 0.0)


def test_a_page_is_a_png_in_colour_of_the_size_it_says() -> None:
    drawn = draw_page(pdf(["The pump leaks."], ["Call Ann."]), 2)

    width, height, depth, colour = struct.unpack(">IIBB", drawn.picture[16:26])
    assert drawn.picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (width, height, depth, colour) == (drawn.width, drawn.height, 8, 2) == (1200, 1600, 8, 2)
    assert drawn.pages == 2


@pytest.mark.parametrize("box", ["0 0 14400 14400", "0 0 2 14400", "0 0 9 9"])
def test_a_page_of_any_size_stays_within_the_limits(box: str) -> None:
    drawn = draw_page(pdf(["The pump leaks."]).replace(b"0 0 600 800", box.encode()), 1)

    assert drawn.width * drawn.height <= MAX_PIXELS
    assert len(drawn.picture) <= MAX_PICTURE_BYTES


def test_a_page_of_noise_is_drawn_coarser() -> None:
    side = 1200
    noise = bytes(each * 97 % 251 ^ each >> 3 & 255 for each in range(side * side * 3))
    image = f"q 600 0 0 800 0 0 cm BI /W {side} /H {side} /CS /RGB /BPC 8 ID ".encode() + noise + b"\nEI Q"
    body = pdf_of("@" * len(image)).replace(b"@" * len(image), image)

    drawn = draw_page(body, 1)

    assert len(drawn.picture) <= MAX_PICTURE_BYTES


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_page_that_is_not_there_cannot_be_drawn(number: int) -> None:
    with pytest.raises(CorruptFileError):
        draw_page(pdf(["The pump leaks."]), number)


@pytest.mark.parametrize("body", [b"", b"no PDF", b"%PDF-1.7\n%%EOF", pdf(["The pump leaks."])[:60]])
def test_what_is_no_pdf_cannot_be_drawn(body: bytes) -> None:
    with pytest.raises(CorruptFileError):
        draw_page(body, 1)


def test_a_page_that_wants_a_password_cannot_be_drawn() -> None:
    keys = "/O<{0}>/U<{0}>".format("00" * 32)
    trailer = f"trailer<</Encrypt<</Filter/Standard/V 1/R 2{keys}/P -4>>/ID[<00><00>]".encode()

    with pytest.raises(EncryptedFileError):
        draw_page(pdf(["The pump leaks."]).replace(b"trailer<<", trailer), 1)


def test_the_child_process_draws_the_same_and_its_errors_arrive() -> None:
    body = pdf(["The pump leaks."])
    reader = IsolatedReader(timeout_s=10)
    try:
        assert reader.draw(body, 1, "The pump leaks.", 4, 8) == draw_page(body, 1, "The pump leaks.", 4, 8)
        with pytest.raises(CorruptFileError, match="no page 7"):
            reader.draw(body, 7, "", 0, 0)
        with pytest.raises(CorruptFileError):
            reader.draw(b"no PDF", 1, "", 0, 0)
        assert reader.draw(body, 1, "", 0, 0).pages == 1
    finally:
        reader.close()


def test_a_picture_that_unpacks_to_too_much_ends_only_the_child() -> None:
    side = 60_000
    packed = zlib.compress(bytes(1 << 20), 9) * 8
    picture = f"<</Type/XObject/Subtype/Image/Width {side}/Height {side}/ColorSpace/DeviceRGB/BitsPerComponent 8"
    stream = f"{picture}/Filter/FlateDecode/Length {len(packed)}>>stream\n".encode() + packed + b"\nendstream"
    body = pdf_of("q 600 0 0 800 0 0 cm /X Do Q").replace(b"/Resources<<", b"/Resources<</XObject<</X 9 0 R>>")
    body = body.replace(b"xref\n", b"9 0 obj\n" + stream + b"\nendobj\nxref\n", 1)
    reader = IsolatedReader(timeout_s=4, memory_bytes=256 * 1024 * 1024)
    try:
        with suppress(UnsafeFileError):  # or PDFium leaves the picture out
            drawn = reader.draw(body, 1, "", 0, 0)
            assert drawn.width * drawn.height <= MAX_PIXELS
        assert reader.draw(pdf(["The pump leaks."]), 1, "", 0, 0).pages == 1
    finally:
        reader.close()
