"""Scans: pages without text are read by a recogniser, marked as such, and all others keep their text."""

from __future__ import annotations

import pytest

from ragdrop.models.splitter import SemanticSplitter
from readers.content import ContentParser
from readers.formats import read_here
from readers.isolated_reader import IsolatedReader
from readers.pages.page_recognition import MAX_PAGES, PageRecognition, PictureRecognizer, RecognizedText
from readers.pages.pdf import picture_of
from readers.parsed import ParsedDocument
from readers.read_errors import UnsupportedFormatError
from tests import document_files


class Says:
    """Recognises the same text in every picture."""

    at_once = 1

    def __init__(self, text: str = "The pump leaks.", confidence: float = 0.93) -> None:
        self.said, self.pictures = RecognizedText(text, confidence), list[bytes]()

    def recognize(self, picture: bytes, timeout_s: float) -> RecognizedText:
        self.pictures.append(picture)
        return self.said


def parser_of(recognizer: PictureRecognizer) -> ContentParser:
    return ContentParser(read_here, PageRecognition(recognizer, picture_of))


def place_of(document: ParsedDocument, words: str) -> tuple[str | None, int | None]:
    (chunk,) = SemanticSplitter(lambda: None).split(document, max_tokens=500, overlap_tokens=0)
    start = document.text.index(words)
    return chunk.place_at(start, start + len(words)), chunk.page_at(start, start + len(words))


PNG = b"\x89PNG\r\n\x1a\n rest"


def test_pages_over_the_limit_are_named() -> None:
    says = Says()
    body = document_files.pdf(*[document_files.SCAN] * (MAX_PAGES + 5))

    document = ContentParser(read_here, PageRecognition(says, lambda *_: PNG)).parse(body, name="a.pdf")

    assert len(says.pictures) == MAX_PAGES
    assert document.warnings[-1].startswith("5 pages without a text layer were not read by OCR")


def test_a_picture_is_read_where_there_is_a_recogniser_and_refused_where_there_is_none() -> None:
    document = parser_of(Says()).parse(PNG, name="a.png")

    assert (document.text, document.media_type) == ("The pump leaks.\n", "image/png")
    assert place_of(document, "leaks") == ("picture, read by OCR (93 %)", None)
    with pytest.raises(UnsupportedFormatError):
        ContentParser(read_here).parse(PNG, name="a.png")


def test_the_child_process_draws_as_this_one_does() -> None:
    reader = IsolatedReader()
    body = document_files.pdf(["Call Ann."], document_files.SCAN)
    try:
        assert reader.picture(body, 0) is None
        assert reader.picture(body, 1) == picture_of(body, 1) is not None
        assert reader.picture(b"%PDF-1.4 broken", 0) is None
        assert reader("csv", b"a,b\n1,2\n", "a.csv").tables
    finally:
        reader.close()
