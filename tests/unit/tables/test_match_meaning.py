"""Words that a table does not have find their place by meaning, by their parts, or by what they stand before."""

from __future__ import annotations

from datetime import date

import pytest

from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.text_tables import tables_in_text

TODAY = date(2026, 11, 26)
CARGO = """consignment,carrier,sent on,pallets,weight (kg),fee (EUR),status
C-1,Nordline,2026-03-02,4,800,120.00,delivered
C-2,Südfracht,2026-03-09,2,300,60.00,damaged
C-3,Nordline,2026-04-01,9,2100,310.50,damaged
C-4,Nordline,2026-04-20,1,90,44.00,delivered
"""
METER = """Mieter;Art;Verbrauch (kWh);Kosten (€)
Novak;Strom;1561;520,10
Novak;Gas;9100;900,00
Roth;Strom;1204;401,00
"""
ACCOUNT = """day,category,amount (EUR),balance (EUR)
2026-01-02,food,-20.00,180.00
2026-01-05,rent,-100.00,80.00
2026-01-09,wages,900.00,980.00
2026-02-01,food,-30.00,950.00
2026-02-03,rent,-110.00,840.00
"""
BEDS = """ward,wing,beds,occupied,closed
Ward 1,North,30,20,2
Ward 2,North,10,9,0
Ward 3,South,20,10,5
All wards,,60,39,7
"""
CLASSES = """date,member,class,trainer,calories,paid
2026-01-03,Laura,Yoga,Nina,210,yes
2026-01-04,Tom,Spinning,Karl,520,no
2026-02-10,Laura,Spinning,Karl,480,yes
2026-02-12,Max Orr,Yoga,Nina,190,no
"""
PLANTS = """plant,pot (cm),price (£),in stock,sold,grower
Lavender,12,4.50,20,35,Hill Nursery
Fern,15,7.50,8,5,Greenwood
Rose,20,14.00,0,17,Hill Nursery
"""
LOANS = """reader,item,borrowed,returned,fine (£),paid
Hana,Dune,2026-01-03,2026-01-20,0.00,yes
Leo,Emma,2026-01-05,2026-02-10,3.00,no
Hana,Ulysses,2026-02-01,,0.00,no
"""
RACE = """runner,race,time,rank
Ida,Fjord Trail,4:12:30,2
Jan,Fjord Trail,4:01:10,1
Max Orr,Fjord Trail,4:20:05,3
"""
COURSES = """Kurs;Leitung;Teilnehmer;Beginn;Raum
Töpfern;Lang;8;06.01.2026;Atelier
Excel;Thoma;12;03.02.2026;Raum 2
Aquarell;Lang;6;10.02.2026;Atelier
"""
DIVES = """dive,site,depth (m)
1,Blue Hole,18
2,Wreck,31
3,Wreck,29
"""


def given(text: str, question: str) -> tuple[str | None, str]:
    found = answer(question, tables_in_text(text, "log.csv"), TODAY)
    assert found is not None
    return found.reason, found.value


@pytest.mark.parametrize(
    ("text", "question", "value"),
    [
        (CARGO, "How many shipments did Nordline carry?", "3"),  # another word for what names the rows
        (CARGO, "What was the highest charge?", "310.50 EUR"),  # a fee is a kind of charge
        (CARGO, "How many consignments weigh 300 kg?", "1"),  # a number with its unit
        (CARGO, "heaviest consignment", "C-3: 2100 kg"),  # what it is, and how much
        (METER, "Stromverbrauch von Novak", "1561 kWh"),  # a value and a header in one word
        (METER, "Was hat Novak insgesamt bezahlt?", "1420.10 EUR"),  # `was` is a German word, too
        (METER, "Kosten für Strom aller Mieter", "921.10 EUR"),
        (ACCOUNT, "How much did I spend on food?", "-50.00 EUR"),  # nobody sums balances
        (ACCOUNT, "What was the biggest amount for rent?", "-110.00 EUR"),  # of money that goes
        (BEDS, "Which ward has the most closed beds?", "Ward 3: 5"),
        (BEDS, "How many beds are occupied in the North wing?", "29"),
        (BEDS, "total beds", "60"),  # the last row sums up all columns, whatever it is called
        (BEDS, "What share of the beds is occupied?", "65 %"),
        (CLASSES, "How many calories did Tom burn in total?", "520 kcal"),  # the verb says what the column is
        (CLASSES, "How many times did Nina teach yoga?", "2"),
        (CLASSES, "Who hasn't paid?", "Tom, Max Orr"),
        (PLANTS, "How many lavenders do we still have?", "20"),  # in stock, not sold
        (PLANTS, "What's out of stock?", "Rose"),
        (LOANS, "Who borrowed Emma?", "Leo"),  # the one column of people, by what a date says
        (LOANS, "Who has Ulysses?", "Hana"),
        (LOANS, "Which items came back in February?", "Emma"),
        (LOANS, "How many items were borrowed in January?", "2"),  # two dates: when rows began
        (PLANTS, "Plants with a pot bigger than 14 cm", "Fern, Rose"),
        (DIVES, "Dives deeper than 25 metres", "2, 3"),  # of `deepest`
        (RACE, "Who came third?", "Max Orr"),
        (RACE, "What was Max Orr's time?", "4 h 20 min 5 s"),  # a name, no superlative
        (COURSES, "Wer leitet den Kurs Excel?", "Thoma"),  # the verb of a header's noun
        (COURSES, "Wann beginnt Aquarell?", "2026-02-10"),
        (CARGO, "What percentage of the consignments was damaged?", "50 %"),
        (CARGO, "What percentage of Nordline's consignments was damaged?", "33.33 %"),
    ],
)
def test_a_word_that_the_table_has_not_finds_its_place(text: str, question: str, value: str) -> None:
    assert given(text, question) == (None, value)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (CARGO, "How many drivers does Nordline have?"),
        (CARGO, "Who drove C-2?"),
        (CARGO, "When did C-2 break?"),  # it was sent on a day; what else happened the table does not say
        (CARGO, "How many pages has C-1?"),
        (METER, "Wie hoch ist die Miete von Novak?"),  # no word of `Mieter`
        (METER, "Wie hoch ist der Stromlohn von Novak?"),  # only a part of the word has a place
        (BEDS, "How many doctors work in the South wing?"),
        (BEDS, "How many patients died in Ward 2?"),
        (CLASSES, "What is Nina's salary?"),  # not whether it was paid
        (CLASSES, "How many classes did Laura miss?"),  # a verb with an opposite
        (CLASSES, "Which classes were refunded?"),
        (LOANS, "How many fines are unpaid?"),  # how many, or how much
        (LOANS, "Who read Emma more?"),
        (PLANTS, "Which plant got more?"),
    ],
)
def test_a_word_without_a_place_is_refused(text: str, question: str) -> None:
    assert given(text, question)[0] is not None


def test_what_is_negated_ends_at_what_a_column_of_yes_and_no_says() -> None:
    pupils = "pupil,class,can swim\nAda,9A,yes\nBen,9A,no\nCy,9B,no\nDee,9B,yes\n"

    assert given(pupils, "Who can't swim in 9A?") == (None, "Ben")


def test_brackets_say_again_what_stands_before_them() -> None:
    runners = "runner,country,status\nAnna,ESP,finished\nBen,FRA,DNF\nCara,ESP,DNF\n"

    assert given(runners, "How many runners from Spain (ESP) are there?") == (None, "2")
    assert given(runners, "How many runners did not finish (DNF)?") == (None, "2")


def test_values_of_one_column_that_are_not_listed_are_no_row() -> None:
    matches = tables_in_text("day,home,away\n1.5.26,Ash,Elm\n8.5.26,Elm,Oak\n", "games.csv")
    found = answer("When did Ash play Elm?", matches, TODAY)

    assert found is None or found.value in {"", "2026-05-01"}
