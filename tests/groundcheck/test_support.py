"""What a source must hold for a sentence that cites it: words, numbers, units, dates, names, negations, quotes."""

from __future__ import annotations

import pytest

from groundcheck.support import best_slice

PUMP = (
    "The Larkspur pump was installed on 4 March 1998 by Shirley Temple. It holds 7.5 litres and weighs 120 kg. "
    "It does not need oil. About two million were sold, 45% of them in Ghana. Its spare part code is QX-5521. "
    "The manual says \u201cnever open the valve while it is hot\u201d."
)


@pytest.mark.parametrize(
    "claim",
    [
        "The Larkspur pump was installed on 4 March 1998 by Shirley Temple.",
        "The Larkspur pump was put in by Shirley Temple, who installed it on March 4th, 1998.",
        "The Larkspur pump holds 7.5 l.",
        "It weighs 120 kilograms and holds 7.5 litres.",
        "The pump doesn't need oil.",
        "2,000,000 were sold, 45 percent of them in Ghana.",
        "Its spare part code is qx-5521.",
        'The manual says "never open the valve".',
        "According to the source, its spare part code is QX-5521.",
    ],
)
def test_what_stands_in_the_source_is_supported_however_it_is_said(claim: str) -> None:
    assert best_slice(claim, PUMP).problem is None


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("It holds 8.5 litres and weighs 120 kg.", "number"),
        ("It holds 7.5 gallons and weighs 120 kg.", "number"),
        ("About two billion were sold, 45% of them in Ghana.", "number"),
        ("About two million were sold, 54% of them in Ghana.", "number"),
        ("Its spare part code is QX-5512.", "number"),
        ("The Larkspur pump was installed on 5 March 1998 by Shirley Temple.", "date"),
        ("The Larkspur pump was installed in May 1998 by Shirley Temple.", "date"),
        ("The Larkspur pump was installed in 1989 by Shirley Temple.", "number"),
        ("The Larkspur pump was installed on 4 March 1998 by Corliss Archer.", "name"),
        ("The Ghana pump was installed on 4 March 1998 by Shirley Temple.", "name"),
        ("It needs oil.", "negation"),
        ("It does not hold 7.5 litres and weighs 120 kg.", "negation"),
        ('The manual says "never shut the valve while it is hot".', "quote"),
        ("Whales migrate every autumn through arctic waters.", "words"),
    ],
)
def test_what_was_changed_is_named(claim: str, problem: str) -> None:
    assert best_slice(claim, PUMP).problem == problem


def test_a_name_for_a_pronoun_may_stand_in_the_sentence_before_or_in_the_title() -> None:
    text = "Ada wrote the first program. She lived in London."

    assert best_slice("Ada lived in London.", text).problem is None
    assert best_slice("Lovelace lived in London.", text, about="Ada Lovelace").problem is None
    assert best_slice("Babbage lived in London.", text, about="Ada Lovelace").problem == "name"


def test_a_name_that_takes_the_place_of_another_is_not_excused_by_a_sentence_beside_it() -> None:
    text = "DECnet was designed by Digital. Several versions exist, one of them for Linux."

    assert best_slice("DECnet was designed by Linux.", text).problem == "name"


def test_a_sentence_cut_out_of_its_denial_is_not_supported() -> None:
    assert best_slice("the valve is safe", "Nobody says that never the valve is safe.").problem == "negation"


def test_a_word_and_its_opposite_do_not_support_each_other() -> None:
    assert best_slice("Sales in the north increased.", "Sales in the north decreased.").problem == "negation"


def test_the_evidence_is_the_sentence_that_supports_and_no_more() -> None:
    found = best_slice("It holds 7.5 litres.", PUMP)

    assert PUMP[found.start : found.end] == "It holds 7.5 litres"  # the words that stand there, to the clause


def test_a_number_must_not_be_part_of_a_longer_one() -> None:
    assert best_slice("It is 5 km long.", "It is 15 km long.").problem == "number"


TEAMS = "Kumasi lies north of Accra. In 2010 Rovers won 7 of 9 games. He was born on 4 March 1678 in the highest town."


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("Accra lies north of Kumasi.", "name"),
        ("In 2010 Rovers won 9 of 7 games.", "number"),
        ("He was born on 3 April 1678 in the highest town.", "date"),
        ("He was born on 4 March 1678 in the lowest town.", "negation"),
    ],
)
def test_the_same_words_in_other_places_are_not_the_same_sentence(claim: str, problem: str) -> None:
    assert best_slice(claim, TEAMS).problem == problem


@pytest.mark.parametrize(
    "claim",
    [
        "Rovers won 7 of 9 games in 2010.",
        "He was born on Mar 4, 1678 in the highest town.",
        "He was born on 1678-03-04 in the highest town.",
    ],
)
def test_a_moved_time_or_a_date_written_otherwise_is_the_same_sentence(claim: str) -> None:
    assert best_slice(claim, TEAMS).problem is None


def test_a_sentence_may_turn_from_passive_to_active_and_a_list_around() -> None:
    text = "Kumasi was founded by Osei Tutu. Its rivers are the Offin, the Prah and the Volta."

    assert best_slice("Osei Tutu founded Kumasi.", text).problem is None
    assert best_slice("Its rivers are the Prah, the Volta and the Offin.", text).problem is None


def test_a_not_within_a_title_denies_nothing_around_it() -> None:
    text = 'The slogan "Do not mess with Accra" was shown on road signs.'

    assert best_slice('The slogan "Do not mess with Accra" was shown on road signs everywhere.', text).problem is None
    assert best_slice('The slogan "Do not mess with Accra" was never shown on road signs.', text).problem == "negation"


@pytest.mark.parametrize(
    ("claim", "text", "problem"),
    [
        ("The toll is 40 crowns.", "The toll is ~~40~~ 30 crowns.", "number"),
        ("The toll is 30 crowns.", "The toll is ~~40~~ 30 crowns.", None),
        ("The toll is ~~40~~ 30 crowns.", "The toll is ~~40~~ 30 crowns.", None),
        ("The toll is paid at the gate.", "~~The toll is paid at the gate.~~ It is paid online.", "words"),
        ("The dam holds 10^6 litres.", "The dam holds 10⁶ litres.", None),
        ("The dam holds 10⁶ litres.", "The dam holds 10<sup>6</sup> litres.", None),
        ("The dam holds 10⁷ litres.", "The dam holds 10⁶ litres.", "number"),
        ("The dam holds 106 litres.", "The dam holds 10⁶ litres.", "number"),
    ],
)
def test_struck_text_is_no_evidence_and_a_power_is_no_other_number(claim: str, text: str, problem: str | None) -> None:
    assert best_slice(claim, text).problem == problem
