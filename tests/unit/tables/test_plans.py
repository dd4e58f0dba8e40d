"""Plans over typed tables: the result is that of a straightforward evaluation in plain Python."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.tables.plans import Plan, RefusedPlanError, RowFilter, days_between, run_plan
from ragdrop.tables.stored_tables import pack_tables, unpack_tables
from ragdrop.tables.typed import TypedTable, tables_of
from readers.formats import read_here

ITEMS = ("dog", "cat", "rent", "tea, green")
DAYS = st.dates(date(2020, 1, 1), date(2027, 12, 31))
ROWS = st.lists(
    st.tuples(st.sampled_from(ITEMS), st.decimals(-10_000, 10_000, places=2), DAYS, st.booleans()),
    min_size=2,
    max_size=30,
)
ENGLISH, GERMAN = "en", "de"


def table_of(rows: list[tuple[str, Decimal, date, bool]], language: str = ENGLISH) -> TypedTable:
    """The rows as a CSV in the habits of a language, read and typed."""
    lines = ["item;amount;day;paid"]
    for item, amount, day, paid in rows:
        number, written = f"{amount:,.2f}", day.isoformat()
        if language == GERMAN:
            number, written = number.translate(str.maketrans(",.", ".,")), day.strftime("%d.%m.%Y")
        lines.append(f"{item};{number} €;{written};{'yes' if paid else 'no'}")
    body = "\n".join([*lines, ""]).encode()
    [table] = tables_of(read_here("csv", body, "costs.csv"), "costs.csv")
    return table


@given(ROWS, st.sampled_from(ITEMS), st.sampled_from(["sum", "mean", "median", "min", "max", "count"]))
def test_a_fold_of_filtered_rows_is_that_of_plain_python(
    rows: list[tuple[str, Decimal, date, bool]], item: str, operation: str
) -> None:
    table = table_of(rows)
    column = table.columns[0]
    codes = frozenset(code for code, text in enumerate(column.texts) if text == item)
    plan = Plan(operation, (RowFilter(0, "", codes),), 1)  # type: ignore[arg-type]

    values = [amount for name, amount, _, _ in rows if name == item]

    if operation == "count":
        assert run_plan(plan, table).number == len(values)
    elif not values:
        with pytest.raises(RefusedPlanError):
            run_plan(plan, table)
    else:
        expected = {"sum": sum(values), "mean": sum(values) / len(values), "min": min(values), "max": max(values)}
        expected["median"] = median(values)
        assert run_plan(plan, table).number == expected[operation]


@given(ROWS, DAYS, DAYS, st.booleans())
def test_a_period_keeps_the_rows_between_two_days_or_the_others(
    rows: list[tuple[str, Decimal, date, bool]], first: date, last: date, negated: bool
) -> None:
    table = table_of(rows)
    low, high = days_between(first, last)[0], days_between(first, last)[1]

    found = run_plan(Plan("count", (RowFilter(2, "", None, low, high, negated=negated),)), table)

    expected = [at for at, (_, _, day, _) in enumerate(rows) if (first <= day <= last) is not negated]
    assert list(found.rows) == expected
    assert found.number == len(expected)


@given(ROWS)
def test_groups_are_those_of_plain_python(rows: list[tuple[str, Decimal, date, bool]]) -> None:
    found = run_plan(Plan("sum", (), 1, group=0), table_of(rows))

    expected: dict[str, Decimal] = {}
    for item, amount, _, _ in rows:
        expected[item] = expected.get(item, Decimal(0)) + amount
    assert dict(found.groups) == expected


@given(ROWS)
def test_months_are_groups_of_a_column_of_dates(rows: list[tuple[str, Decimal, date, bool]]) -> None:
    found = run_plan(Plan("count", (), group=2, by="month"), table_of(rows))

    expected: dict[str, int] = {}
    for _, _, day, _ in rows:
        expected[day.isoformat()[:7]] = expected.get(day.isoformat()[:7], 0) + 1
    assert dict(found.groups) == expected


@given(ROWS, st.sampled_from(["sum", "mean", "median", "min", "max", "count"]))
def test_days_of_the_week_are_groups_too(rows: list[tuple[str, Decimal, date, bool]], operation: str) -> None:
    found = run_plan(Plan(operation, (), 1, group=2, by="weekday"), table_of(rows))  # type: ignore[arg-type]

    days: dict[str, list[Decimal]] = {}
    for _, amount, day, _ in rows:
        days.setdefault(f"{day:%A}", []).append(amount)
    folds = {"sum": sum, "mean": mean, "median": median, "min": min, "max": max, "count": len}
    assert dict(found.groups) == {name: folds[operation](amounts) for name, amounts in days.items()}  # type: ignore[operator]
    assert sorted(found.rows) == list(range(len(rows)))


@given(ROWS, st.integers(1, 8), st.booleans())
def test_the_first_of_a_list_are_those_of_the_sorted_rows(
    rows: list[tuple[str, Decimal, date, bool]], first: int, ascending: bool
) -> None:
    amounts = sorted((amount for _, amount, _, _ in rows), reverse=not ascending)
    tied = first < len(amounts) and amounts[first - 1] == amounts[first]
    plan = Plan("list", (), 1, order=1, ascending=ascending, first=first)

    if tied and first > 1:
        with pytest.raises(RefusedPlanError):
            run_plan(plan, table_of(rows))
    else:
        found = run_plan(plan, table_of(rows))
        assert [rows[row][1] for row in found.rows] == amounts[: len(found.rows)]
        assert len(found.rows) == (amounts.count(amounts[0]) if tied else min(first, len(rows)))


@given(ROWS)
def test_a_list_is_in_the_order_of_its_column(rows: list[tuple[str, Decimal, date, bool]]) -> None:
    found = run_plan(Plan("list", (), 1, order=1), table_of(rows))

    amounts = [amount for _, amount, _, _ in rows]
    assert [amounts[row] for row in found.rows] == sorted(amounts, reverse=True)


@given(ROWS)
def test_habits_of_a_language_make_no_difference(rows: list[tuple[str, Decimal, date, bool]]) -> None:
    english, german = table_of(rows), table_of(rows, GERMAN)

    assert [english.columns[1].value(row) for row in english.rows] == [amount for _, amount, _, _ in rows]
    assert [german.columns[1].value(row) for row in german.rows] == [amount for _, amount, _, _ in rows]
    assert [german.columns[2].value(row) for row in german.rows] == [day for _, _, day, _ in rows]
    assert english.columns[1].unit == german.columns[1].unit == "EUR"


@given(ROWS)
def test_a_table_is_the_same_after_it_was_stored(rows: list[tuple[str, Decimal, date, bool]]) -> None:
    table = table_of(rows)

    [back] = unpack_tables(pack_tables([table]), table.path)

    for before, after in zip(table.columns, back.columns, strict=True):
        assert [before.value(row) for row in table.rows] == [after.value(row) for row in table.rows]
    assert [table.cell(row, 1) for row in table.rows] == [back.cell(row, 1) for row in table.rows]
    assert list(table.starts) == list(back.starts)


def test_a_difference_is_how_far_two_parts_are_apart() -> None:
    day = date(2026, 8, 1)
    table = table_of([("dog", Decimal(10), day, True), ("cat", Decimal(25), day, True), ("dog", Decimal(5), day, True)])
    dog, cat = (frozenset({table.columns[0].texts.index(name)}) for name in ("dog", "cat"))

    found = run_plan(Plan("sum", (RowFilter(0, "", dog),), 1, minus=(RowFilter(0, "", cat),)), table)

    assert (found.number, found.unit) == (Decimal(10), "EUR")


def test_a_tie_at_the_last_place_of_a_group_is_refused() -> None:
    days = [date(2026, 8, 1) + timedelta(days=at) for at in range(2)]
    table = table_of([("dog", Decimal(10), days[0], True), ("cat", Decimal(10), days[1], True)])

    with pytest.raises(RefusedPlanError) as refused:
        run_plan(Plan("sum", (), 1, group=0, first=1), table)

    assert refused.value.reason == "tie"
