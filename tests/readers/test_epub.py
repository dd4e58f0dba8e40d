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
