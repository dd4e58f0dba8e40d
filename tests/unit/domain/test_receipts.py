"""A receipt too large for an item is shortened, and says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragdrop.domain.answers import MAX_RECEIPT_BYTES, shortened


def body(*, answer: str = "yes", quote: str = "q", citations: int = 1, chunks: int = 1) -> dict[str, Any]:
    return {
        "answer_id": "a",
        "question": "q" * 1_000,
        "answer": answer,
        "citations": [{"marker": number, "quote": quote} for number in range(citations)],
        "unsupported": [],
        "documents": [{"key": "acme/team/a.md"}],
        "retrieved": [{"chunk_id": f"{number:064}"} for number in range(chunks)],
    }


@pytest.mark.parametrize(
    "large",
    [
        body(chunks=6_000),
        body(quote="x" * 4_000, citations=200),
        body(answer="ä" * 300_000),
        body(answer="\U0001f600" * 300_000, citations=9_000, chunks=9_000),
    ],
    ids=["chunks", "quotes", "answer", "everything"],
)
def test_what_is_too_large_becomes_small_enough_and_says_so(large: dict[str, Any]) -> None:
    short = shortened(large)

    assert len(json.dumps(short, ensure_ascii=False).encode()) <= MAX_RECEIPT_BYTES
    assert short["shortened"] is True
    assert short["question"] == large["question"]
    assert large["answer"].startswith(short["answer"])
    assert short["answer"]


def test_an_ordinary_receipt_stays_whole() -> None:
    ordinary = body(answer="yes " * 2_000, citations=30, chunks=100)

    assert shortened(ordinary) == {**ordinary, "shortened": False}


def test_many_chunks_cost_no_quote_and_no_word_of_the_answer() -> None:
    large = body(answer="yes " * 1_000, quote="a quote of ordinary length", citations=20, chunks=6_000)

    short = shortened(large)

    assert len(short["retrieved"]) == 100
    assert (short["answer"], short["citations"]) == (large["answer"], large["citations"])
