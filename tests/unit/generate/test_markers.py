"""Brackets that documents, questions or answers hold themselves are text, whatever markers look like."""

from __future__ import annotations

import pytest

from groundcheck import Passage
from ragdrop.domain.answers import Citation
from ragdrop.domain.deadlines import Deadline
from ragdrop.generate.citations import AnswerReader, CitedAnswer
from ragdrop.generate.markers import UNKNOWN_MARKER
from ragdrop.generate.verify_answer import VerifyAnswer
from ragdrop.models.answerer import quoted_answer as local_answer
from tests.unit.generate.test_ask import ask
from tests.unit.generate.test_citations import cite, segment
from tests.world import World

SOURCES = [
    segment(1, "The third shade is shades[2] of the paint module. Its range is [0, 1] by default."),
    segment(2, "Glue dries slowly [1]. Cold glue dries slower still [2, 3]. See [[glue]], [^1] and [x] of [1](a.md)."),
]


def read(said: str, prefix: str = "S", question: str = "") -> CitedAnswer:
    reader = AnswerReader(SOURCES, bucket="b", prefix=prefix, question=question)
    return reader.read(said)


@pytest.mark.parametrize(
    ("said", "text", "markers"),
    [
        ("The third shade is shades[2] [S1].", "The third shade is shades[2] [1].", [1]),
        ("Its range is [0, 1] by default [S1].", "Its range is [0, 1] by default [1].", [1]),
        ("Glue dries slowly [1] [S2].", "Glue dries slowly [1] [1].", [1]),
        ("Glue dries slowly [1][s2].", "Glue dries slowly [1] [1].", [1]),
        ("Cold glue dries slower still [2, 3]. [S2]", "Cold glue dries slower still [2, 3]. [1]", [1]),
        ("See [[glue]], [^1] and [x] of [1](a.md) [S2].", "See [[glue]], [^1] and [x] of [1](a.md) [1].", [1]),
        ("Its range is [0,1] by default [S1, S2].", "Its range is [0,1] by default [1][2].", [1, 2]),
    ],
)
def test_brackets_of_a_source_stay_and_markers_are_numbered(said: str, text: str, markers: list[int]) -> None:
    found = read(said)

    assert found.text == text
    assert [citation.marker for citation in found.citations] == markers
    assert [claim.status for claim in found.claims if claim.reason == "unknown_marker"] == []


def test_a_marker_of_the_answer_stands_behind_its_sentence_and_text_within_it() -> None:
    found = read("Glue dries slowly [1] [S2].")

    [claim] = found.claims
    assert claim.text == "Glue dries slowly [1]"
    assert found.text[claim.end :] == " [1]."


def test_a_model_that_writes_plain_numbers_all_the_same_is_understood() -> None:
    found = read("The third shade is shades[2] [1]. Its range is [0, 1] by default [1].")

    assert found.text == "The third shade is shades[2] [1]. Its range is [0, 1] by default [1]."
    assert [(citation.marker, citation.hit) for citation in found.citations] == [(1, SOURCES[0].hit)] * 2


def test_a_bracket_of_the_question_is_text() -> None:
    found = read("jobs[4].name is not in the paint module.", question="What is jobs[4].name?")

    assert found.text == "jobs[4].name is not in the paint module."


def test_an_index_of_zero_is_never_a_marker() -> None:
    assert cite("The first is items[0].", [SOURCES[0]]).text == "The first is items[0]."


def test_a_bracket_of_a_source_that_names_none_of_the_sources_is_text_wherever_it_stands() -> None:
    sources = [Passage("The span [4, 9] holds at night.", id="a")]

    found = VerifyAnswer(None)("The span that holds at night: [4, 9].", sources, Deadline.after(10))

    assert UNKNOWN_MARKER not in [one.reason for one in found.sentences]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_stream_gives_the_same_as_the_whole(size: int) -> None:
    said = "The third shade is shades[2] [S1]. Glue dries slowly [1] [S2]. Its range is [0, 1] by default [S1]."
    reader = AnswerReader(SOURCES, bucket="b", prefix="S")

    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    released = [one for piece in pieces for one in reader.feed(piece)] + reader.finish()

    assert "".join(one for one in released if isinstance(one, str)).rstrip() == read(said).text
    assert [one for one in released if isinstance(one, Citation)] == read(said).citations


@pytest.mark.parametrize(
    ("text", "question", "right"),
    [
        ("# Shades\n\nThe third shade is shades[2] in the paint module.", "What is the third shade?", "shades[2]"),
        ("# Range\n\nThe gauge must lie in the range [0, 1] at night.", "In which range must the gauge lie?", "[0, 1]"),
        ("# Glue\n\nGlue dries slowly in the cold [1].", "What dries slowly in the cold?", "in the cold [1]"),
        ("# Jobs\n\nThe name of a job is in jobs[4].name of the file.", "Where is the name of a job?", "jobs[4].name"),
    ],
)
def test_an_answer_repeats_the_brackets_of_its_document(world: World, text: str, question: str, right: str) -> None:
    world.put("team/a.md", text)
    world.chat.reply = lambda messages: local_answer(messages[-1].content)

    found = ask(world, question)

    assert right in found.text
    assert found.text.endswith(" [1]")
    assert [claim.status for claim in found.claims] == ["verified"]


@pytest.mark.parametrize(
    "sentence",
    [
        "The third shade is shades[2] in the paint module.",
        "The third shade is shades[0] in the paint module.",
        "The range is [0, 1] at night.",
        "Glue dries slowly in the cold [1].",
        "Take jobs[4].name and [[glue]].",
    ],
)
def test_a_sentence_that_stands_word_for_word_in_a_source_is_verified_with_its_brackets(sentence: str) -> None:
    found = VerifyAnswer(None)(sentence, [Passage(f"Before. {sentence} After.", id="a")], Deadline.after(10))

    [one] = found.sentences
    assert (one.status, one.reason, one.text) == ("verified", None, sentence)


def test_verify_separates_a_marker_from_a_bracket_of_a_source() -> None:
    sources = [Passage("Glue dries slowly [1].", id="a"), Passage("Tape holds at once.", id="b")]

    found = VerifyAnswer(None)("Glue dries slowly [1]. Tape holds at once [2].", sources, Deadline.after(10))

    assert [one.status for one in found.sentences] == ["verified", "verified"]
    assert [one.evidence[0].passage.id for one in found.sentences] == ["a", "b"]
