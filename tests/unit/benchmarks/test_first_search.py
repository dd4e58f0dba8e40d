"""The benchmark of first searches: its cells are made, asked and compared as it says."""

from __future__ import annotations

from pathlib import Path

from benchmarks.first_search import Cell, ask_first, ask_warm, fill, goals, manifest, storm

FIGURES = {"first_ms": 700.0, "first_bytes": 9_000_000, "warm_ms": 50.0}
SMALL = Cell(1_200, 384)


def test_a_cell_is_filled_and_asked_by_environments_without_and_with_copies(tmp_path: Path) -> None:
    fill(tmp_path, SMALL, 0)

    first, warm = ask_first(tmp_path, SMALL), ask_warm(tmp_path, SMALL)

    assert [each.chunks for each in manifest(tmp_path, SMALL).segments] == [1_200]
    assert first["first_bytes"] > 0
    assert all(len(each) == 30 for each in warm["found"])
    assert warm["found"] == warm["found_by_range"]


def test_what_is_missed_is_bold_and_growth_needs_both_sizes() -> None:
    grid = goals(
        {"10000x384": {"warm_ms": 2.0}, "1000000x384": FIGURES}, {"vectors": 9, "copies": 0.995, "range": 0.98}
    )

    assert [(row[0].partition(",")[0], row[3]) for row in grid.rows] == [
        ("first search", "yes"),
        ("fetched by it", "yes"),
        ("hybrid p50", "no"),
        ("p50 beside 10", "no"),
        ("recall@30 of copies", "yes"),
        ("recall@30 of a first search", "no"),
    ]


def test_a_prefix_alone_fails_searches_that_twelve_answer() -> None:
    assert storm(100, 1) > 0.5
    assert storm(100, 12) == 0.0
