"""Questions that a table answers wrongly if a word of them is overlooked."""

from __future__ import annotations

from datetime import date

import pytest

from ragdrop.tables.answer_tables import answer_from_tables as answer
from ragdrop.tables.text_tables import tables_in_text

TODAY = date(2026, 11, 26)
RECORDS = """| Album | Made | Bought on | Shop | Paid |
|---|---|---|---|---|
| Low Tide | 1975 | 2024-03-01 | Vinyl Barn | $20.00 |
| Moat | 1969 | 2024-09-29 | Flea market | 18.00 € |
| Kiosk | 2019 | 2025-02-11 | Flea market | £22.01 |
"""
LESSONS = """pupil,kind of lesson,minutes,paid,price (£)
Ada,first drive,60,yes,35.00
Ada,town,60,no,35.00
Ada,town,60,,35.00
Ben,town,90,yes,50.00
"""
FERRIES = """from,to,departs,car fare (£)
Oban,Coll,07:05,37.90
Oban,Coll,09:15,37.90
Oban,Tiree,10:00,40.50
"""
ROASTS = """Charge,Kunde,Röster,Röstung,Gewicht (kg)
1,Klinik,Doris,dunkel,10
2,Verlag,Inés,hell,40
3,Klinik,Doris,dunkel,60
"""
FETE = """stall,run by,takings (£),expenses (£)
Teas,Scouts,600.00,40.00
Cakes,Scouts,90.00,10.00
Raffle,Bell ringers,300.00,
"""
STAYS = """Gast,Nights,Strom (kWh),Mietpreis (€)
Moretti,7,4.5,500.00
Seidel,3,13,210.00
"""
TEXTS = """Auftrag;Sprache;Wörter;Gewicht (kg)
A-1;Polnisch;12.500;4,5
A-2;Spanisch;2.868;6
A-3;Polnisch;9.000;1,5
"""
HEATS = """boat,finish (min:s)
Coot,6:11
Grebe,6:40
"""
MASTS = """ref,town,put up,inspected,dimmable
M-1,Ayr,1998-05-01,2024-02-01,yes
M-2,Ayr,2011-06-01,2020-03-01,no
M-3,Wick,2004-07-01,,no
"""
SHIFTS = """day,nurse,turn,handed over by
2026-03-01,Sunil,early,Katya
2026-03-02,Katya,night,Sunil
2026-03-03,Sunil,night,Katya
"""
BUDGET = """Aufgabe;2024 Ansatz (€);2024 Ergebnis (€);2025 Ansatz (€)
Freibad;100,00;150,00;120,00
Friedhof;60,00;50,00;70,00
Bücherei;10,00;50,00;11,00
"""
CHEESES = """wheel,sort,buyer
W-1,Tarn,market
W-2,Tarn,The Plough
W-3,Crown,
"""


def given(text: str, question: str) -> str | None:
    """The value of an answer, None where the question is refused."""
    found = answer(question, tables_in_text(text, "table.md" if text.startswith("|") else "table.csv"), TODAY)
    assert found is not None
    return None if found.abstained else found.value


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (RECORDS, "What did Kiosk cost in euros?"),  # paid in pounds
        (RECORDS, "Albums bought in 2019"),  # the year is that of another column
        (FERRIES, "What does it cost to take a car from Oban to Coll or Tiree?"),  # two fares, which nobody sums
        (LESSONS, "How many percent of everything paid came from Ada?"),  # no share of rows
        (HEATS, "What did boats like most often?"),  # no number is the largest
        (SHIFTS, "Which nurses never have night turns?"),  # who did has other rows too
        (SHIFTS, "How many people did nurse Sunil have?"),  # rows are shifts
        (CHEESES, "phone number of The Plough"),  # what is called number, not how many
        (CHEESES, "How many wheels are sold?"),  # the market is a buyer
    ],
)
def test_what_a_table_does_not_say_is_refused(text: str, question: str) -> None:
    assert given(text, question) is None


@pytest.mark.parametrize(
    ("text", "question", "value"),
    [
        (RECORDS, "the most I paid at the Vinyl Barn was for what?", "Low Tide: 20.00 USD"),
        (FERRIES, "What does it cost to take a car from Oban to Coll?", "37.90 GBP"),
        (LESSONS, "How many lessons has Ada had?", "3"),  # not how many kinds
        (LESSONS, "How many lessons were not paid?", "1"),  # an empty cell says neither yes nor no
        (ROASTS, "Wer hat die meisten kg geröstet?", "Doris: 70 kg"),  # not the customer
        (FETE, "what did the teas spend", "40.00 GBP"),  # of two columns of money the one that is meant
        (FETE, "What percentage of everything taken came from the cakes?", "9.09 %"),
        (FETE, "Stalls that took over £200", "Teas, Raffle"),
        (FETE, "How much more did the teas take than the cakes?", "510.00 GBP"),
        (FETE, "How many more stalls did the Scouts run than the Bell ringers?", "1"),
        (TEXTS, "Aufträge mit mehr als 10.000 Wörtern, Anzahl", "1"),  # ten thousand, not ten
        (TEXTS, "Um wie viel kg ist A-1 leichter als A-2?", "1.5 kg"),
        (TEXTS, "Welchen Anteil in Prozent hat Polnisch an den Wörtern?", "88.23 %"),
        (FERRIES, "What share of the sailings goes from Oban to Coll, in percent?", "66.67 %"),
        (FETE, "how many stalls have no expenses noted", "1"),
        (FETE, "For how many stalls are the expenses missing?", "1"),
        (FETE, "Scouts or Bell ringers: which is named most often?", "Scouts: 2"),
        (RECORDS, "which album did I buy last", "Kiosk"),
        (STAYS, "Wer hat am meisten Miete gezahlt?", "Moretti: 500.00 EUR"),  # the price of it
        (STAYS, "everything that Seidel used, kWh", "13 kWh"),  # the unit asked for stands last
        (ROASTS, "Wie viele dunkle Röstungen gibt es?", "2"),
        (HEATS, "How long did Coot take?", "6 min 11 s"),  # minutes, not hours
        (MASTS, "Which ref is the oldest?", "M-1"),  # by the day when rows began
        (SHIFTS, "How many night turns were handed over?", "2"),  # the column says by whom
        (BUDGET, "Was hat das Freibad 2024 tatsächlich gekostet?", "150.00 EUR"),
        (BUDGET, "Wie viel ist 2025 für den Friedhof eingeplant?", "70.00 EUR"),
        (BUDGET, "die zwei Aufgaben, für die 2025 am wenigsten eingeplant ist", "Bücherei, Friedhof"),
        (BUDGET, "Wie viel Prozent der tatsächlichen Ausgaben 2024 entfielen auf das Freibad?", "60 %"),
    ],
)
def test_the_column_that_is_meant_is_read(text: str, question: str, value: str) -> None:
    assert given(text, question) == value


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (FETE, "What did the stalls take in total?"),
        (FETE, "What was left after costs in total?"),
        (MASTS, "the two masts in Ayr that were newest"),
    ],
)
def test_a_reading_with_too_little_evidence_is_refused_though_it_may_be_right(text: str, question: str) -> None:
    assert given(text, question) is None
