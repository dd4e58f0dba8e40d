"""Damaged and hostile files of every office format: an outcome each, in time, and nothing is fetched.

They are read in the child process with its limits, as in ingest, and sockets are closed where they are read in place.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from readers.content import ContentParser
from readers.formats import read_here
from readers.isolated_reader import IsolatedReader
from readers.read_errors import ReadError
from tests import office_files
from tests.compound_files import outlook_message

ROWS: Any = [["part", "price"], ["seal", 3.5], ["rotor", 12]]
GOOD = {
    "a.xlsx": office_files.xlsx({"S": ROWS, "T": ROWS}),
    "a.xls": office_files.xls({"S": ROWS}),
    "a.ods": office_files.ods({"S": ROWS}),
    "a.pptx": office_files.presentation([{"title": "Pumps", "text": "They leak.", "notes": "Ask Ann."}]),
    "a.odt": office_files.odt({"Pumps": ["They leak."]}, rows=ROWS),
    "a.odp": office_files.odp([("Pumps", "They leak.")]),
    "a.rtf": rb"{\rtf1\ansi The pump leaks.\par Call Ann.\par}",
    "a.epub": office_files.epub(["<h1>Pumps</h1><p>They leak.</p>"]),
    "a.eml": office_files.mail("It leaks.\n", attachments={"a.xlsx": office_files.xlsx({"S": ROWS})}),
    "a.mbox": b"From ann@example.com x\n" + office_files.mail("It leaks.\n"),
    "a.msg": outlook_message({"0037": "The pump", "1000": "It leaks."}, attachments={"a.txt": b"Call Ann."}),
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nIt leaks.\n",
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nIt leaks.\n",
}
CODES = {"CorruptFileError", "EmptyFileError", "EncryptedFileError", "UnsafeFileError", "UnsupportedFormatError"}
NS = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
SLIDE = '<s r:id="rId1"/>'
DEEP = "<p>" * 3_000


@pytest.fixture(scope="module")
def parser() -> Iterator[ContentParser]:
    reader = IsolatedReader(timeout_s=8.0, memory_bytes=384 * 1024 * 1024)
    yield ContentParser(reader)
    reader.close()


def outcome(parser: ContentParser, body: bytes, name: str) -> str:
    """`indexed`, or the kind of error."""
    try:
        return "indexed" if parser.parse(body, name=name).text.strip() else "without text"
    except ReadError as exc:
        return type(exc).__name__


@pytest.mark.parametrize("name", GOOD)
def test_a_whole_file_is_read_and_the_child_process_reads_as_a_reader_in_place_does(
    parser: ContentParser, name: str
) -> None:
    assert parser.parse(GOOD[name], name=name) == ContentParser(read_here).parse(GOOD[name], name=name)


@pytest.mark.parametrize("name", GOOD)
def test_an_empty_file_is_empty_whatever_its_name(parser: ContentParser, name: str) -> None:
    assert outcome(parser, b"", name) == "EmptyFileError"


@pytest.mark.parametrize("name", GOOD)
def test_a_file_of_a_wrong_name_is_read_as_what_it_is(parser: ContentParser, name: str) -> None:
    right = parser.parse(GOOD[name], name=name)

    for wrong in ("a.docx", "a.pdf", "a.bin", "A"):
        assert parser.parse(GOOD[name], name=wrong).media_type == right.media_type


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.ods", "a.pptx", "a.odt", "a.epub", "a.msg", "a.docx", "a.pdf"])
def test_bytes_that_are_no_such_file_are_corrupt(parser: ContentParser, name: str) -> None:
    assert outcome(parser, b"\0\x01\x02 nothing of the kind", name) == "CorruptFileError"


def damaged(name: str) -> Iterator[bytes]:
    """The file of this name, cut off or with other bytes in it, in 24 ways."""
    chance = random.Random(name)
    for number in range(24):
        body = bytearray(GOOD[name])
        if number % 2:
            del body[chance.randrange(len(body)) :]
        else:
            for _ in range(chance.choice((1, 8, 60))):
                body[chance.randrange(len(body))] = chance.randrange(256)
        yield bytes(body)


@pytest.mark.parametrize("name", GOOD)
def test_a_damaged_file_has_an_outcome_in_time(parser: ContentParser, name: str) -> None:
    for body in damaged(name):
        started = time.monotonic()

        assert outcome(parser, body, name) in CODES | {"indexed"}
        assert time.monotonic() - started < 12


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.pptx", "a.odt", "a.odp", "a.epub"])
def test_a_damaged_package_loses_no_text_in_silence(parser: ContentParser, name: str) -> None:
    whole = parser.parse(GOOD[name], name=name).text

    for body in damaged(name):
        try:
            document = parser.parse(body, name=name)
        except ReadError:
            continue
        assert document.text == whole or document.warnings


BOMBS = {
    "a part that unpacks to 70 MB": ("a.pptx", {"ppt/slides/slide1.xml": b" " * 70_000_000}, "UnsafeFileError"),
    "entities in a slide": (
        "a.pptx",
        {"ppt/slides/slide1.xml": b'<!DOCTYPE a [<!ENTITY b "x">]><a>&b;</a>'},
        "UnsafeFileError",
    ),
    "entities in UTF-16": (
        "a.odt",
        {
            "content.xml": '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a [<!ENTITY b "x">]><a>&b;</a>'.encode(
                "utf-16"
            )
        },
        "UnsafeFileError",
    ),
    "a file outside as an entity": (
        "a.odt",
        {"content.xml": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'},
        "UnsafeFileError",
    ),
    "deep XML": ("a.odt", {"content.xml": f"<a>{DEEP}{DEEP.replace('<', '</')}</a>".encode()}, "UnsafeFileError"),
    "deep HTML in a book": ("a.epub", {"OPS/c0.xhtml": b"<div>" * 5_000 + b"x"}, "UnsafeFileError"),
    "six thousand slides": (
        "a.pptx",
        {"ppt/presentation.xml": f"<p {NS}><sldIdLst>{SLIDE * 6_000}</sldIdLst></p>".encode()},
        "FileTooLargeError",
    ),
    "a million slides": (
        "a.pptx",
        {"ppt/presentation.xml": f"<p {NS}><sldIdLst>{SLIDE * 1_000_000}</sldIdLst></p>".encode()},
        "UnsafeFileError",
    ),
    "a hundred thousand sheets": (
        "a.xlsx",
        {
            "xl/workbook.xml": (
                f'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" {NS}><sheets>'
                + "".join(f'<sheet name="s{n}" sheetId="{n + 1}" r:id="rId1"/>' for n in range(100_000))
                + "</sheets></workbook>"
            ).encode()
        },
        "FileTooLargeError",
    ),
    "a cell in the last corner": (
        "a.xlsx",
        {
            "xl/worksheets/sheet1.xml": b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
            b'<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
            b"</sheetData></worksheet>"
        },
        "UnsafeFileError",
    ),
    "columns repeated a billion times": (
        "a.odt",
        {
            "content.xml": b'<a xmlns:t="t"><body><text><table><table-row t:number-rows-repeated="999999999">'
            b'<table-cell t:number-columns-repeated="999999999"><p>x</p></table-cell></table-row>'
            b"</table></text></body></a>"
        },
        "indexed",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_has_its_code_in_time(parser: ContentParser, bomb: str) -> None:
    name, changed, expected = BOMBS[bomb]
    started = time.monotonic()

    assert outcome(parser, office_files.repacked(GOOD[name], changed), name) == expected
    assert time.monotonic() - started < 12


def test_rtf_with_a_million_open_groups_has_an_outcome(parser: ContentParser) -> None:
    assert outcome(parser, b"{\\rtf1 x" + b"{" * 1_000_000, "a.rtf") in {"indexed", "UnsafeFileError"}


def test_names_inside_a_file_lead_nowhere(parser: ContentParser) -> None:
    hostile = {"../../../../tmp/x.xml": b"x", "/etc/passwd": b"x", "C:\\x": b"x", "ppt/slides/\n.xml": b"<a/>"}

    assert outcome(parser, office_files.repacked(GOOD["a.pptx"], hostile), "a.pptx") == "indexed"
    relations = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        b'<Relationship Id="rId1" Type="x/slide" Target="../../../../etc/passwd"/></Relationships>'
    )
    changed = office_files.repacked(GOOD["a.pptx"], {"ppt/_rels/presentation.xml.rels": relations})
    assert parser.parse(changed, name="a.pptx").warnings


@pytest.mark.usefixtures("_closed_sockets")
def test_what_a_file_refers_to_outside_is_not_fetched() -> None:
    outside = "http://127.0.0.1:9/x"
    relation = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="x/image" Target="{outside}" TargetMode="External"/></Relationships>'
    ).encode()
    page = f'<img src="{outside}"><link rel="stylesheet" href="{outside}"><iframe src="{outside}"></iframe><p>x</p>'
    files = {
        "a.pptx": office_files.repacked(GOOD["a.pptx"], {"ppt/slides/_rels/slide1.xml.rels": relation}),
        "a.xlsx": office_files.repacked(GOOD["a.xlsx"], {"xl/worksheets/_rels/sheet1.xml.rels": relation}),
        "a.epub": office_files.epub([page]),
        "a.eml": office_files.mail("", html=page),
        "a.odt": office_files.repacked(
            GOOD["a.odt"],
            {"content.xml": f'<b xmlns:x="x"><body><c><p><a x:href="{outside}">y</a></p></c></body></b>'.encode()},
        ),
    }

    for name, body in files.items():
        assert ContentParser(read_here).parse(body, name=name).text


@pytest.fixture
def _closed_sockets(socket_disabled: None) -> None:
    """No socket can be opened."""
