"""Which reader a file gets, and why a file is refused."""

from __future__ import annotations

import pytest

from readers.read_errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    ReadError,
    UnsafeFileError,
    UnsupportedFormatError,
)
from tests import document_files, office_files
from tests.reading import parse

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of the old Office begin


@pytest.mark.parametrize(
    ("body", "name", "said"),
    [
        (b"\x1f\x8b\x08\x00rest", "a.log", "gzip"),
        (b"PK\x03\x04....readme.txt", "a.txt", "ZIP"),
        (COMPOUND + b"\0" * 600, "a.doc", "legacy Office"),
        (COMPOUND + b"\0" * 600 + "WordDocument".encode("utf-16-le"), "a.doc", "save it as .docx"),
        (COMPOUND + b"\0" * 600 + "PowerPoint Document".encode("utf-16-le"), "a.ppt", "save it as .pptx"),
        (b"some words\0and more", "a.txt", "binary"),
        (b"<svg xmlns='x'><text>a</text></svg>", "a.svg", "SVG"),
    ],
)
def test_other_formats_are_refused_by_their_name(body: bytes, name: str, said: str) -> None:
    with pytest.raises(UnsupportedFormatError, match=said):
        parse(body, name)


@pytest.mark.parametrize(
    ("body", "name", "error"),
    [
        (b" \n\t", "a.md", EmptyFileError),
        (b"\xef\xbb\xbf", "a.txt", EmptyFileError),
        (b"<html><script>1</script></html>", "a.html", EmptyFileError),
        (b",,\n,,\n", "a.csv", EmptyFileError),
        (document_files.pdf([]), "a.pdf", EmptyFileError),
        (b"%PDF-1.4 nothing follows", "a.pdf", CorruptFileError),
        (document_files.docx("")[:-60], "a.docx", CorruptFileError),
        (COMPOUND + "EncryptedPackage".encode("utf-16-le"), "a.docx", EncryptedFileError),
        (b"[" * 100_000, "a.json", UnsafeFileError),
        (b"<div>" * 2_000 + b"x", "a.html", UnsafeFileError),
        (document_files.docx("<w:p/>" + " " * 20_000_000), "a.docx", UnsafeFileError),
        (document_files.docx("", before='<!DOCTYPE a [<!ENTITY b "c">]>'), "a.docx", UnsafeFileError),
        (b'<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>', "a.xml", UnsafeFileError),
    ],
)
def test_what_cannot_be_read_says_why(body: bytes, name: str, error: type[ReadError]) -> None:
    with pytest.raises(error):
        parse(body, name)


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
def test_a_package_that_cannot_be_read_says_why(body: bytes, name: str, error: type[ReadError]) -> None:
    with pytest.raises(error):
        parse(body, name)


@pytest.mark.parametrize("name", ["a.docx", "a.pdf"])
def test_bytes_that_are_not_what_their_name_says_are_corrupt(name: str) -> None:
    with pytest.raises(CorruptFileError):
        parse(b"\0" * 4_000, name)
