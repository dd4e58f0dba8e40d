"""The load's own arithmetic: percentiles, shares, the budget's lines, and how memory grows."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.load import figures, growth, missed_budgets, percentile, questions


def sample(at_s: float, ms: float, **reported: Any) -> dict[str, Any]:
    return {"kind": "search", "at_s": at_s, "ms": ms, "status": 200, "fallback": False, "latency_ms": ms / 2} | reported


def test_a_percentile_is_a_value_that_was_seen() -> None:
    values = [float(each) for each in range(1, 101)]

    assert [percentile(values, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50.0, 95.0, 99.0, 100.0]


def test_searches_are_counted_apart_from_requests_that_are_refused_for_want_of_a_key() -> None:
    samples = [sample(0.0, 40.0), sample(1.0, 60.0), sample(0.5, 5.0, kind="refused", status=401)]

    found = figures(samples)

    assert (found["requests"], found["errors"], found["gateway_p50_ms"], found["a_second"]) == (2, 0.0, 5.0, 2.0)


def test_what_does_not_answer_200_is_an_error_and_named_by_its_code() -> None:
    found = figures([sample(0.0, 40.0), sample(1.0, 60.0, status=504, code="TIMEOUT")])

    assert (found["errors"], found["codes"]) == (0.5, ["504 TIMEOUT"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p95_ms": 300.0}, "p95 300 ms"),
        ({"p99_ms": 500.0}, "p99 500 ms"),
        ({"errors": 0.01, "codes": ["504 TIMEOUT"]}, "errors 1.0% (504 TIMEOUT)"),
        ({"fallbacks": 0.05}, "fallback 5.0%"),
    ],
)
def test_each_line_of_the_budget_that_is_missed_is_named(change: dict[str, Any], said: str) -> None:
    good = {"p95_ms": 299.0, "p99_ms": 499.0, "errors": 0.009, "fallbacks": 0.049}

    assert missed_budgets(good) == []
    assert missed_budgets(good | change) == [said]
    assert missed_budgets(good | {"spike": good | change}) == [f"spike {said}"]


def test_memory_that_stays_grows_by_nothing() -> None:
    assert growth([(0, 90.0), (500, 90.0), (1000, 90.0)]) == 0.0
    assert growth([(0, 90.0), (500, 91.0), (1000, 92.0)]) == pytest.approx(2.0)


def test_questions_are_distinct_the_same_for_a_seed_and_in_the_words_of_the_texts() -> None:
    texts = [f"The valve number {each} of the northern hall is closed by hand before every storm." for each in range(9)]

    found = questions(texts, 40, seed=5)

    assert len(set(found)) == 40
    assert found == questions(texts, 40, seed=5)
    assert all(set(question.rstrip("?").split()) & set(" ".join(texts).split()) for question in found)


def test_too_few_words_for_so_many_questions_are_said() -> None:
    with pytest.raises(ValueError, match="not 500"):
        questions(["short"], 500)
