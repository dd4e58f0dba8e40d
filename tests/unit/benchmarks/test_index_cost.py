"""What the cost page says of the two kinds of index."""

from __future__ import annotations

import pytest

from pages.__main__ import page
from pages.cost_index import ASKED, LARGE_QUESTIONS, SIZES, bucket_month, opensearch_month, table


def test_an_index_that_nobody_asks_costs_cents() -> None:
    assert sum(bucket_month(100_000, 0).values()) < 0.10


@pytest.mark.parametrize("kind", ["storage", "hourly check", "searches", "copies"])
def test_no_part_becomes_cheaper_with_more_chunks_or_questions(kind: str) -> None:
    by_size = [bucket_month(size, 1_000)[kind] for size in SIZES]
    by_questions = [bucket_month(100_000, asked)[kind] for asked in ASKED]

    assert by_size == sorted(by_size)
    assert by_questions == sorted(by_questions)


def test_the_domain_costs_its_node_and_the_bucket_index_behind_it() -> None:
    behind = sum(bucket_month(1_000_000, 0).values())

    assert opensearch_month(1_000_000, 100_000) == pytest.approx(0.128 * 730 + 20 * 0.122 + behind)


def test_many_questions_over_many_chunks_are_cheaper_on_a_domain() -> None:
    assert sum(bucket_month(3_000_000, LARGE_QUESTIONS).values()) > opensearch_month(3_000_000, LARGE_QUESTIONS)


def test_the_page_has_a_row_for_each_size_and_number_of_questions() -> None:
    rows = [line for line in table().splitlines() if line.startswith("| 1")]

    assert len(rows) == len(SIZES) * len(ASKED)
    assert rows[0] in page("cost.md")
