"""The models that the README has recipes for: each has a shipped calibration and an index of its dimension."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ragdrop.domain.chunks import CandidateQuery, Filters
from ragdrop.domain.models import EmbeddingSpace, for_space, model_window_tokens
from tests.contract.chunk_index_suite import Engine, new_ref, now, random_vector

README = Path(__file__).parents[2] / "README.md"
RECIPES = {"all-MiniLM-L6-v2": 384, "nomic-embed-text": 768, "mxbai-embed-large": 1_024}


@pytest.mark.parametrize(("model", "dimension"), RECIPES.items())
def test_an_index_of_a_recipes_dimension_finds_the_nearest_chunk(engine: Engine, model: str, dimension: int) -> None:
    sized = replace(engine, ref=new_ref(dimension=dimension))
    source = random.Random(model)
    near, far = random_vector(source, dimension), random_vector(source, dimension)
    sized.chunks.upsert(sized.ref, [sized.piece("near.md", near=near), sized.piece("far.md", near=far)], now())
    sized.chunks.refresh([sized.ref], now())

    found = sized.chunks.candidates(sized.ref, [CandidateQuery(None, near, Filters(), 2)], now())[0].vector
    sized.chunks.drop(sized.ref, now())

    assert found[0].key.path == "near.md"
    assert found[0].score == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("model", "dimension"), RECIPES.items())
def test_a_recipes_model_has_its_own_window_and_calibration(model: str, dimension: int) -> None:
    unknown = for_space(EmbeddingSpace("nobody-knows-this-model", dimension))

    assert for_space(EmbeddingSpace(model, dimension)).vector != unknown.vector
    assert model_window_tokens(model) >= 256


@pytest.mark.parametrize("model", ["nomic-embed-text", "mxbai-embed-large", "mistral"])
def test_the_readme_says_how_to_use_it(model: str) -> None:
    assert model in README.read_text("utf-8")
