"""German, French and Spanish: numbers, dates and negations are read; sentences of other languages are compared."""

from __future__ import annotations

import pytest

from groundcheck import Checked, Passage
from groundcheck.claims import check_cited


def judged(evidence: str, said: str) -> Checked:
    return check_cited(said, [Passage(evidence)])


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("Die Pumpe ist rot.", "Die Pumpe ist nicht rot."),
        ("Das Ventil schließt bei Frost nicht.", "Das Ventil schließt bei Frost."),
        ("Das Gerät hat einen Akku.", "Das Gerät hat keinen Akku."),
        ("La pompe est rouge.", "La pompe n'est pas rouge."),
        ("La vanne ne ferme jamais en hiver.", "La vanne ferme en hiver."),
        ("La bomba es roja.", "La bomba no es roja."),
        ("La válvula nunca cierra en invierno.", "La válvula cierra en invierno."),
    ],
)
def test_what_is_denied_is_contradicted(evidence: str, said: str) -> None:
    for one, other in ((evidence, said), (said, evidence)):
        checked = judged(one, other)
        assert (checked.status, checked.reason) == ("contradicted", "negation")


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("Die Pumpe fasst 2,5 Liter Wasser.", "Die Pumpe fasst 2.5 Liter Wasser."),
        ("Die Pumpe fasst 1.234,5 Liter Wasser.", "Die Pumpe fasst 1234,5 Liter Wasser."),
        ("Die Pumpe wurde am 3. März 1998 gebaut.", "Die Pumpe wurde am 03.03.1998 gebaut."),
        ("La pompe contient 2,5 litres d'eau.", "La pompe contient 2.5 litres d'eau."),
        ("La bomba fue construida el 3 de marzo de 1998.", "La bomba fue construida el 03/03/1998."),
    ],
)
def test_numbers_and_dates_written_otherwise_are_the_same(evidence: str, said: str) -> None:
    assert judged(evidence, said).status == "verified"


@pytest.mark.parametrize(
    ("evidence", "said", "reason"),
    [
        ("Die Pumpe fasst 2,5 Liter Wasser.", "Die Pumpe fasst 25 Liter Wasser.", "number"),
        ("Die Pumpe wurde am 3. März 1998 gebaut.", "Die Pumpe wurde am 3. Mai 1998 gebaut.", "date"),
        ("La pompe a été construite le 3 mars 1998.", "La pompe a été construite le 3 mai 1998.", "date"),
        ("La bomba fue construida el 3 de marzo de 1998.", "La bomba fue construida el 3 de mayo de 1998.", "date"),
    ],
)
def test_other_numbers_and_dates_are_contradicted(evidence: str, said: str, reason: str) -> None:
    checked = judged(evidence, said)

    assert (checked.status, checked.reason) == ("contradicted", reason)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ("Die Pumpe darf nur bei Stillstand geöffnet werden.", "Die Pumpe darf bei Stillstand geöffnet werden."),
        ("Certaines vannes fuient en hiver.", "Les vannes fuient en hiver."),
        ("La bomba puede fallar en invierno.", "La bomba falla en invierno."),
    ],
)
def test_a_small_word_that_is_missing_is_seen(evidence: str, said: str) -> None:
    assert judged(evidence, said).status != "verified"


def test_a_language_that_no_rule_reads_is_supported_with_that_reason() -> None:
    checked = judged("Насос сделал Иванов в 1998 году на заводе.", "Иванов сделал насос на заводе в 1998 году.")

    assert (checked.status, checked.reason) == ("supported", "language")


def test_a_whole_sentence_of_any_language_is_verified() -> None:
    assert judged("Насос сделал Иванов в 1998 году.", "Насос сделал Иванов в 1998 году.").status == "verified"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Die Pumpe wurde 1999 von Kelly in Köln gebaut.", "number"),
        ("Die Pumpe wurde 1998 von Meier in Köln gebaut.", "name"),
        ("Насос сделал Петров в 1998 году.", "name"),
    ],
)
def test_other_numbers_and_names_do_not_stand_in_any_language(said: str, reason: str) -> None:
    checked = judged("Die Pumpe wurde 1998 von Kelly in Köln gebaut. Насос сделал Иванов в 1998 году.", said)

    assert (checked.stands, checked.reason) == (False, reason)
