"""Relations: the right words in another relation never count as verified, and the same relation turned round does."""

from __future__ import annotations

import pytest

from groundcheck import Checked, Passage
from groundcheck.claims import check_cited

PASSAGE = (
    "The road was closed because heavy rain had flooded the tunnel. The driver called the police before the crew "
    "arrived. The old pump is heavier than the new one. Some valves leak in winter. The engine may stop if the filter "
    "is dirty. The manager said that the plant will open in May. The teacher praised the student. Mostly nurses use "
    "the lift. Orders are shipped only after payment. The tank was painted in March by Kelly."
)


def judged(said: str) -> Checked:
    return check_cited(said, [Passage(PASSAGE)])


@pytest.mark.parametrize(
    "said",
    [
        "Because heavy rain had flooded the tunnel, the road was closed.",
        "Before the crew arrived, the driver called the police.",
        "If the filter is dirty, the engine may stop.",
        "The old pump is heavier than the new one.",
        "Kelly painted the tank in March.",
        "In winter, some valves leak.",
    ],
)
def test_the_same_relation_in_another_order_is_verified(said: str) -> None:
    assert judged(said).status == "verified"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Heavy rain had flooded the tunnel because the road was closed.", "cause"),
        ("The driver called the police after the crew arrived.", "order"),
        ("The new pump is heavier than the old one.", "comparison"),
        ("All valves leak in winter.", "quantifier"),
        ("Only nurses use the lift.", "quantifier"),
        ("The engine stops if the filter is dirty.", "modality"),
        ("The engine may stop.", "condition"),
        ("The plant has opened in May.", "modality"),
        ("The tank was not painted in March by Kelly.", "negation"),
    ],
)
def test_another_relation_in_the_same_words_does_not_stand(said: str, reason: str) -> None:
    checked = judged(said)

    assert not checked.stands
    assert checked.reason == reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("The student praised the teacher.", "roles"),
        ("Kelly was painted in March by the tank.", "roles"),
        ("The plant will open in May.", "attribution"),
        ("Valves leak in winter.", "quantifier"),
        ("The driver called the police from the road.", "words"),
    ],
)
def test_what_rules_cannot_see_is_supported_at_best(said: str, reason: str) -> None:
    checked = judged(said)

    assert checked.status != "verified"
    assert checked.reason == reason


def test_another_number_in_the_same_sentence_is_contradicted() -> None:
    assert check_cited("The pump holds 9 litres.", [Passage("The pump holds 7 litres.")]).status == "contradicted"
