"""How much of a question stands in a chunk, and what that adds to its relevance."""

from __future__ import annotations

import pytest

from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.models import COVERAGE_CEILING, Calibration, Curve, EmbeddingSpace
from ragdrop.query.fusion import coverage, lacking_names

CALIBRATION = Calibration(EmbeddingSpace("model", 8), Curve(0.42, 0.05))


def hit(name: str, text: str, *headings: str, title: str = "") -> Hit:
    return Hit(DocumentKey("acme", "team", name), 1, Chunk(0, 0, len(text), text, headings), Facts(title, "v1", ""))


def shares(question: str, *hits: Hit) -> list[float]:
    covered = coverage(question, hits)
    return [covered[one.chunk_id] for one in hits]


def test_a_chunk_that_holds_every_word_has_one_and_a_chunk_that_holds_none_has_zero() -> None:
    assert shares("Where is the pump?", hit("a", "The pump stands here."), hit("b", "A valve.")) == [1.0, 0.0]


def test_a_rare_word_weighs_more_than_one_that_many_candidates_hold() -> None:
    many = [hit(f"m{number}", "the pump") for number in range(20)]
    rare, common, *_ = shares("pump QX-5521", hit("a", "QX 5521"), *many)

    assert rare > common > 0.0


def test_headings_and_title_count_as_what_stands_under_them_does() -> None:
    assert shares("pump code", hit("a", "QX-5521", "Codes", title="The pump")) == [1.0]


def test_a_question_without_its_own_words_is_covered_by_nothing() -> None:
    assert shares("What is it?", hit("a", "What it is")) == [0.0]
    assert shares("?!", hit("a", "What it is")) == [0.0]


def test_a_question_about_something_else_gets_no_lift() -> None:
    [share] = shares("Which provider charges guests by credit card?", hit("a", "Guests come by the door."))

    assert share < COVERAGE_CEILING


def test_relevance_never_falls_as_cosine_or_coverage_rise() -> None:
    steps = [number / 20 for number in range(21)]
    for fixed in steps:
        by_words = [CALIBRATION.relevance(fixed, coverage=share) for share in steps]
        by_cosine = [CALIBRATION.relevance(cosine, coverage=fixed) for cosine in steps]
        assert by_words == sorted(by_words)
        assert by_cosine == sorted(by_cosine)


def test_every_word_of_the_question_lifts_from_the_noise_floor_to_the_operating_point_and_no_further() -> None:
    assert CALIBRATION.relevance(CALIBRATION.noise_floor, coverage=1.0) == pytest.approx(0.7)
    assert CALIBRATION.relevance(CALIBRATION.noise_floor - 0.01, coverage=1.0) < 0.7
    assert CALIBRATION.relevance(0.42, coverage=COVERAGE_CEILING) == pytest.approx(0.7)


def test_an_ending_or_an_arabic_article_hides_no_word_of_another_language() -> None:
    assert shares("Wer wartet die Pumpe?", hit("a", "Gewartet wird nicht: wir warten Pumpen.")) == [1.0]
    assert shares("من هو اللاعب الذي سجل؟", hit("a", "سجل لاعب نقاطا")) == [1.0]


def test_a_chunk_without_the_name_that_a_question_gives_is_worth_less() -> None:
    named, other = hit("a", "Ada wrote to Charles Babbage."), hit("b", "He wrote letters.")
    lacking = lacking_names("When did Babbage write?", [named, other])

    assert lacking == {named.chunk_id: 0.0, other.chunk_id: 1.0}
    assert CALIBRATION.relevance(0.42, lacking=1.0) < CALIBRATION.relevance(0.42) == pytest.approx(0.7)
    assert lacking_names("who wrote letters?", [named, other]) == {}
