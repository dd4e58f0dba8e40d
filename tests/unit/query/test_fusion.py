"""How vector and lexical hits become one ranking."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragdrop.domain.chunks import Chunk, Hit
from ragdrop.domain.documents import Facts
from ragdrop.domain.keys import DocumentKey
from ragdrop.query.fusion import Fused, Fusion, fuse

FACTS = Facts(title="", version_id="v1", indexed_at="2026-01-01T00:00:00Z")


def hit(name: str, score: float, *headings: str) -> Hit:
    return Hit(DocumentKey("acme", "team", name), 1, Chunk(0, 0, 1, "x", headings), FACTS, score)


def shown(fused: list[Fused]) -> list[tuple[str, float]]:
    return [(found.hit.key.path, round(found.score, 4)) for found in fused]


def blend(vector: list[Hit], lexical: list[Hit], *, weight: float = 0.6) -> list[Fused]:
    return fuse(vector, lexical, Fusion("blend", weight))


def test_a_blend_adds_each_score_as_a_share_of_the_best_of_its_list() -> None:
    fused = blend([hit("a", 0.8), hit("b", 0.4)], [hit("b", 9.0), hit("c", 3.0)], weight=0.5)

    assert shown(fused) == [("b", 0.75), ("a", 0.5), ("c", 0.1667)]


def test_the_weight_is_the_share_of_the_vector_score() -> None:
    vector, lexical = [hit("a", 0.9)], [hit("b", 5.0)]

    assert shown(blend(vector, lexical, weight=0.7)) == [("a", 0.7), ("b", 0.3)]


def test_a_chunk_that_lexical_search_alone_found_counts_with_its_cosine() -> None:
    worded = replace(hit("b", 5.0), cosine=0.4)

    fused = blend([hit("a", 0.8)], [worded], weight=0.6)

    assert shown(fused) == [("b", 0.7), ("a", 0.6)]
    assert [found.vector_score for found in fused] == [0.4, 0.8]


def test_asking_for_more_hits_changes_no_score_of_a_blend() -> None:
    vector, lexical = [hit("a", 0.9), hit("b", 0.6)], [hit("a", 8.0), hit("c", 2.0)]
    more = blend([*vector, hit("d", 0.1)], [*lexical, hit("e", 0.5)])

    assert shown(more)[: len(blend(vector, lexical))] == shown(blend(vector, lexical))


def test_a_cosine_below_zero_is_worth_no_more_than_zero() -> None:
    assert shown(blend([hit("a", 0.5), hit("b", -0.5)], [hit("a", 1.0)])) == [("a", 1.0), ("b", 0.0)]


def test_one_list_alone_decides_where_the_other_is_empty() -> None:
    assert shown(blend([], [hit("a", 4.0), hit("b", 1.0)], weight=0.9)) == [("a", 1.0), ("b", 0.25)]
    assert shown(blend([hit("a", 0.4)], [], weight=0.1)) == [("a", 1.0)]


def test_reciprocal_ranks_give_one_to_what_leads_both_lists() -> None:
    fused = fuse([hit("a", 0.9), hit("b", 0.8)], [hit("a", 7.0), hit("c", 6.0)], Fusion("rrf"))

    assert shown(fused)[0] == ("a", 1.0)
    assert {path for path, _ in shown(fused)[1:]} == {"b", "c"}


def test_a_heading_that_holds_every_word_of_the_question_adds_the_bonus_and_one_with_some_adds_none() -> None:
    vector = [hit("a", 1.0), hit("b", 0.5, "Pump codes"), hit("c", 0.5, "Pump")]

    fused = fuse(vector, [], Fusion(heading_bonus=0.1), question="What are the pump codes?")

    assert shown(fused) == [("a", round(1.0 / 1.1, 4)), ("b", round(0.6 / 1.1, 4)), ("c", round(0.5 / 1.1, 4))]


def test_the_bonus_takes_no_score_over_one_and_keeps_the_best_apart() -> None:
    fused = fuse([hit("a", 0.9, "Pump"), hit("b", 0.89, "Pump")], [], question="pump")

    assert [score for _, score in shown(fused)] == [1.0, pytest.approx(0.9899, abs=1e-4)]


@pytest.mark.parametrize("setting", ["blend:2", "blend:x", "sum", "", "rrf:1"])
def test_a_fusion_that_there_is_not_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=r"neither rrf nor blend|could not convert"):
        Fusion.of(setting)


def test_equal_scores_come_in_the_order_of_their_documents() -> None:
    fused = blend([hit("a", 0.5), hit("b", 0.5)], [])

    assert [found.hit.key.digest for found in fused] == sorted(found.hit.key.digest for found in fused)
