"""The fit of a calibration: what it promises of tenants that are small, odd, or unlike the model's others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.calibration.calibrate import MIN_PAIRS, ObservedScores, fit_curve, fitted, is_due, usable_titles
from ragdrop.domain.models import Calibration, Curve, EmbeddingSpace, for_space
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant

AT = "2026-01-02T03:04:05Z"
MINILM = EmbeddingSpace("all-MiniLM-L6-v2", 384)
UNKNOWN = EmbeddingSpace("somebodys-model", 384)
NOTHING = ObservedScores((), (), ())
cosines = st.lists(st.floats(-1, 1), min_size=MIN_PAIRS, max_size=60).map(tuple)


def tenant(space: EmbeddingSpace = MINILM, documents: int = 100, calibration: Calibration | None = None) -> Tenant:
    return Tenant("acme", ActiveIndex("i", space, ChunkingPlan()), documents=documents, calibration=calibration)


def evidence(own: float, noise: float, *, pairs: int = 100) -> ObservedScores:
    return ObservedScores((own,) * pairs, (noise - 0.1,) * 400, (noise,) * 48)


@given(cosines, cosines, cosines)
def test_whatever_the_evidence_the_curve_is_one(
    own: tuple[float, ...], random: tuple[float, ...], off_topic: tuple[float, ...]
) -> None:
    found = fitted(tenant(), ObservedScores(own, random, off_topic), NOTHING, at=AT)

    assert found is not None
    assert -1.0 <= found.vector.operating_point <= 1.0
    assert found.vector.width > 0
    assert found.relevance(found.vector.operating_point) == pytest.approx(0.7)


def test_off_topic_questions_stay_under_the_threshold_and_typical_titles_are_over_it() -> None:
    curve = fit_curve(evidence(own=0.7, noise=0.2))

    assert curve(0.2) < 0.1
    assert curve(0.7) > 0.9


def test_the_scale_of_a_model_does_not_matter() -> None:
    wide, narrow = fit_curve(evidence(own=0.7, noise=0.1)), fit_curve(evidence(own=0.91, noise=0.85))

    assert narrow(0.85 + 0.06 * 0.5) == pytest.approx(wide(0.1 + 0.6 * 0.5), abs=1e-3)


def test_a_few_questions_that_the_tenant_does_answer_do_not_raise_its_threshold() -> None:
    usual = evidence(own=0.7, noise=0.2)
    cook = replace(usual, off_topic=(0.2,) * 40 + (0.8,) * 8)

    assert fit_curve(cook) == fit_curve(usual)


def test_headings_that_say_nothing_of_their_text_do_not_move_the_threshold_while_they_are_few() -> None:
    usual = evidence(own=0.7, noise=0.2)

    assert fit_curve(replace(usual, own=usual.own + (0.05,) * 40)) == fit_curve(usual)


def test_few_pairs_leave_a_known_model_near_its_shipped_curve() -> None:
    shipped = for_space(MINILM).vector.operating_point
    far = evidence(own=0.95, noise=0.75, pairs=MIN_PAIRS)

    found = fitted(tenant(), far, NOTHING, at=AT)

    assert found is not None
    assert shipped < found.vector.operating_point < shipped + 0.06


def test_many_pairs_outweigh_the_curve_of_a_model_that_nobody_knows() -> None:
    own_point = fit_curve(evidence(own=0.95, noise=0.75)).operating_point

    found = fitted(tenant(UNKNOWN), evidence(own=0.95, noise=0.75), NOTHING, at=AT)

    assert found is not None
    assert found.vector.operating_point == pytest.approx(own_point, abs=0.03)


def test_too_few_pairs_give_no_fit() -> None:
    assert fitted(tenant(), evidence(own=0.7, noise=0.2, pairs=MIN_PAIRS - 1), NOTHING, at=AT) is None


def test_a_fit_says_what_it_is_of() -> None:
    found = fitted(tenant(documents=77), evidence(own=0.7, noise=0.2), NOTHING, at=AT)

    assert found is not None
    assert (found.space, found.basis, found.pairs, found.documents) == (MINILM, "fitted", 100, 77)
    assert (found.separation, found.fitted_at) == (1.0, AT)


@pytest.mark.parametrize(("own", "fits"), [((20.0,) * 40, True), ((1.0,) * 40, False), ((20.0,) * 10, False)])
def test_words_are_calibrated_only_where_they_tell_topics_apart(own: tuple[float, ...], *, fits: bool) -> None:
    words = ObservedScores(own, (), (2.0,) * 48)

    found = fitted(tenant(), evidence(own=0.7, noise=0.2), words, at=AT)

    assert found is not None
    assert (found.lexical is not None) == fits


def test_titles_that_several_documents_share_are_no_questions() -> None:
    assert usable_titles([["Overview of it", "Pump P-7 leaks"], ["Overview  of it"], ["overview OF it"]]) == [
        ["Pump P-7 leaks"],
        [],
        [],
    ]


@pytest.mark.parametrize("title", ["", "Introduction", "1.2.3 - 4", "a b", "v2 (2024-01-02 10:00:00)"])
def test_titles_that_are_not_in_words_are_no_questions(title: str) -> None:
    assert usable_titles([[title]]) == [[]]


@pytest.mark.parametrize("title", ["How pumps fail", "水泵故障的原因分析", "Größenangaben für Pumpen"])
def test_titles_of_any_script_are_questions(title: str) -> None:
    assert usable_titles([[title]]) == [[title]]


def fit(documents: int, space: EmbeddingSpace = MINILM) -> Calibration:
    return Calibration(space, Curve(0.4, 0.05), basis="fitted", documents=documents)


@pytest.mark.parametrize(
    ("grown", "due"),
    [
        (tenant(documents=19), False),
        (tenant(documents=20), True),
        (tenant(documents=39, calibration=fit(20)), False),
        (tenant(documents=40, calibration=fit(20)), True),
        (tenant(documents=20, calibration=fit(20, UNKNOWN)), True),
    ],
)
def test_a_fit_is_due_at_20_documents_at_each_doubling_and_after_a_change_of_model(grown: Tenant, *, due: bool) -> None:
    assert is_due(grown) == due
