"""Questions over tables: what is answered, and what is refused rather than guessed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from ragdrop.tables import TypedTable, answer, tables_of
from ragdrop.tables.text_tables import tables_in_text
from readers.formats import read_here

TODAY = date(2026, 11, 26)
RIDES = """date,tour,distance (km),moving time,rider
2026-07-03,Lake loop,82.5,4:10,Anna
2026-07-18,Hill ride,45,2:30,Ben
2026-08-02,River path,101,5:05,Anna
2026-08-20,City round,12.3,0:40,Cara
2026-09-01,Moor tour,80,3:55,Ben
"""
COSTS = """date;item;category;amount
03.08.2026;Dog food;Dog;1.034,50 €
05.08.2026;Vet;Dog;80,00 €
07.08.2026;Rent;Flat;900,00 €
02.09.2026;Dog food;Dog;30,25 €
"""


@pytest.fixture(scope="module")
def tables() -> list[TypedTable]:
    named = (("rides.csv", RIDES), ("costs.csv", COSTS))
    return [table for name, text in named for table in tables_of(read_here("csv", text.encode(), name), name)]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How much did the dog cost in August?", "1114.50 EUR"),
        ("How many tours were longer than 80 km?", "2"),
        ("How many tours took longer than 3 hours?", "3"),
        ("How many km did Ben ride?", "125 km"),
        ("What was the average distance?", "64.16 km"),
        ("Which tour was the longest in July, by distance?", "Lake loop"),
        ("Which tours were not ridden by Anna?", "Hill ride, City round, Moor tour"),
        ("Top 2 tours by distance", "River path, Lake loop"),
        ("When was the Hill ride?", "2026-07-18"),
        ("How much more did the dog cost than the flat in August?", "214.50 EUR"),
        ("Which category cost the most?", "Dog: 1144.75 EUR"),
        ("How many different riders are there?", "3"),
        ("Wie viele Touren waren länger als 80 km?", "2"),
    ],
)
def test_a_question_is_answered_by_its_plan(tables: list[TypedTable], question: str, value: str) -> None:
    found = answer(question, tables, TODAY)

    assert found is not None
    assert found.value == value


@pytest.mark.parametrize(
    "question",
    [
        "How much did the cat cost in August?",  # a value that is not there
        "How much did the dog cost in August 2025?",  # another year
        "How many tours were longer than 80 miles?",  # another unit
        "What was the heart rate of the Hill ride?",  # another column
        "How much did the dog cost in dollars?",
        "How long was the River path?",  # kilometres or hours
    ],
)
def test_a_look_alike_is_refused(tables: list[TypedTable], question: str) -> None:
    found = answer(question, tables, TODAY)

    assert found is not None
    assert (found.abstained, found.value) == (True, "")


def test_a_question_that_no_table_answers_is_none(tables: list[TypedTable]) -> None:
    assert answer("Why is the sky blue?", tables, TODAY) is None


def test_the_tables_that_come_nearest_are_named_with_a_refusal(tables: list[TypedTable]) -> None:
    found = answer("How many tours were longer than 80 miles?", tables, TODAY)

    assert found is not None
    assert (found.reason, found.closest[0]) == ("unit", "rides.csv")


def test_two_tables_that_answer_differently_are_a_tie() -> None:
    both = [
        tables_of(read_here("csv", f"item,EUR\nDog,{cost}\nCat,1\n".encode(), name), name)[0]
        for name, cost in (("a.csv", 5), ("b.csv", 6))
    ]

    found = answer("How much did the dog cost?", both, TODAY)

    assert found is not None
    assert (found.reason, set(found.closest)) == ("tie", {"a.csv", "b.csv"})


def test_an_answer_names_the_cells_that_it_was_computed_from(tables: list[TypedTable]) -> None:
    found = answer("How much did the dog cost in August?", tables, TODAY)

    assert found is not None
    assert (found.cells, found.range, found.rows_used, found.rows_total) == (("D2", "D3"), "A2:D5", 2, 4)
    assert found.number == Decimal("1114.50")


TOURS = (
    "day,tour,bike,km,time,Year\n2024-05-06,Rome,Road,120,5:30,2023\n2024-05-11,Bonn,Road,85.5,3:00,2024\n"
    "2024-06-02,Ulm,City,40,2:00,2024\n2024-06-03,Trier,City,42,2:10,2024\n2024-06-10,Metz,Road,60,2:40,2024\n"
)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the median km?", "60 km"),
        ("Median der km mit dem Road bike", "85.5 km"),
        ("median km of City tours", "41 km"),
        ("median km per bike", "Road: 85.5 km, City: 41 km"),
        ("How many tours were on Mondays?", "3"),
        ("How many tours were not on a Monday?", "2"),
        ("Wie viele Touren am Montag?", "3"),
        ("How much did we ride on weekends?", "125.5 km"),
        ("Wie viele km am Wochenende?", "125.5 km"),
        ("km on Saturdays and Sundays", "125.5 km"),
        ("How many tours on weekdays in June?", "2"),
        ("How many tours per weekday?", "Monday: 3, Saturday: 1, Sunday: 1"),
        ("On which weekday did we ride the most?", "Monday: 222 km"),
        ("How many tours per month?", "2024-05: 2, 2024-06: 3"),
        ("total km each month", "2024-05: 205.5 km, 2024-06: 142 km"),
        ("In which month did we ride the most?", "2024-05: 205.5 km"),
        ("How many km per bike?", "Road: 265.5 km, City: 82 km"),
        ("How many tours per year?", "2023: 1, 2024: 4"),
        ("What was the median time?", ""),
        ("How many tours per week?", ""),
        ("average km per month", ""),
        ("How many tours last Monday?", ""),
    ],
)
def test_medians_days_of_the_week_and_groups(question: str, value: str) -> None:
    found = answer(question, tables_in_text(TOURS, "tours.csv"), TODAY)

    assert found is not None
    assert found.value == value
