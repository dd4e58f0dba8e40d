"""The calibrated scale: what it promises of every curve, and which calibration is in force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdrop.domain.models import SHIPPED, Calibration, Curve, EmbeddingSpace, for_space
from ragdrop.domain.tenants import ActiveIndex, ChunkingPlan, Tenant, calibration_of

SPACE = EmbeddingSpace("all-MiniLM-L6-v2", 384)
curves = st.builds(Curve, st.floats(-1, 60), st.floats(0.001, 20))
scores = st.floats(-100, 100)


@given(curves, scores, scores)
def test_relevance_lies_in_0_to_1_and_never_falls_as_the_score_rises(curve: Curve, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert 0.0 <= curve(low) <= curve(high) <= 1.0


@given(curves)
def test_the_operating_point_is_worth_070(curve: Curve) -> None:
    assert curve(curve.operating_point) == pytest.approx(0.7)


@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "nomic-embed-text", "text-embedding-3-small", "unheard-of"])
def test_a_hit_at_the_noise_floor_could_not_be_lifted_over_the_threshold(model: str) -> None:
    shipped = for_space(EmbeddingSpace(model, 384))

    assert shipped.relevance(shipped.noise_floor) == pytest.approx(0.05)
    assert shipped.noise_floor < shipped.vector.operating_point


@pytest.mark.parametrize(
    ("model", "basis"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", "measured"),
        ("nomic-embed-text:latest", "estimated"),
        ("mxbai-embed-large", "estimated"),
        ("intfloat/multilingual-e5-small", "measured"),
        ("BAAI/bge-small-en", "estimated"),
        ("BAAI/bge-small-en-v1.5", "estimated"),
        ("text-embedding-3-small", "estimated"),
        ("my-text-embedding-3-small-clone", "generic"),
    ],
)
def test_models_are_known_by_their_common_names(model: str, basis: str) -> None:
    assert for_space(EmbeddingSpace(model, 384)).basis == basis


def test_every_shipped_curve_names_the_source_of_its_numbers() -> None:
    assert all(each.source for each in SHIPPED)


def test_a_chunk_of_which_no_score_is_known_has_no_relevance() -> None:
    assert for_space(SPACE).relevance(None, None) == 0.0


def test_a_lexical_score_counts_only_where_there_is_a_lexical_fit() -> None:
    unfitted = for_space(SPACE)
    fitted = replace(unfitted, lexical=Curve(5.0, 1.0))

    assert unfitted.relevance(None, 9.0) == 0.0
    assert fitted.relevance(None, 9.0) > 0.9
    assert fitted.relevance(0.1, 9.0) == unfitted.relevance(0.1)


def tenant_with(fit: Calibration | None, space: EmbeddingSpace) -> Tenant:
    return Tenant("acme", ActiveIndex("i", space, ChunkingPlan()), calibration=fit)


def test_a_tenants_own_fit_is_in_force() -> None:
    fit = Calibration(SPACE, Curve(0.3, 0.05), basis="fitted")

    assert calibration_of(tenant_with(fit, SPACE)) is fit


def test_a_vault_has_its_own_fit_and_another_one_the_shipped_curve() -> None:
    fit = Calibration(SPACE, Curve(0.3, 0.05), basis="fitted")
    tenant = replace(tenant_with(None, SPACE), fits={"team": fit})

    assert calibration_of(tenant, "team") is fit
    assert calibration_of(tenant, "hr") == for_space(SPACE)


@pytest.mark.parametrize(
    "other",
    [
        replace(SPACE, model="nomic-embed-text"),
        replace(SPACE, dimension=768),
        replace(SPACE, query_prefix="query: "),
        replace(SPACE, passage_prefix="passage: "),
    ],
)
def test_a_fit_of_another_embedding_space_is_never_used(other: EmbeddingSpace) -> None:
    fit = Calibration(SPACE, Curve(0.3, 0.05), basis="fitted")

    assert calibration_of(tenant_with(fit, other)) == for_space(other)
