"""What every LayeredIndex does: chunks beside an index are found with it as one, and by nobody else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from ragdrop.domain.chunks import Vector, vector
from ragdrop.errors import ConfigurationError
from ragdrop.ports.indexes import LayeredIndex
from testing.models import word_vector
from tests.contract.chunk_index_suite import DIMENSION, Engine, chunk_index_engine, now, paths


@pytest.fixture(params=["memory", "bucket"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with chunk_index_engine(request.param, tmp_path / "copies") as made:
        yield made


def layered(engine: Engine, *pieces: Any) -> Engine:
    """The engine with *pieces* over it."""
    index = cast("LayeredIndex", engine.chunks).overlaid(engine.ref, pieces, now())
    return replace(engine, chunks=cast("Any", index))


def required(text: str) -> Vector:
    return word_vector(text, DIMENSION)


def test_both_are_found_by_words_and_vectors_and_the_index_alone_has_nothing_more(engine: Engine) -> None:
    engine.write(engine.piece("live.md", "the pump is blue"))
    over = layered(engine, engine.piece("then.md", "the pump is red"))

    assert sorted(paths(over.words("pump"))) == ["live.md", "then.md"]
    assert set(paths(over.near(required("the pump is red")))) == {"live.md", "then.md"}
    assert over.near(required("the pump is red"))[0].key.path == "then.md"
    assert paths(engine.words("pump")) == ["live.md"]
    assert (over.count(), engine.count()) == (2, 1)


def test_scores_are_those_of_one_index_that_holds_all(engine: Engine, tmp_path: Path) -> None:
    pieces = [engine.piece(f"{n}.md", f"page {n} about pumps and water" + " filler" * n) for n in range(8)]
    engine.write(*pieces[:5])
    over = layered(engine, *pieces[5:])
    with chunk_index_engine(engine.kind, tmp_path / "whole") as other:
        whole = replace(other, ref=engine.ref)
        whole.write(*pieces)
        expected = {hit.key.path: hit.score for hit in whole.words("water pump filler")}

        found = {hit.key.path: hit.score for hit in over.words("water pump filler")}

    assert found == pytest.approx(expected)


def test_a_chunk_of_the_layer_replaces_the_one_of_the_index(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "the old words"))
    over = layered(engine, engine.piece("a.md", "the new words"))

    assert paths(over.words("old")) == []
    assert [hit.chunk.text for hit in over.read("a.md")] == ["the new words"]
    assert over.count() == 1


def test_what_is_written_later_is_found_too(engine: Engine) -> None:
    over = layered(engine, engine.piece("then.md", "the pump is red"))
    assert paths(over.words("pump")) == ["then.md"]

    engine.write(engine.piece("later.md", "the pump is new"))

    assert sorted(paths(over.words("pump"))) == ["later.md", "then.md"]


def test_revisions_can_be_left_out_and_read(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "the pump is blue", revision=2))
    over = layered(engine, engine.piece("a.md", "the pump is red", revision=1))
    blue = frozenset({(engine.key("a.md"), 2)})

    assert [hit.revision for hit in over.words("pump", without=blue)] == [1]
    assert [
        hit.revision for hit in over.chunks.nearest_of(over.ref, required("pump"), [(engine.key("a.md"), 1)], now())
    ] == [1]


def test_a_vector_of_another_dimension_is_refused(engine: Engine) -> None:
    engine.write(engine.piece("a.md", "words"))
    odd = replace(engine.piece("b.md", "words"), vector=vector([1.0, 0.0]))

    if engine.kind == "bucket":
        with pytest.raises(ConfigurationError):
            layered(engine, odd)


def test_a_layer_whose_copy_was_removed_is_written_again(tmp_path: Path) -> None:
    with chunk_index_engine("bucket", tmp_path / "copies") as engine:
        engine.write(engine.piece("live.md", "the pump is blue"))
        over = layered(engine, engine.piece("then.md", "the pump is red"))
        shutil.rmtree(tmp_path / "copies")
        engine.write(engine.piece("later.md", "the pump is new"))

        assert sorted(paths(over.words("pump"))) == ["later.md", "live.md", "then.md"]
