"""Formats are recognised by their bytes."""

from __future__ import annotations

import time

import pytest

from readers.content import HEAD_BYTES, kind_of
from readers.formats import looks_like_html, other_text_format
from readers.read_errors import EncryptedFileError, UnsupportedFormatError
from tests import document_files
from tests.reading import parse

PAGE = "<html><body><p>The pump leaks.</p></body></html>"


COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of the old Office begin


def old_office(stream: bytes) -> bytes:
    return COMPOUND + b"\0" * (512 - len(COMPOUND)) + stream.ljust(512, b"\0")


@pytest.mark.parametrize("length", [100, 5_000, HEAD_BYTES, 2 * HEAD_BYTES])
def test_a_page_is_html_however_long_the_comment_before_it_is(length: int) -> None:
    page = f"<!-- {'the licence ' * (length // 12)} -->\n{PAGE}"

    assert kind_of(page.encode(), "a.html") == "html"


@pytest.mark.parametrize("before", ["<!-- a -->", "<!-- a --> <!-- <b> -->\n", '<?xml version="1.0"?>\n<!-- a -->\n'])
def test_a_page_of_no_telling_name_is_html_behind_its_comments(before: str) -> None:
    assert kind_of((before + PAGE).encode(), "a") == "html"


def test_a_tag_in_a_comment_makes_no_page_of_a_text_that_is_named_so() -> None:
    assert not looks_like_html("<!-- <p> was here -->\nThe pump leaks.", "a.html")


def test_many_comments_take_no_time_to_look_behind() -> None:
    text = "<!---->" * 9_000 + "The pump leaks."
    started_s = time.perf_counter()

    assert not looks_like_html(text, "a.txt")
    assert other_text_format(text) is None
    assert time.perf_counter() - started_s < 1  # a pattern that repeats comments needs minutes for thirty of them


def test_a_drawing_is_known_behind_its_comments() -> None:
    assert other_text_format("<!-- made by hand -->\n<!DOCTYPE svg PUBLIC 'x'>\n<svg>") == "an SVG image"


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a"])
def test_an_office_document_with_a_password_is_encrypted_whatever_it_is(name: str) -> None:
    with pytest.raises(EncryptedFileError):
        parse(COMPOUND + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"), name)


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
