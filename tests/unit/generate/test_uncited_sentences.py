"""Sentences without a marker: attributed to a source, unsupported, or claiming nothing."""

from __future__ import annotations

import pytest
from hypothesis import given

from ragdrop.generate.citations import AnswerReader
from tests.unit.generate.test_citations import ANSWERS, SEGMENTS, cite, segment


def test_a_sentence_without_a_marker_is_attributed_to_the_source_that_supports_it() -> None:
    answer = cite("Kelly built the pump in March 1998.", SEGMENTS)

    [citation] = answer.citations
    assert (citation.marker, citation.status, citation.attributed) == (1, "verified", True)
    assert citation.quote == "The pump was built in March 1998 by Kelly."
    assert answer.text == "Kelly built the pump in March 1998."


@pytest.mark.parametrize(
    "said",
    [
        "The pump works fine.",
        "The pump holds 70 litres.",
        "Meier built the pump in March 1998.",
        "The pump is not red.",
    ],
)
def test_a_sentence_without_a_marker_that_no_source_supports_is_unsupported(said: str) -> None:
    marked, dropped, refused = (cite(said, SEGMENTS, policy=p) for p in ("mark", "drop", "abstain"))

    assert [claim.text for claim in marked.unsupported] == [said]
    assert marked.text == said
    assert (dropped.reason, refused.reason) == ("insufficient_information", "insufficient_information")


def test_a_sentence_of_two_sources_together_is_attributed_to_both() -> None:
    answer = cite("The red pump holds 7 litres and was built by Kelly.", SEGMENTS)

    assert [citation.attributed for citation in answer.citations] == [True, True]
    assert answer.unsupported == []


def test_with_drop_unsupported_sentences_go_wherever_they_stand() -> None:
    said = "It works fine. The pump is red [1]. It never fails. Nobody complained.\n\nIt holds 7 litres."

    assert cite(said, SEGMENTS, policy="drop").text == "The pump is red [1]. It holds 7 litres."


@pytest.mark.parametrize(
    "said",
    [
        "Hello! Here is what I found:",
        "## The pump",
        "Thank you for your question.",
        "I hope this helps.",
        "Based on the provided documents:",
        "Do you want to know more about the pump?",
        "---",
    ],
)
def test_a_sentence_that_claims_nothing_needs_no_source(said: str) -> None:
    answer = cite(f"{said}\n\nThe pump is red [1].", SEGMENTS, policy="abstain")

    assert answer.reason is None
    assert answer.text.startswith(said)


@pytest.mark.parametrize(
    "said", ["## The pump leaks", "Did you know that it holds 70 litres?", "Meier says:", "Here is what Meier found:"]
)
def test_a_heading_a_question_or_a_lead_in_with_words_of_its_own_is_a_claim(said: str) -> None:
    assert cite(f"{said}\n\nThe pump is red [1].", SEGMENTS).unsupported != []


def test_every_list_item_and_table_row_is_a_sentence_of_its_own() -> None:
    said = "- The pump is red\n- The pump is green\n\n| built | 1998 |\n| built | 1999 |\n"

    assert [claim.text for claim in cite(said, SEGMENTS).unsupported] == [
        "- The pump is green",
        "| built | 1999 |",
    ]


def test_code_without_a_marker_must_stand_in_a_source() -> None:
    held = [segment(1, "Set the port:\n\nport = 8443\n\nhost = here\n")]

    assert cite("```ini\nport = 8443\n\nhost = here\n```", held).unsupported == []
    assert cite("```ini\nport = 8444\n\nhost = here\n```", held).unsupported != []


def test_markers_count_from_one_in_the_order_of_the_answer() -> None:
    held = [segment(1, "Whales swim."), segment(2, "It holds 7 litres."), segment(3, "The pump is red.")]
    answer = cite("The pump is red [3]. It holds 7 litres. It is red and whales swim [3][1].", held)

    assert [citation.marker for citation in answer.citations] == [1, 2, 1, 3]
    assert answer.text == "The pump is red [1]. It holds 7 litres. It is red and whales swim [1][3]."


@given(answer=ANSWERS)
def test_no_sentence_that_claims_something_leaves_without_a_status(answer: str) -> None:
    whole = cite(answer, SEGMENTS)
    covered = set().union(*(range(claim.start, claim.end) for claim in whole.claims))

    for place, letter in enumerate(whole.text):
        assert not letter.isalpha() or place in covered


def test_a_reader_that_is_finished_twice_says_the_same() -> None:
    reader = AnswerReader(SEGMENTS, bucket="b")
    reader.feed("The pump is red. It works fine.")
    reader.finish()
    once = reader.answer

    assert reader.finish() == []
    assert reader.answer == once
