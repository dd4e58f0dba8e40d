"""Tables of documents as typed columns: kinds, units, headers, totals, and what cannot be read."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal

import openpyxl
import pytest

from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.typed import TypedTable, tables_of
from readers.formats import read_here
from readers.read_errors import UnsafeFileError

TODAY = date(2026, 11, 26)


def csv(text: str) -> TypedTable:
    [table] = tables_of(read_here("csv", text.encode(), "a.csv"), "a.csv")
    return table


def markdown(text: str) -> list[TypedTable]:
    return list(tables_of(read_here("markdown", text.encode(), "a.md"), "a.md"))


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (["1.234,50", "7,5"], Decimal("1234.50")),
        (["1,234.50", "7.5"], Decimal("1234.50")),
        (["1'234.50", "7.5"], Decimal("1234.50")),
        (["1 234,50", "7,5"], Decimal("1234.50")),
        (["(1,234.50)", "7.5"], Decimal("-1234.50")),
        (["-1.234,50 €", "7,50 €"], Decimal("-1234.50")),
        (["CHF 1'234.50", "CHF 7.50"], Decimal("1234.50")),
    ],
)
def test_numbers_are_read_by_the_habits_of_their_column(cells: list[str], value: Decimal) -> None:
    table = csv("item;number\n" + "".join(f"x{at};{cell}\n" for at, cell in enumerate(cells)))

    assert table.columns[1].value(0) == value


@pytest.mark.parametrize("cells", [("L-1001", "L-1002"), ("M13", "M31")])
def test_a_letter_before_digits_names_something(cells: tuple[str, ...]) -> None:
    table = csv("sample,n\n" + "".join(f"{cell},1\n" for cell in cells))

    assert table.columns[0].kind == "text"


@pytest.mark.parametrize(
    ("header", "unit"), [("Cargo (t)", "tonne"), ("Lead (µg/l)", "µg/l"), ("Fläche (m²)", "m²"), ("Week", "")]
)
def test_a_header_states_its_unit(header: str, unit: str) -> None:
    assert csv(f"name;{header}\na;1\nb;2\n").columns[1].unit == unit


def test_a_column_whose_decimals_nothing_shows_follows_its_neighbours() -> None:
    table = csv("meter;price\n28.692;0,30\n29.113;0,28\n")

    assert table.columns[0].value(0) == Decimal(28_692)


def test_a_totals_row_is_recognised_and_never_counted() -> None:
    table = csv("item,EUR\nDog,10\nCat,5\nTotal,15\n")

    found = answer("What is the total amount in EUR?", [table], TODAY)

    assert table.totals == {2}
    assert found is not None
    assert (found.number, found.rows_total) == (Decimal(15), 2)


def test_a_row_that_only_begins_like_a_total_is_one_if_it_adds_up() -> None:
    assert csv("game,EUR\nTotal War,10\nCat,5\nDog,7\n").totals == frozenset()
    assert csv("item,EUR\nDog,10\nCat,5\nTotal of pets,15\n").totals == {2}


def test_a_sum_without_a_name_in_the_last_row_is_a_total() -> None:
    assert csv("item,EUR\nDog,10\nCat,5\n,15\n").totals == {2}


def test_headers_of_two_rows_are_one_name_each() -> None:
    [table] = markdown("|  | 2025 | 2025 |\n|---|---|---|\n| Item | Plan | Spent |\n| Dog | 5 | 7 |\n| Cat | 4 | 3 |\n")

    assert [column.name for column in table.columns] == ["Item", "2025 Plan", "2025 Spent"]
    assert table.cell(0, 1) == "table 1!B3"


def test_a_cell_of_an_error_refuses_the_sums_that_need_it_and_no_others() -> None:
    rows = "".join(f"Cat{at},1\n" for at in range(12))
    table = csv(f"item,EUR\n{rows}Dog,#REF!\n")

    assert table.columns[1].unread == {12}
    refused = answer("What is the total in EUR?", [table], TODAY)
    given = answer("How much did Cat3 cost?", [table], TODAY)
    assert (refused and refused.reason, given and given.number) == ("unread", Decimal(1))


def test_mixed_types_make_a_text_column() -> None:
    assert csv("item,note\na,12\nb,twelve\nc,2026-01-01\n").columns[1].kind == "text"


def test_amounts_of_two_currencies_are_never_added() -> None:
    table = csv("item,cost\nDog,10 €\nCat,$5\nDog,7 €\n")

    both = answer("What is the total cost?", [table], TODAY)
    one = answer("How much did the dog cost?", [table], TODAY)

    assert (both and both.reason, one and one.value) == ("unit", "17 EUR")


def test_dates_before_1900_are_dates() -> None:
    table = csv("event,day\nFounded,3.5.1784\nSold,24.12.1899\nOpened,1.2.2020\n")

    found = answer("Which event was before 1900?", [table], TODAY)

    assert table.columns[1].value(0) == date(1784, 5, 3)
    assert found is not None
    assert found.rows == ("Founded", "Sold")


def test_days_and_months_that_may_be_swapped_make_a_text_column() -> None:
    assert csv("day,n\n3/4/2026,1\n5/6/2026,2\n").columns[0].kind == "text"


def test_text_that_looks_like_a_formula_is_text() -> None:
    table = csv("item,cost\n\"=cmd|' /C calc'!A0\",5\nDog,7\n")

    found = answer("What is the total cost?", [table], TODAY)

    assert table.columns[0].value(0) == "=cmd|' /C calc'!A0"
    assert found is not None
    assert found.number == Decimal(12)


def test_a_bomb_of_merged_cells_is_refused() -> None:
    page = "<table>" + "<tr><td rowspan=60000 colspan=500>x</td></tr>" * 2_100 + "</table>"

    with pytest.raises(UnsafeFileError):
        read_here("html", page.encode(), "a.html")


def test_durations_are_seconds_whatever_they_are_written_as() -> None:
    table = csv("ride,moving time,swim (mm:ss)\na,1:30,31:15\nb,2 h 5 min,4:05\n")

    assert [table.columns[1].value(row) for row in (0, 1)] == [Decimal(5_400), Decimal(7_500)]
    assert table.columns[2].value(0) == Decimal(1_875)


def test_cells_of_a_csv_are_named_as_a_sheet_names_them() -> None:
    table = csv("My costs\n\nitem,EUR\nDog,10\n\nCat,5\n")

    assert [table.cell(row, 1) for row in table.rows] == ["B4", "B6"]


def workbook(rows: list[list[object]], *, hidden_sheet: bool = False, hidden_row: int = 0) -> list[TypedTable]:
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Costs")
    for row in rows:
        sheet.append(row)
    if hidden_row:
        sheet.row_dimensions[hidden_row].hidden = True
    sheet.sheet_state = "hidden" if hidden_sheet else "visible"
    file = io.BytesIO()
    book.save(file)
    return list(tables_of(read_here("spreadsheet", file.getvalue(), "a.xlsx"), "a.xlsx"))


def test_a_formula_without_a_stored_result_refuses_the_sums_that_need_it() -> None:
    [table] = workbook([["item", "cost EUR"], *([f"a{at}", at] for at in range(12)), ["both", "=B2+B3"]])

    found = answer("What is the total cost?", [table], TODAY)

    assert table.columns[1].unread == {12}
    assert found is not None
    assert found.reason == "unread"


def test_a_hidden_sheet_is_a_table_that_says_so() -> None:
    [table] = workbook([["item", "cost"], ["Dog", 5], ["Cat", 7]], hidden_sheet=True)

    assert (table.name, table.sheet) == ("Costs (hidden sheet)", "Costs")


def test_a_hidden_row_counts_as_any_other() -> None:
    [table] = workbook([["item", "cost"], ["Dog", 5], ["Cat", 7]], hidden_row=2)

    found = answer("What is the total cost?", [table], TODAY)

    assert found is not None
    assert found.number == Decimal(12)
