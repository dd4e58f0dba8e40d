"""How sure a reading is: which words may be left over, and what their weights are."""

from __future__ import annotations

from datetime import date

import pytest

from ragdrop.tables.asked import read_question
from ragdrop.tables.match_table import match_table
from ragdrop.tables.reading_evidence import LEAST, REFUSES, evidence, word_kind
from ragdrop.tables.text_tables import tables_in_text

TODAY = date(2026, 11, 26)
RIDES = "rider,tour,distance (km),notes\nAnna,Lake,82,the wind was very strong\nBen,Hill,45,rode home in rain\n"


@pytest.mark.parametrize(
    ("question", "word", "kind"),
    [
        ("How many seats has C-4 in row 7?", "7", "code"),
        ("Which rooms are outside the hall?", "outside", "turn"),
        ("What did Anna pay in Porto?", "porto", "name"),
        ("How many violins did Bilal play", "play", "deed"),
        ("How many doctors work in the wing?", "doctors", "asked noun"),
        ("Who borrowed the drill?", "borrowed", "verb of who"),
        ("Was bringt ein eiliger Auftrag?", "eiliger", "adjective"),
        ("Welche Hunde wurden geimpft?", "geimpft", "verb"),
    ],
)
def test_a_word_that_is_left_over_has_a_kind(question: str, word: str, kind: str) -> None:
    asked = read_question(question, TODAY)

    assert asked is not None
    assert word_kind(asked, asked.words.index(word)) == kind


def test_what_turns_a_sentence_round_refuses() -> None:
    assert {"turn", "unit", "name", "code", "deed"} == REFUSES


def signs_of(question: str) -> dict[str, float]:
    asked = read_question(question, TODAY)
    assert asked is not None
    found = match_table(asked, tables_in_text(RIDES, "rides.csv")[0])
    assert isinstance(found, list)
    return dict(found[0].signs)


def test_a_question_that_is_wholly_understood_is_sure() -> None:
    assert evidence(signs_of("Which tour did Anna ride?")) > LEAST


def test_each_word_that_is_left_over_makes_a_reading_less_sure() -> None:
    one, two = signs_of("distance of the Lake tour ferry"), signs_of("distance of the Lake tour ferry harbour")

    assert (one["left"], two["left"]) == (1, 2)
    assert evidence(two) < evidence(one) < evidence(signs_of("distance of the Lake tour"))


def test_a_bound_that_leaves_nothing_out_is_a_sign() -> None:
    assert signs_of("Which tours were longer than 5 km?")["bound of all"]
    assert not signs_of("Which tours were longer than 50 km?")["bound of all"]


def test_a_word_of_notes_says_less_than_a_word_of_names() -> None:
    assert signs_of("Which tours had wind?")["parts of prose"] == 1
