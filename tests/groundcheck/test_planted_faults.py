"""The floor of the citation check on a few passages of our own; docs/evidence/quality.md has it over public ones."""

from __future__ import annotations

from pathlib import Path

from benchmarks.citations import MAX_REFUSED, MIN_CAUGHT, share
from tests.groundcheck.planted_faults import PerturbedCase, SourcePassage, false_cases, true_cases

SEED = 7
PASSAGES = [
    SourcePassage(
        "Larkspur Bridge",
        "The Larkspur Bridge was built near Harrow Falls between 1921 and 1926 by the engineer Corliss Archer. It was "
        "opened on 4 March 1926 and carried more than 2,500 carts on the first day. The largest of its nine spans is "
        "118.5 metres long, and the deck lies 31 metres above the Tarn River. It is not lit at night because of the "
        "bats that live in the towers of the bridge. However, the town of Brindle has asked for lamps several times.",
    ),
    SourcePassage(
        "Quillon Observatory",
        "The Quillon Observatory lies north of Port Meridian at a height of 2,310 metres. Its second telescope was "
        "given by Ingrid Halvorsen in 1958 and has a mirror of 1.8 metres. About 45 percent of its nights are clear, "
        "and observers received 312 hours of time in June 1999. The mirror was never cleaned before 12 May 1974, when "
        "Tobias Renner found dust of three years on it. It was also used to measure the distance of 27 clusters.",
    ),
    SourcePassage(
        "Vesper ferry",
        "The Vesper ferry runs from Aldmoor to Sable Island and takes 55 minutes. In 2011, the company Norrland Lines "
        "bought two larger ships, which hold 640 passengers and 85 cars. The older ship had room for 12 cars and was "
        "sold to Greta Lindqvist in October 2012. Tickets cost 14 dollars in summer and 9 dollars in winter, and "
        "children under 7 years travel without one. The third ship will not sail after 2030.",
    ),
]


def second_set(*, is_true: bool) -> list[PerturbedCase]:
    """Sentences of other kinds over the same passages."""
    lines = Path(__file__).with_name("second_set.tsv").read_text("utf-8").splitlines()[1:]
    rows = [line.split("\t") for line in lines]
    made = [(kind, PASSAGES[int(number)], truth == "true", sentence) for kind, number, truth, sentence in rows]
    return [
        PerturbedCase(kind, said, passages.text, passages.title, is_true=truth)
        for kind, passages, truth, said in made
        if truth == is_true
    ]


def test_at_least_97_percent_of_planted_faults_are_caught() -> None:
    cases = [*false_cases(PASSAGES, 100, SEED), *second_set(is_true=False)]

    assert len(cases) > 60
    assert share(cases) >= MIN_CAUGHT


def test_at_most_5_percent_of_true_sentences_are_refused() -> None:
    cases = [*true_cases(PASSAGES, 30, SEED), *second_set(is_true=True)]

    assert len(cases) > 25
    assert share(cases) <= MAX_REFUSED
