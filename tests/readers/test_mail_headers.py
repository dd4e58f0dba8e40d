"""Headers and dates of mails, in any encoding and any form."""

from __future__ import annotations

import base64

import pytest

from readers.parsed import ParsedDocument
from tests.reading import parse as read


def parse(body: bytes | str, name: str = "a.eml") -> ParsedDocument:
    return read(body, name)


MAIL = b"Message-ID: <1@example.org>\nFrom: %s\nTo: bob@example.org\nSubject: %s\n%s\nThe gate is shut.\n"


def test_headers_of_eight_bits_are_utf8_before_anything_else() -> None:
    document = parse(MAIL % ("Zoë Größ <z@example.org>".encode(), "Grüße, Łódź".encode(), b""), "mails/1")

    assert document.text.startswith("# Grüße, Łódź\n\nFrom: Zoë Größ <z@example.org>\n")
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("label", "encoding", "subject"),
    [("iso-8859-1", "cp1252", "Schlüssel für 7 €"), ("koi8-r", "koi8-r", "Ключ"), ("shift_jis", "cp932", "髙い門②")],
)
def test_headers_of_eight_bits_are_in_the_charset_of_the_text(label: str, encoding: str, subject: str) -> None:
    head = f"Content-Type: text/plain; charset={label}\n".encode()

    document = parse(MAIL % (b"ann@example.org", subject.encode(encoding), head))

    assert document.headings[0].text == subject
    assert document.warnings == ()


def test_a_header_whose_encoding_is_guessed_names_the_guess() -> None:
    document = parse(MAIL % (b"ann@example.org", "Schlüssel".encode("cp1252"), b""))

    assert document.headings[0].text == "Schlüssel"
    assert "the header Subject" in document.warnings[0]
    assert "windows-1252" in document.warnings[0]


@pytest.mark.parametrize(
    ("label", "encoding", "subject"),
    [("gb2312", "gb18030", "陶喆的门"), ("iso-8859-1", "cp1252", "“7 €”"), ("ks_c_5601-1987", "cp949", "똠방각하")],
)
def test_encoded_words_are_read_as_browsers_read_their_charset(label: str, encoding: str, subject: str) -> None:
    word = base64.b64encode(subject.encode(encoding)).decode()

    assert parse(MAIL % (b"a@example.org", f"=?{label}?B?{word}?=".encode(), b"")).headings[0].text == subject


def test_an_encoded_word_that_is_split_within_a_character_is_joined() -> None:
    subject = b"=?utf-8?q?Gr=C3?=\n =?utf-8?q?=BC=C3=9Fe?="

    assert parse(MAIL % (b"a@example.org", subject, b"")).headings[0].text == "Grüße"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-05-02T09:08:07Z", "2026-05-02T09:08:07+00:00"),
        ("2026-05-02T09:08:07.25+02:00", "2026-05-02T09:08:07+02:00"),
        ("2026-05-02 09:08", "2026-05-02T09:08:00"),
        ("Saturday, 02-May-26 09:08:07 GMT", "2026-05-02T09:08:07+00:00"),
        ("Sat May  2 09:08:07 2026", "2026-05-02T09:08:07"),
        ("Sat May  2 09:08:07 CEST 2026", "2026-05-02T09:08:07+02:00"),
        ("2 May 26 09:08 EST", "2026-05-02T09:08:00-05:00"),
        ("Sat, 2 May 2026 9:08:07 PM -0700", "2026-05-02T21:08:07-07:00"),
        ("May 2, 2026 09:08", "2026-05-02T09:08:00"),
        ("Sa, 2. Mai 2026 09:08:07 +0200 (MESZ)", "2026-05-02T09:08:07+02:00"),
        ("sam. 2 août 2026 09h08", "2026-08-02T09:08:00"),
        ("02.05.2026 09:08", "2026-05-02T09:08:00"),
        ("Sat, 2 May 2026", "2026-05-02"),
    ],
)
def test_a_date_is_read_in_any_common_form(written: str, read: str) -> None:
    document = parse(MAIL % (b"a@example.org", b"Test", f"Date: {written}\n".encode()))

    assert document.metadata["date"] == read
    assert document.warnings == ()


@pytest.mark.parametrize("written", ["some day in May", "Sat, 32 May 2026 09:08:07 +0000", "05/06/2026 09:08"])
def test_a_date_that_cannot_be_read_is_named(written: str) -> None:
    document = parse(MAIL % (b"a@example.org", b"Test", f"Date: {written}\n".encode()))

    assert document.metadata["date"] is None
    assert document.warnings == (f"the date of the mail, {written!r}, cannot be read and is left out",)
