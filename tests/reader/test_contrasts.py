"""Questions beside each other: on one passage, and on what would be quoted of it."""

from __future__ import annotations

from random import Random

from models.reader import data

PASSAGE = "Lockers\n\nA locker costs 4 euros a day. Ask at the desk for a key. The desk closes at 18:00."
PAGE = {
    "id": "00-001",
    "passage": PASSAGE,
    "claims": {},
    "questions": {
        "asked_answered": ["what do I pay for a locker", "4 euros a day"],
        "asked_answered_2": ["who has the key?", "Ask at the desk"],
        "asked_near": "what do I pay if I lose the key?",
        "own_near": "How large is a locker?",
    },
}


def test_answered_and_near_questions_on_a_passage_make_one_unit() -> None:
    [unit] = data.contrasts([PAGE], Random(1))

    assert [row.answerable for row in unit] == [True, True, False]
    assert {row.passage for row in unit} == {PASSAGE}


def test_a_passage_of_many_questions_makes_several_units() -> None:
    rows = [row for field, row in data.own_rows([PAGE]) if data.cell(field) in data.ASKED]

    units = list(data.beside(rows, Random(1), most=1))

    assert [len(unit) for unit in units] == [2, 1]


def test_what_would_be_quoted_has_the_title_and_the_answer_or_other_sentences() -> None:
    [unit] = data.quotations(data.contrasts([PAGE], Random(1)), Random(1))

    answered = [row for row in unit if row.answerable]
    others = [row for row in unit if not row.answerable]
    assert {row.query: row.passage[slice(*row.span)] for row in answered if row.span} == {
        "what do I pay for a locker": "4 euros a day",
        "who has the key?": "Ask at the desk",
    }
    assert all(row.passage.startswith("Lockers\n") and row.passage != PASSAGE for row in unit)
    assert {row.query for row in others} == {row.query for row in unit}
    assert all("4 euros" not in row.passage for row in others if row.query == "what do I pay for a locker")
