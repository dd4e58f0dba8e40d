"""Superscripts, subscripts, struck text and merged cells keep their meaning in plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence

import openpyxl
import pptx
import pytest
import xlwt

from readers.errors import UnsafeFileError
from readers.formats import read_here
from readers.markdown_writer import MAX_COLUMNS, grid, lowered, raised
from tests import office_files


@pytest.mark.parametrize(
    ("before", "text", "read"),
    [
        ("10", "-6", "10⁻⁶"),
        ("Ca", "2+", "Ca²⁺"),
        ("10", "6.5", "10^6.5"),
        ("word", "1,2", "word^1,2"),
        ("f", "(n)", "f^(n)"),
        ("x", "∞", "x^∞"),
        ("5", "[1]", "5 [1]"),
        ("5", "†", "5†"),
        ("€ 5", ".90", "€ 5.90"),
        ("12", "b", "12^b"),
        ("XIX", "e", "XIXe"),
        ("n", "o", "nº"),
        ("n", "th", "nth"),
        ("see", "citation needed", "see citation needed"),
    ],
)
def test_a_superscript_is_not_read_as_a_part_of_what_it_stands_behind(before: str, text: str, read: str) -> None:
    assert before + raised(text, before) == read


def test_small_print_that_is_a_subscript_from_its_first_word_on_has_no_sign() -> None:
    assert lowered("measured", "") == "measured"


def test_cells_that_reach_over_several_rows_and_columns_at_once_are_filled() -> None:
    rows = grid([[("a", 1, 1), ("b", 2, 2)], [("c", 1, 1)], [("d", 1, 1), ("e", 1, 1), ("f", 1, 1)]])

    assert rows == [["a", "b", "b"], ["c", "b", "b"], ["d", "e", "f"]]


def test_a_cell_of_no_rows_reaches_to_the_last() -> None:
    assert grid([[("a", 0, 1), ("b", 1, 1)], [("c", 1, 1)], [("d", 1, 1)]]) == [["a", "b"], ["a", "c"], ["a", "d"]]


def test_spans_beyond_the_ends_of_a_table_make_no_cells() -> None:
    rows = grid([[("a", 65_534, 10_000)], [("b", 1, 1)]])

    assert [len(row) for row in rows] == [MAX_COLUMNS, MAX_COLUMNS]


def test_a_table_of_spans_alone_is_refused() -> None:
    with pytest.raises(UnsafeFileError, match="1000000"):
        grid([[("a", 0, MAX_COLUMNS)], *([[]] * 3_000)])


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


def odf(kind: str, inner: str, styles: str = "") -> bytes:
    """The parts of an OpenDocument file with this content."""
    names = "office style table text"
    declared = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names.split())
    content = (
        f"<office:document-content {declared}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{inner}</office:{kind}></office:body></office:document-content>"
    )
    plain = office_files.ods({"S": [["x"]]}) if kind == "spreadsheet" else office_files.odt({"x": []})
    return office_files.repacked(plain, {"content.xml": content.encode()})


def cell(text: str, spans: str = "") -> str:
    """A cell of an OpenDocument table."""
    return f'<table:table-cell office:value-type="string" {spans}><text:p>{text}</text:p></table:table-cell>'


def row(*cells: str) -> str:
    """A row of an OpenDocument table."""
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


COVERED = "<table:covered-table-cell/>"
OPEN_ROWS = (
    row(cell("Flows", 'table:number-columns-spanned="3"'), COVERED, COVERED)
    + row(cell("hall"), cell("pump"), cell("flow"))
    + row(cell("North", 'table:number-rows-spanned="2"'), cell("P1"), cell("4"))
    + row(COVERED, cell("P2"), cell("7"))
    + row(cell("South"), cell("none", 'table:number-columns-spanned="2"'), COVERED)
)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("xlsx", sheet(["A1:C1", "A3:A4", "B5:C5"])),
        ("xls", old_sheet()),
        ("ods", odf("spreadsheet", f'<table:table table:name="S">{OPEN_ROWS}</table:table>')),
    ],
)
def test_merged_cells_of_a_sheet_are_filled_and_a_merged_title_stands_once(kind: str, body: bytes) -> None:
    rows = ["| hall | pump | flow |", "| --- | --- | --- |"]
    rows += ["| North | P1 | 4 |", "| North | P2 | 7 |", "| South | none | none |"]

    assert read_here("spreadsheet", body, f"a.{kind}").text.splitlines()[1:] == ["", "Flows", "", *rows]


def test_merged_cells_of_a_slides_table_are_filled_and_raised_and_struck_runs_marked() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    table = slide.shapes.add_table(3, 2, 0, 0, 100, 100).table
    for at, text in enumerate(("hall", "flow", "North", "10", "", "7")):
        table.cell(at // 2, at % 2).text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    paragraph = table.cell(1, 1).text_frame.paragraphs[0]
    for text, name, value in (("6", "baseline", "30000"), (" 9", "strike", "sngStrike")):
        run = paragraph.add_run()
        run.text = text
        run.font._element.set(name, value)
    written = io.BytesIO()
    deck.save(written)

    rows = read_here("presentation", written.getvalue(), "a.pptx").text.splitlines()[-2:]
    assert rows == ["| North | 10⁶ ~~9~~ |", "| North | 7 |"]


def test_an_open_document_marks_raised_and_struck_text_and_fills_merged_cells() -> None:
    looks = {"up": 'style:text-position="super 58%"', "gone": 'style:text-line-through-style="solid"'}
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties {look}/></style:style>'
        for name, look in looks.items()
    )
    spans = [f'<text:span text:style-name="{name}">{text}</text:span>' for name, text in (("up", "6"), ("gone", "70"))]
    paragraph = f"<text:p>It holds 10{spans[0]} l. The fee is {spans[1]} 60.</text:p>"

    body = odf("text", f"{paragraph}<table:table>{OPEN_ROWS}</table:table>", styles)
    lines = read_here("opendocument", body, "a.odt").text.splitlines()
    assert lines[0] == "It holds 10⁶ l. The fee is ~~70~~ 60."
    assert lines[-3:] == ["| North | P1 | 4 |", "| North | P2 | 7 |", "| South | none | none |"]
