"""Questions that a table answers wrongly if a word of them is overlooked."""

from __future__ import annotations

from datetime import date

import pytest

from ragdrop.tables import answer
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
        (ROASTS, "Wie viele dunkle Röstungen gibt es?", "2"),
    ],
)
def test_the_column_that_is_meant_is_read(text: str, question: str, value: str) -> None:
    assert given(text, question) == value
