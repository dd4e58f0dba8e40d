"""Sentences turned round, with an answer that is known: what the reader learns the order of words from."""

from __future__ import annotations

import doctest
from collections import Counter
from random import Random

from models.reader import data, swaps

PASSAGE = (
    "In 1820, the Aldermoor company built a mill beside the river Tarn for the weavers of the town. "
    "The miller sold flour to the baker, and the baker paid 12 shillings for every 20 sacks of it. "
    "The mill burned down (by accident) while the owner of the company was away in Thornbury."
)
UNITS = [unit for seed in range(40) for unit in swaps.units([PASSAGE], Random(seed))]


def test_the_examples_of_its_docstrings_are_right() -> None:
    assert doctest.testmod(swaps).failed == 0
    assert doctest.testmod(data).failed == 0


def test_a_true_and_a_false_sentence_share_their_evidence() -> None:
    assert UNITS
    for true, false in UNITS:
        assert (true.support, false.support) == ("supported", "contradicted")
        assert true.passage == false.passage
        assert true.query != false.query


def test_a_false_sentence_has_the_words_of_its_source_or_one_of_a_neighbour() -> None:
    for _, false in UNITS:
        new = set(false.query.lower().rstrip(".").split()) - set(false.passage.lower().replace(".", "").split())
        assert len(new) <= 3


def test_a_sentence_that_reads_oddly_is_as_often_true_as_false() -> None:
    odd = Counter(PASSAGE.replace("\n", " ").find(true.passage) < 0 for true, _ in UNITS)

    assert 0.3 < odd[True] / len(UNITS) < 0.7


def test_evidence_cut_to_a_window_still_holds_the_statement() -> None:
    row = data.Row("The mill burned down while the owner was away.", PASSAGE, "own", support="supported")

    for seed in range(10):
        [[cut]] = data.windows([[row]], Random(seed))
        assert "The mill burned down" in cut.passage
        assert len(cut.passage) < len(PASSAGE)
