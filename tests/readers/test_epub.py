"""Books: chapter by chapter, and what protects them."""

from __future__ import annotations

import pytest

from readers.read_errors import EncryptedFileError
from tests import office_files
from tests.reading import parse, place_of


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


def test_chapters_of_any_kind_of_page_are_read_and_contents_are_not() -> None:
    items = (
        '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="scripted nav"/>'
        '<item id="a" href="a.html" media-type="text/x-oeb1-document"/>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        '<dc:title id="s">The hall</dc:title><dc:title id="m">Pumps</dc:title>'
        '<meta refines="#m" property="title-type">main</meta></metadata>'
        f"<manifest>{items}</manifest>"
        '<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="x"/></spine></package>'
    )
    parts = {"OPS/book.opf": book, "OPS/n.xhtml": "<p>Contents</p>", "OPS/a.html": "<p>It leaks.</p>"}

    document = parse(office_files.epub([], parts=parts), "a.epub")

    assert document.text == "# Pumps\n\nIt leaks.\n"
    assert document.warnings == ("1 of 2 chapters cannot be read and are left out: 2",)
