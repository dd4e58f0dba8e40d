"""Tables of PDFs become rows, and running text never becomes a table."""

from __future__ import annotations

import re

import pytest

from ragdrop.models.splitter import SemanticSplitter
from readers.pages.pdf import read_pdf
from readers.parsed import ParsedDocument, Table
from tests import table_files, table_files_final
from tests.document_files import pdf_of
from tests.table_files import Case

CASES = [*table_files.development(), *table_files_final.final(), *table_files_final.afterwards()]


def rows_of(document: ParsedDocument, table: Table) -> list[list[str]]:
    """The cells of a table, its own header first, if any."""
    lines = document.text[table.start : table.end].splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not re.fullmatch(r"[| -]+", line)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_page_gives_its_tables_and_no_others(case: Case) -> None:
    document = read_pdf(case.body)

    found = [(document.page(table.start), rows_of(document, table)) for table in document.tables]

    assert found == [(page, [list(row) for row in rows]) for page, rows in case.tables]
    assert document.warnings == ()


def test_prose_around_a_table_reads_as_it_does_without_one() -> None:
    prose = read_pdf(pdf_of(table_files.prose(60, 780))).text.strip()

    document = read_pdf(table_files.development()[0].body)

    (table,) = document.tables
    assert document.text[: table.start] == document.text[table.end :].strip() + "\n\n" == prose + "\n\n"


def test_a_table_that_continues_has_the_header_of_its_first_page_and_its_own_place() -> None:
    (case,) = (each for each in CASES if each.name == "over two pages")
    document = read_pdf(case.body)

    chunks = SemanticSplitter(lambda: None).split(document, max_tokens=100, overlap_tokens=0)

    (last,) = (chunk for chunk in chunks if "P-1200" in chunk.text)
    assert last.context.startswith("| Pump | Pressure | Order code |")
    assert last.page == 2
    assert document.text[last.start : last.end] == last.text


def test_a_table_on_a_turned_page_is_found() -> None:
    upright = table_files.ruled(table_files.PUMPS, (60, 150, 240, 330), 500)
    turned = f"q 0 1 -1 0 600 0 cm {upright} Q"  # as programs write a wide page: the words lie on their side
    body = pdf_of(turned).replace(b"/MediaBox", b"/Rotate 90/MediaBox")

    document = read_pdf(body)

    assert rows_of(document, document.tables[0]) == [list(row) for row in table_files.PUMPS]


def test_a_bar_in_a_cell_separates_no_cells() -> None:
    rows = (("Part", "Use"), ("A|B", "pressure"))

    document = read_pdf(pdf_of(table_files.ruled(rows, (60, 150, 330), 700)))

    assert "| A\\|B | pressure |" in document.text


def test_an_apparent_table_that_becomes_text_is_named() -> None:
    names = [(f"Item {letter}", f"blue {letter}", f"large {letter}") for letter in "abcdef"]
    page = table_files.cells(names, (60, 160, 260), 700, bold=False)

    document = read_pdf(pdf_of(table_files.prose(60, 780), page))

    assert document.tables == ()
    assert document.warnings == ("tables of 1 pages could not be kept as rows and were flattened to text: 2",)
    assert "Item c blue c large c" in document.text
