"""What each format becomes: text, headings, tables, pages."""

from __future__ import annotations

import json

import pytest

from readers.content import ContentParser
from readers.errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    ReadError,
    UnsafeFileError,
    UnsupportedFormatError,
)
from readers.formats import read_here
from readers.parsed import Heading, ParsedDocument, WrittenLink, document_of
from tests import document_files

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of the old Office begin


def parse(body: bytes | str, name: str = "a") -> ParsedDocument:
    return ContentParser(read_here).parse(body.encode() if isinstance(body, str) else body, name=name)


def of_table(document: ParsedDocument) -> tuple[str, str]:
    (table,) = document.tables
    return document.text[table.start : table.rows_start], document.text[table.rows_start : table.end]


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize("text", ["# Pump\r\n\r\nIt leaks.\r\n", "\tcode\n\n\n* item  \n", "last line without end"])
def test_markdown_and_text_are_kept_to_the_letter(name: str, text: str) -> None:
    assert parse(text, name).text == text


BASE64 = "R0lGODlhAQABAIAAAAUEBA" * 200


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"![Hall A](data:image/gif;base64,{BASE64}=) behind", "![Hall A](data:image/gif) behind"),
        (
            f"![Hall A][h]\n\n[h]: data:image/gif;base64,{BASE64}\n\nbehind",
            "![Hall A][h]\n\n[h]: data:image/gif\n\nbehind",
        ),
        (f"<img src='data:image/gif;base64,{BASE64}' alt='Hall A'>", "<img src='data:image/gif' alt='Hall A'>"),
        (f"a {{ src: url(data:font/woff2;charset=utf-8;base64,{BASE64}) }}", "a { src: url(data:font/woff2) }"),
        (f"![](data:image/svg+xml,%3Csvg{'%20a' * 30}) behind", "![](data:image/svg+xml) behind"),
        ("![](data:image/gif;base64," + "\n".join([BASE64[:76]] * 3 + ["UEBA=)"]), "![](data:image/gif)"),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_an_embedded_picture_is_left_out_and_its_description_stays(name: str, text: str, read: str) -> None:
    document = parse(text, name)

    assert document.text == read
    assert document.warnings[-1].startswith("embedded pictures or files are left out: 1 ")


def test_pictures_of_a_notebook_are_left_out() -> None:
    cell = {"outputs": [{"data": {"image/png": BASE64 + "\n", "text/plain": "<Figure>"}}]}
    shown = parse(json.dumps({"cells": [cell]}), "a.json").text

    assert shown == (
        "cells[0].outputs[0].data.image/png: (base64 of 4401 characters is left out)\n"
        "cells[0].outputs[0].data.text/plain: <Figure>\n"
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_an_encoding_is_found_and_its_mark_is_no_text(encoding: str) -> None:
    assert parse("The café's pump leaks, the gauge too.".encode(encoding), "a.txt").text[:10] == "The café's"


def test_a_single_byte_encoding_is_guessed() -> None:
    text = "Die schöne Frau hat einen Kaffee für drei Euro gekauft, später auch Käse und Brötchen. " * 5

    assert parse(text.encode("cp1252"), "a.txt").text == text


def test_markdown_tells_its_headings_and_tables() -> None:
    document = parse("# Pump\n\n| part | code |\n|---|---|\n| seal | 1 |\n\n```\n# no heading\n```\n", "a.md")

    assert document.headings == (Heading(1, "Pump", 0),)
    assert of_table(document) == ("| part | code |\n|---|---|\n", "| seal | 1 |\n")


def test_a_long_markdown_text_tells_the_same_by_a_line_scan() -> None:
    text = "# Pump\n\n" + "It leaks.\n\n" * 25_000 + "## Parts\n\n| part | code |\n|---|---|\n| seal | 1 |\n"

    document = parse(text, "a.md")

    assert [heading.text for heading in document.headings] == ["Pump", "Parts"]
    assert of_table(document)[1] == "| seal | 1 |\n"


def test_html_gives_what_is_read_and_not_what_is_run_or_hidden() -> None:
    page = (
        "<!doctype html><html><head><title>Pump</title><script>alert(1)</script></head><body><nav>Home</nav>"
        "<h2>Parts</h2><p>A <b>seal</b> and a&nbsp;rotor.</p><p style='display:none'>secret</p>"
        "<ul><li>one</li><li>two</li></ul><a href='b.html'>next</a></body></html>"
    )

    document = parse(page, "page")

    assert document.text == "# Pump\n\n## Parts\n\nA seal and a rotor.\n\n- one\n- two\n\nnext\n"
    assert document.heading_path(30) == ("Pump", "Parts")
    assert document.links == (WrittenLink("b.html", "next"),)


def test_an_html_table_becomes_rows_under_their_header() -> None:
    document = parse("<html><table><tr><th>part<th>code<tr><td>seal<td>1|2</table>", "a.html")

    assert of_table(document) == ("| part | code |\n| --- | --- |\n", "| seal | 1\\|2 |\n")


def test_html_declares_its_encoding() -> None:
    page = "<html><head><meta charset='windows-1252'></head><body>3,50 € für Käse</body></html>"

    assert "€ für Käse" in parse(page.encode("cp1252"), "a.html").text


def test_a_word_document_keeps_headings_and_tables() -> None:
    body = document_files.paragraph("Pump", "Heading1") + document_files.paragraph("It leaks.")
    document = parse(document_files.docx(body + document_files.table(("part", "code"), ("seal", "1"))), "a.bin")

    assert document.text.startswith("# Pump\n\nIt leaks.\n")
    assert of_table(document)[1] == "| seal | 1 |\n"


def test_a_pdf_knows_where_its_pages_start() -> None:
    document = parse(document_files.pdf(["The pump leaks."], ["Call Ann."]), "a.txt")

    assert document.media_type == "application/pdf"
    assert document.page(document.text.index("pump")) == 1
    assert document.page(document.text.index("Ann")) == 2


def test_a_damaged_pdf_is_read_with_a_warning() -> None:
    broken = document_files.pdf(["The pump leaks."]).replace(b"xref\n0 6", b"xref\n0 9")

    document = parse(broken, "a.pdf")

    assert "The pump leaks." in document.text
    assert "damaged" in document.warnings[0]


def test_csv_rows_are_a_table_whatever_separates_them() -> None:
    document = parse('part;price\nseal;"3,50"\n', "a.csv")

    assert of_table(document) == ("| part | price |\n| --- | --- |\n", "| seal | 3,50 |\n")


def test_json_records_are_lines_that_say_where_they_stand() -> None:
    document = parse('[{"pump": {"code": "QX-1", "parts": ["seal", "rotor"]}}, {"pump": {"code": "QX-2"}}]', "a.json")

    assert document.text == "pump.code: QX-1\npump.parts: seal, rotor\n\npump.code: QX-2\n"


def test_json_lines_keep_a_line_that_is_broken_and_say_so() -> None:
    document = parse('{"a": 1}\n{"a": \n{"a": 3}\n', "a.jsonl")

    assert document.text.split("\n\n") == ["a: 1", '{"a": ', "a: 3\n"]
    assert "1 lines" in document.warnings[0]


def test_source_code_is_kept_to_the_letter_and_its_functions_are_headings() -> None:
    code = "import os\n\n\nclass Pump:\n    @slow\n    def start(self):\n        return os.name\n"

    document = parse(code, "pump.py")

    assert document.text == code
    assert document.content_type == "code"
    assert document.heading_path(code.index("return")) == ("Pump", "start")


@pytest.mark.parametrize(
    ("name", "code", "found"),
    [
        ("a.go", "func (s *Pump) Start() {}\ntype Valve struct {}\n", ["Start", "Valve"]),
        ("a.ts", "export async function start(a: number) { call(a) }\nexport class Pump {}\n", ["start", "Pump"]),
        ("a.rs", "pub fn start() { call(); }\nstruct Pump;\n", ["start", "Pump"]),
        ("a.java", "class Pump {\n  public int start() { return call(); }\n}\n", ["Pump", "start"]),
    ],
)
def test_definitions_are_found_in_many_languages(name: str, code: str, found: list[str]) -> None:
    assert [heading.text for heading in parse(code, name).headings] == found


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


def test_a_title_with_an_ampersand_costs_no_field() -> None:
    document = parse("---\ntitle: R &D\npromotion_level: critical\n---\nText\n", "a.md")

    assert document.metadata == {"title": "R &D", "promotion_level": "critical"}
    assert document.warnings == ()


def test_a_quoted_name_beside_a_bad_field_is_read() -> None:
    document = parse('---\ntitle: [open\n"promotion_level": critical\n---\nText\n', "a.md")

    assert document.metadata == {"promotion_level": "critical"}
    assert len(document.warnings) == 1


def test_a_document_survives_its_way_through_json() -> None:
    document = parse("| part | code |\n|---|---|\n| seal | 1 |\n\n# Pump\n", "a.md")

    assert document_of(document.fields()) == document


def test_a_date_that_does_not_exist_costs_its_own_field_alone() -> None:
    document = parse("---\ndate: 2025-13-45\npromotion_level: critical\ntags: [a, b]\n---\nText.", "a.md")

    assert document.metadata == {"date": "2025-13-45", "promotion_level": "critical", "tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("body", "above"),
    [
        ("Keys of the gates,,\nGate,Place,Keys\nNorth,hall,2\n", "Keys of the gates\n\n"),
        ("Keys of the gates\n\nGate;Place;Keys\nNorth;hall;2\n", "Keys of the gates\n\n"),
        ("sep=;\nKeys;;\n;;\nGate;Place;Keys\nNorth;hall;2\n", "Keys\n\n"),
        ("Date,2026-05-01\nBy,Ann\n\nGate,Place,Keys\nNorth,hall,2\n", "Date 2026-05-01\n\nBy Ann\n\n"),
        ("\n\nGate\tPlace\tKeys\nNorth\thall\t2\n", ""),
    ],
)
def test_what_stands_above_the_header_of_a_csv_file_is_text(body: str, above: str) -> None:
    document = parse(body, "a.csv")

    assert document.text == above + "| Gate | Place | Keys |\n| --- | --- | --- |\n| North | hall | 2 |\n"
    assert document.warnings == ()


@pytest.mark.parametrize("body", ["1,2.5\n3,4\n", "2026-05-01;1,5\n2026-05-02;2,5\n"])
def test_a_csv_file_of_numbers_keeps_its_first_row_as_a_row(body: str) -> None:
    header, rows = of_table(parse(body, "a.csv"))

    assert header == "| column 1 | column 2 |\n| --- | --- |\n"
    assert rows.count("\n") == 2


def test_a_csv_file_in_utf16_with_line_breaks_in_its_cells_is_a_table() -> None:
    document = parse('Gate\tNote\nNorth\t"shut\nsince May"\n'.encode("utf-16"), "a.csv")

    assert of_table(document) == ("| Gate | Note |\n| --- | --- |\n", "| North | shut since May |\n")
