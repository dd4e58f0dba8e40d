"""What every ChunkIndex does for link following: links of first chunks, the nearest chunk of given revisions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.chunks import Vector, vector
from ragdrop.domain.links import Link
from tests.contract.chunk_index_suite import DIMENSION, Engine, now, paths

LINKS = (Link("b c.md", "the größe"), Link("[[d]]"))


def axis(number: int, other: float = 0.0) -> Vector:
    return vector([1.0 if place == number else other if place == number + 1 else 0.0 for place in range(DIMENSION)])


def test_links_come_back_with_the_first_chunk_and_facts_as_they_were(engine: Engine) -> None:
    first = replace(engine.piece("a.md", "pump", tags=("x",)), links=LINKS)
    engine.write(first, engine.piece("a.md", "seal", ordinal=1))

    found = engine.read("a.md")

    assert [hit.links for hit in found] == [LINKS, ()]
    assert found[0].facts == first.facts
    assert engine.words("pump")[0].links == LINKS


def test_of_given_revisions_the_nearest_chunk_comes_best_first_with_the_links_of_the_first(engine: Engine) -> None:
    engine.write(
        replace(engine.piece("a.md", near=axis(4)), links=LINKS),
        engine.piece("a.md", near=axis(0, 0.5), ordinal=1),
        engine.piece("b.md", near=axis(0)),
        engine.piece("b.md", near=axis(0), revision=2),
        engine.piece("c.md", near=axis(0)),
    )
    asked = [(engine.key("a.md"), 1), (engine.key("b.md"), 2), (engine.key("missing.md"), 1)]

    found = engine.chunks.nearest_of(engine.ref, axis(0), asked, now())

    assert [(hit.key.path, hit.revision, hit.chunk.ordinal) for hit in found] == [("b.md", 2, 0), ("a.md", 1, 1)]
    assert [hit.score for hit in found] == pytest.approx([1.0, 0.894427], abs=engine.cosine_error)
    assert [hit.links for hit in found] == [(), LINKS]


def test_without_a_vector_the_first_chunks_come(engine: Engine) -> None:
    engine.write(
        replace(engine.piece("a.md", near=axis(0)), links=LINKS),
        engine.piece("a.md", near=axis(0), ordinal=1),
        engine.piece("b.md", near=vector([0.0] * DIMENSION)),
    )
    asked = [(engine.key("a.md"), 1), (engine.key("b.md"), 1)]

    found = engine.chunks.nearest_of(engine.ref, None, asked, now())

    assert sorted((hit.key.path, hit.chunk.ordinal, hit.score) for hit in found) == [("a.md", 0, 0.0), ("b.md", 0, 0.0)]
    with_vector = engine.chunks.nearest_of(engine.ref, axis(0), asked, now())
    assert paths(with_vector) == ["a.md", "b.md"]
    assert with_vector[1].score == 0.0


def test_a_long_document_does_not_hide_the_others(engine: Engine) -> None:
    engine.write(*(engine.piece("long.md", near=axis(0), ordinal=number) for number in range(300)))
    engine.write(engine.piece("short.md", near=axis(0, 1.0)))

    found = engine.chunks.nearest_of(engine.ref, axis(0), [(engine.key(p), 1) for p in ("long.md", "short.md")], now())

    assert paths(found) == ["long.md", "short.md"]


def test_another_tenants_revisions_are_never_given(engine: Engine) -> None:
    engine.write(engine.piece("a.md", near=axis(0)))
    foreign = engine.key("a.md")._replace(tenant="t-other")

    assert engine.chunks.nearest_of(engine.ref, axis(0), [(foreign, 1)], now()) == []
    assert engine.chunks.nearest_of(engine.ref, axis(0), [], now()) == []
    assert engine.chunks.nearest_of(replace(engine.ref, tenant="t-other"), axis(0), [(foreign, 1)], now()) == []
