"""Questions over tables: what is answered, and what is refused rather than guessed."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.text_tables import tables_in_text
from ragdrop.tables.typed import TypedTable, tables_of
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
        ("Which tour was the longest in July, by distance?", "Lake loop: 82.5 km"),
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


LOANS = """Book;Borrower;Borrowed;Due;Returned;Fine (EUR)
Dune;Mia;2025-03-01;2025-03-22;2025-03-20;0
Emma;Jon;2025-03-04;2025-03-25;;2.50
Ulysses;Mia;2025-03-10;2025-03-31;2025-04-05;1.00
Ivanhoe;Ola;2025-04-02;2025-04-23;;0
Walden;Jon;2025-04-11;2025-05-02;2025-05-01;0
"""
ORDERS = """Order,Customer,Product,Quantity,Unit price (EUR),Total (EUR),Ordered,Shipped,Status
5001,Acme,Desk,3,120.00,360.00,2025-05-02,2025-05-05,shipped
5002,Birch,Lamp,10,25.50,255.00,2025-05-03,,open
5003,Acme,Chair,6,80.00,480.00,2025-05-10,2025-05-12,shipped
5004,Cedar,Desk,1,120.00,120.00,2025-06-01,,cancelled
5005,Birch,Chair,2,80.00,160.00,2025-06-04,2025-06-09,shipped
"""
STAFF = """Name,Department,Start date,Salary (USD),City,Manager,Vacation days
Ada Byron,IT,2018-05-01,72000,Berlin,Grace Hall,28
Bob Marsh,Sales,2020-09-15,51000,Hamburg,Tim Roe,26
Cleo Dunn,IT,2021-02-01,64000,Berlin,Grace Hall,27
Dan Eve,HR,2019-11-10,49500,Munich,Tim Roe,30
"""
FLIGHTS = """Flight,From,To,Departure,Gate,Delay (min),Airline,Status
LH123,Munich,Oslo,2025-06-01 08:15,A4,0,Lufthansa,landed
BA77,London,Munich,2025-06-01 09:40,B2,35,British Airways,landed
SK41,Oslo,Rome,2025-06-01 12:05,A1,120,SAS,delayed
"""
SAMPLES = """Sample;Site;Nitrate (mg/l);pH
L-1001;Quarry;27,1;6,88
L-1002;Canal;46,4;6,87
L-1003;Quarry;12,0;7,10
"""
ODD = {"loans": LOANS, "orders": ORDERS, "staff": STAFF, "flights": FLIGHTS, "samples": SAMPLES}


@pytest.mark.parametrize(
    ("name", "question", "value"),
    [
        ("loans", "Who borrowed Ivanhoe?", "Ola"),
        ("loans", "Which books has Jon borrowed?", "Emma, Walden"),
        ("loans", "How many borrowers are there?", "3"),
        ("loans", "How many loans are still open?", "2"),
        ("loans", "Who has the highest fine?", "Jon: 2.50 EUR"),
        ("loans", "Which book was borrowed first?", "Dune"),
        ("loans", "latest due date", "2025-05-02"),
        ("orders", "How many orders did Acme place?", "2"),
        ("orders", "What is the total of open orders?", "255.00 EUR"),
        ("orders", "How many chairs were sold?", "8"),
        ("orders", "Which orders are not shipped yet?", "5002, 5004"),
        ("orders", "How many products do we sell?", "3"),
        ("orders", "How many orders were shipped in June?", "1"),
        ("staff", "How many people work in IT?", "2"),
        ("staff", "highest salary in IT", "72000 USD"),
        ("staff", "Who works in HR?", "Dan Eve"),
        ("staff", "Who is Cleo Dunn's manager?", "Grace Hall"),
        ("staff", "How many vacation days does Dan Eve have?", "30 day"),
        ("flights", "Which gate is LH123 at?", "A4"),
        ("flights", "total delay in minutes", "155 minute"),
        ("flights", "average number of flights", ""),
        ("samples", "How many samples from the quarry?", "2"),
        ("samples", "lowest pH at the quarry", "6.88"),
        ("samples", "samples with nitrate over 20 mg/l", "L-1001, L-1002"),
    ],
)
def test_people_numbers_of_rows_codes_and_what_is_open(name: str, question: str, value: str) -> None:
    found = answer(question, tables_in_text(ODD[name], f"{name}.csv"), TODAY)

    assert found is not None
    assert found.value == value


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("loans", "How many pages does Dune have?"),
        ("loans", "How many rows does Emma have?"),
        ("loans", "How old is Emma?"),
        ("orders", "How much profit did we make?"),
        ("staff", "Who is the oldest?"),
        ("staff", "What bonus did Ada Byron get?"),
        ("flights", "How many flights were delayed more than 30 minutes?"),
        ("flights", "How many passengers were on LH123?"),
        ("samples", "total value of samples from the quarry"),
    ],
)
def test_what_a_table_does_not_say_is_refused(name: str, question: str) -> None:
    found = answer(question, tables_in_text(ODD[name], f"{name}.csv"), TODAY)

    assert found is None or found.abstained


LENT = """Pupil,Class,Item,Lent on,Returned,Deposit (£)
Esme,7A,Violin,2024-09-07,2024-09-18,95.00
Bilal,8C,Violin,2024-11-07,2024-12-19,95.00
Bilal,8C,Racket,2024-11-11,,15.00
"""
NIGHTS = """Night,Target,Telescope,Eyepiece (mm),Time (min),pH
2024-01-02,Saturn,8-inch Dobsonian,6,30,7.1
2024-01-05,Orion Nebula,80 mm refractor,17,50,7.3
2024-02-05,Orion Nebula,8-inch Dobsonian,17,20,7.5
"""
REPAIRS = """Object,Fixer,Minutes,Scratch (mm),Parts,Price per part (€)
Lamp,Hugo,20,1,3,9.00
Radio,Hugo,30,2,1,4.50
Chair,Ines,40,4,2,2.00
"""
BOXES = """Box,Room,Contents,Weight (kg),Packed by,Label
1,Kitchen,Plates,14.5,Mia,red
2,Kitchen,Pots,11.0,Mia,
3,Study,Books,22.3,Ole,blue
"""
TEAM = """Name,Department,Started,Item,Quantity
Anja,Sales,2019-04-01,phone,1
Ben,IT,2021-09-15,laptop,2
Cem,IT,2018-01-02,laptop,3
"""
SALES = """Product,Mon,Fri,Sat,Returned
Rye loaf,5,7,8,2
Pretzel,9,4,6,1
"""


@pytest.mark.parametrize(
    ("text", "question", "value"),
    [
        (LENT, "How many things were borrowed in November 2024?", "2"),  # another word for lent
        (LENT, "When did Esme bring the violin back?", "2024-09-18"),
        (LENT, "How many violins did class 8C take?", "1"),  # a verb that says nothing
        (NIGHTS, "How often did I use the 17 mm eyepiece?", "2"),  # a number with its unit
        (NIGHTS, "How many nights did I observe the Orion Nebula?", "2"),  # the verb of the whole table
        (NIGHTS, "average minutes with the 8-inch Dobsonian", "25 minute"),
        (NIGHTS, "mean pH of the Orion Nebula", "7.4"),  # a short header
        (TEAM, "average quantity in IT", "2.5"),  # a value that small letters would make say nothing
        (TEAM, "Who started first?", "Cem"),
        (TEAM, "How many laptops do we have?", "5"),
        (SALES, "How many pretzels did we sell on Friday?", "4"),  # weekdays in long
        (SALES, "How many rye loaves came back?", "2"),
        (SALES, "what sold best on saturday?", "Rye loaf: 8"),
        (SALES, "total pieces sold on Monday", "14"),
        (SALES, "difference between monday and saturday for rye loaves", "3"),
        (BOXES, "How many boxes did Mia pack?", "2"),  # the first column numbers the rows
        (BOXES, "Which box is the heaviest?", "3: 22.3 kg"),
        (BOXES, "Which boxes have no label?", "2"),
        (BOXES, "What is in box 3?", "Books"),
        (LENT, "What has Bilal still got?", "Racket"),  # the one column of dates with a gap
        (LENT, "What did Bilal borrow?", "Violin, Racket"),
        (LENT, "How many things were returned?", "2"),  # the cells of the column that have a date
        (REPAIRS, "Who fixed things for the most minutes in total?", "Hugo: 50 minute"),  # whoever fixes is a fixer
        (REPAIRS, "How deep was the deepest scratch in mm?", "4 mm"),
        (REPAIRS, "Most expensive object per part?", "Lamp: 9.00 EUR"),
    ],
)
def test_other_words_for_headers_and_values_are_understood(text: str, question: str, value: str) -> None:
    found = answer(question, tables_in_text(text, "log.csv"), TODAY)

    assert found is not None
    assert (found.reason, found.value) == (None, value)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (LENT, "How many violins did class 8C break?"),  # the headers say which verbs the table is about
        (SALES, "How many pretzels did we bake on Friday?"),
        (LENT, "What did Bilal break?"),
        (BOXES, "Who brought the pots?"),
        (BOXES, "Which boxes have no weight?"),
        (BOXES, "What is still packed?"),
        (LENT, "How many violins did Bilal play?"),
        (REPAIRS, "Who donated the most parts?"),  # who: a column of people
        (REPAIRS, "How much lamp did we use?"),  # a price is no quantity
        (REPAIRS, "Who broke things for the most minutes in total?"),
        (NIGHTS, "How many games did Saturn win?"),  # what is counted is not there
        (NIGHTS, "How often did I use the 9 mm eyepiece of Ben?"),
    ],
)
def test_a_verb_of_another_column_is_refused(text: str, question: str) -> None:
    found = answer(question, tables_in_text(text, "log.csv"), TODAY)

    assert found is not None
    assert found.abstained
