"""Workbooks: sheets as tables, values as they are shown, and cells as places."""

from __future__ import annotations

import datetime
import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import openpyxl
import pytest
import xlwt

from ragdrop.domain.chunks import text_windows
from ragdrop.models.splitter import SemanticSplitter
from readers.formats import read_here
from readers.parsed import ParsedDocument, document_of, part_of
from readers.read_errors import CorruptFileError, EmptyFileError, EncryptedFileError, UnsafeFileError
from tests import office_files
from tests.reading import parse as read

ROWS: Any = [["part", "price"], ["seal", 3.5], ["rotor", 12]]


def parse(body: bytes, name: str = "a.xlsx") -> ParsedDocument:
    return read(body, name)


def place_of(document: ParsedDocument, words: str) -> str:
    """The place of *words* in a citation of the chunk that is all of the document."""
    chunks = SemanticSplitter(lambda: None).split(document, max_tokens=200, overlap_tokens=0)
    (chunk,) = [chunk for chunk in chunks if words in chunk.text]
    start = document.text.index(words)
    return chunk.place_at(start, start + len(words)) or ""


def sheet(merged: Sequence[str]) -> bytes:
    """A workbook of Excel with these merged cells."""
    book = openpyxl.Workbook()
    for row in (
        ["Flows", None, None],
        ["hall", "pump", "flow"],
        ["North", "P1", 4],
        [None, "P2", 7],
        ["South", "none"],
    ):
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def old_sheet() -> bytes:
    """The same table in a workbook of Excel 97."""
    book = xlwt.Workbook()
    page = book.add_sheet("Sheet")
    page.write_merge(0, 0, 0, 2, "Flows")
    for column, name in enumerate(("hall", "pump", "flow")):
        page.write(1, column, name)
    page.write_merge(2, 3, 0, 0, "North")
    page.write_merge(4, 4, 1, 2, "none")
    for row, column, value in ((2, 1, "P1"), (2, 2, 4), (3, 1, "P2"), (3, 2, 7), (4, 0, "South")):
        page.write(row, column, value)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (office_files.xlsx({"Parts": ROWS}), "a.xlsx"),
        (office_files.xls({"Parts": ROWS}), "a.xls"),
        (office_files.ods({"Parts": ROWS}), "a.ods"),
        (office_files.xlsx({"Parts": ROWS}), "no suffix"),
    ],
)
def test_a_sheet_is_a_table_under_its_name(body: bytes, name: str) -> None:
    document = parse(body, name)

    assert document.text == "## Parts\n\n| part | price |\n| --- | --- |\n| seal | 3.5 |\n| rotor | 12 |\n"
    assert document.heading_path(40) == ("Parts",)
    assert place_of(document, "12") == "Parts!A3:B3"
    assert place_of(document, "part | price") == "Parts!A1:B1"


def test_values_are_shown_as_a_sheet_shows_them() -> None:
    row = [
        0.19,
        datetime.date(2026, 3, 1),
        datetime.datetime.fromisoformat("2026-03-01 09:30"),
        True,
        1e6,
        0.1 + 0.2,
        "a\nb|c",
    ]
    document = parse(office_files.xlsx({"S": [list("abcdefg"), row]}, formats={"A2": "0.0%"}))

    assert document.text.endswith("| 19% | 2026-03-01 | 2026-03-01 09:30 | TRUE | 1000000 | 0.3 | a b\\|c |\n")


def test_titles_above_a_table_stand_before_it_and_its_header_is_the_first_row_of_more_cells() -> None:
    rows: list[Any] = [["Budget 2026"], [], *ROWS, [], ["seal 2", 4]]
    document = parse(office_files.xlsx({"Q1 2026": rows}))

    assert "Budget 2026\n\n| part | price |" in document.text
    assert document.text.endswith("| rotor | 12 |\n| seal 2 | 4 |\n")
    assert place_of(document, "seal 2") == "'Q1 2026'!A7:B7"


def test_a_second_header_behind_an_empty_row_begins_a_second_table() -> None:
    document = parse(office_files.xlsx({"S": [*ROWS, [], ["name", "town"], ["Ann", "Graz"]]}))

    assert len(document.tables) == 2
    assert place_of(document, "Graz") == "S!A6:B6"


def test_a_table_that_does_not_start_at_the_corner_keeps_the_names_of_its_cells() -> None:
    document = parse(office_files.xlsx({"S": [[], [], [None, None, "part", "price"], [None, None, "seal", 1]]}))

    assert place_of(document, "seal") == "S!C4:D4"


def test_a_hidden_sheet_is_read_and_named() -> None:
    document = parse(office_files.xlsx({"S": ROWS, "Secret": [["a", "b"], ["x", 1]]}, hidden=["Secret"]))

    assert "## Secret (hidden sheet)" in document.text
    assert document.warnings == ("1 hidden sheets are read: Secret",)


def test_a_long_table_is_split_by_rows_with_its_header_repeated_and_its_cells_named() -> None:
    rows: list[Any] = [["part", "price"], *([f"part {number}", number] for number in range(1_000))]
    document = parse(office_files.xlsx({"S": rows}))

    chunks = SemanticSplitter(lambda: None).split(document, max_tokens=120, overlap_tokens=10)

    assert len(chunks) > 20
    assert {chunk.context for chunk in chunks[2:]} == {"| part | price |\n| --- | --- |"}
    assert chunks[0].place == "S"
    assert str(chunks[1].place).startswith("S!A1:B")
    for before, after in pairwise(chunks[1:]):
        assert str(before.place).rpartition("B")[2] == str(
            int(str(after.place).partition("!A")[2].partition(":")[0]) - 1
        )
    assert str(chunks[-1].place).endswith(":B1001")
    one = next(chunk for chunk in chunks if "part 777 " in chunk.text)
    at = document.text.index("| part 777 ")
    assert one.place_at(at, at + 12) == "S!A779:B779"


def test_parts_of_a_long_workbook_name_the_same_cells() -> None:
    rows: list[Any] = [["part", "price"], *([f"part {number}", number] for number in range(1_000))]
    whole = parse(office_files.xlsx({"S": rows}))
    names = {}

    for start, end in text_windows(whole.text, 0, len(whole.text), 4_000, []):
        part = part_of(whole, start, end, lambda begin, stop: whole.text[begin:stop])
        for chunk in SemanticSplitter(lambda: None).split(part, max_tokens=120, overlap_tokens=0):
            for line in chunk.text.split("\n"):
                if line.startswith("| part ") and "price" not in line:
                    at = chunk.start + chunk.text.index(line)
                    names[line] = chunk.place_at(at, at + len(line))

    assert names == {f"| part {number} | {number} |": f"S!A{number + 2}:B{number + 2}" for number in range(1_000)}


def test_places_survive_their_way_through_json() -> None:
    document = parse(office_files.xlsx({"S": ROWS}))

    assert document_of(document.fields()) == document


def test_a_workbook_without_cells_is_empty() -> None:
    with pytest.raises(EmptyFileError):
        parse(office_files.xlsx({"S": []}))


def test_a_truncated_workbook_says_what_to_do() -> None:
    body = office_files.xlsx({"S": ROWS})

    with pytest.raises(CorruptFileError, match="save it again"):
        parse(body[: len(body) // 2])


def test_a_workbook_with_a_password_is_encrypted() -> None:
    book = office_files.xls({"S": ROWS})
    start = book.index(b"\x09\x08\x10\x00")
    locked = book[: start + 20] + b"\x2f\x00\x04\x00\0\0\0\0" + book[start + 28 :]

    with pytest.raises(EncryptedFileError):
        parse(locked, "a.xls")


def test_a_bomb_in_a_sheet_is_refused() -> None:
    body = office_files.xlsx({"S": ROWS})
    bomb = office_files.repacked(body, {"xl/worksheets/sheet1.xml": b"<a>" + b" " * 70_000_000 + b"</a>"})
    entities = office_files.repacked(body, {"xl/sharedStrings.xml": b'<!DOCTYPE a [<!ENTITY b "x">]><sst>&b;</sst>'})

    for hostile in (bomb, entities):
        with pytest.raises(UnsafeFileError):
            parse(hostile)


def test_a_damaged_sheet_costs_itself_alone() -> None:
    body = office_files.xlsx({"S": ROWS, "T": ROWS})
    document = parse(office_files.repacked(body, {"xl/worksheets/sheet1.xml": b"<worksheet><sheetData><row"}))

    assert "## T" in document.text
    assert any("S" in warning and "cannot be read" in warning for warning in document.warnings)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("xlsx", sheet(["A1:C1", "A3:A4", "B5:C5"])),
        ("xls", old_sheet()),
        ("ods", office_files.odf("spreadsheet", f'<table:table table:name="S">{office_files.OPEN_ROWS}</table:table>')),
    ],
)
def test_merged_cells_of_a_sheet_are_filled_and_a_merged_title_stands_once(kind: str, body: bytes) -> None:
    rows: list[Any] = ["| hall | pump | flow |", "| --- | --- | --- |"]
    rows += ["| North | P1 | 4 |", "| North | P2 | 7 |", "| South | none | none |"]

    assert read_here("spreadsheet", body, f"a.{kind}").text.splitlines()[1:] == ["", "Flows", "", *rows]


def test_numbers_are_shown_with_the_zeros_of_their_format() -> None:
    rows: list[list[object]] = [["place", "code"], ["hall", 1234], ["gate", 123456]]
    document = parse(office_files.xlsx({"S": rows}, formats={"B2": "00000", "B3": r"000\-0000"}))

    assert "| hall | 01234 |" in document.text
    assert "| gate | 012-3456 |" in document.text


@pytest.mark.parametrize(
    ("value", "shown"),
    [('"percentage" office:value="0.475"', "47.5%"), ('"time" office:time-value="PT36H05M00S"', "36:05:00")],
)
def test_shares_and_times_of_an_open_document_are_read_as_shown(value: str, shown: str) -> None:
    name = '<table:table-cell office:value-type="string"><text:p>share</text:p></table:table-cell>'
    cells = f"{name}<table:table-cell office:value-type={value}/>"
    inner = f'<table:table table:name="S"><table:table-row>{cells}</table:table-row></table:table>'

    assert f"| share | {shown} |" in parse(office_files.odf("spreadsheet", inner), "a.ods").text


def test_text_boxes_of_a_sheet_are_named_in_a_warning() -> None:
    drawing = (
        b'<xdr:wsDr xmlns:xdr="x" xmlns:a="y"><xdr:sp><a:p><a:r><a:t>It leaks.</a:t></a:r></a:p></xdr:sp></xdr:wsDr>'
    )
    body = office_files.repacked(office_files.xlsx({"S": ROWS}), {"xl/drawings/drawing1.xml": drawing})

    assert parse(body).warnings == ("text boxes of the workbook are left out (1)",)
