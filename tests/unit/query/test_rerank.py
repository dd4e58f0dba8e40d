"""Reranking moves candidates and nothing else, and a reranker that fails moves nothing."""

from __future__ import annotations

from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import RerankError
from ragdrop.query.candidates import MAX_RERANKED, NOT_RERANKED, rerank
from testing.memory_services import WordReranker


def reranked(reranker: WordReranker, texts: list[str]) -> tuple[list[str], list[str]]:
    return rerank(reranker, "red pump", texts, Deadline.after(10), text_of=lambda text: text)


def test_the_rerankers_order_is_taken_and_ties_stay_as_they_were() -> None:
    assert reranked(WordReranker(), ["blue", "a pump", "green", "red pump"])[0] == [
        "red pump",
        "a pump",
        "blue",
        "green",
    ]


def test_what_is_behind_the_fiftieth_keeps_its_place() -> None:
    texts = [f"text {number}" for number in range(MAX_RERANKED)] + ["red pump"]

    assert reranked(WordReranker(), texts)[0] == texts


def test_a_reranker_that_fails_leaves_the_order_and_a_warning() -> None:
    reranker = WordReranker()
    reranker.fail_with = RerankError("down", service="rerank")

    assert reranked(reranker, ["blue", "red pump"]) == (["blue", "red pump"], [NOT_RERANKED])
