"""Superscripts, subscripts and merged cells keep their meaning in plain text."""

from __future__ import annotations

import pytest

from readers.markdown_writer import MAX_COLUMNS, grid, lowered, raised
from readers.read_errors import UnsafeFileError


def row(*cells: str) -> str:
    """A row of an OpenDocument table."""
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


@pytest.mark.parametrize(
    ("before", "text", "read"),
    [
        ("10", "-6", "10⁻⁶"),
        ("Ca", "2+", "Ca²⁺"),
        ("10", "6.5", "10^6.5"),
        ("word", "1,2", "word^1,2"),
        ("f", "(n)", "f^(n)"),
        ("x", "∞", "x^∞"),
        ("5", "[1]", "5 [1]"),
        ("5", "†", "5†"),
        ("€ 5", ".90", "€ 5.90"),
        ("12", "b", "12^b"),
        ("XIX", "e", "XIXe"),
        ("n", "o", "nº"),
        ("n", "th", "nth"),
        ("see", "citation needed", "see citation needed"),
    ],
)
def test_a_superscript_is_not_read_as_a_part_of_what_it_stands_behind(before: str, text: str, read: str) -> None:
    assert before + raised(text, before) == read


def test_small_print_that_is_a_subscript_from_its_first_word_on_has_no_sign() -> None:
    assert lowered("measured", "") == "measured"


def test_cells_that_reach_over_several_rows_and_columns_at_once_are_filled() -> None:
    rows = grid([[("a", 1, 1), ("b", 2, 2)], [("c", 1, 1)], [("d", 1, 1), ("e", 1, 1), ("f", 1, 1)]])

    assert rows == [["a", "b", "b"], ["c", "b", "b"], ["d", "e", "f"]]


def test_a_cell_of_no_rows_reaches_to_the_last() -> None:
    assert grid([[("a", 0, 1), ("b", 1, 1)], [("c", 1, 1)], [("d", 1, 1)]]) == [["a", "b"], ["a", "c"], ["a", "d"]]


def test_spans_beyond_the_ends_of_a_table_make_no_cells() -> None:
    rows = grid([[("a", 65_534, 10_000)], [("b", 1, 1)]])

    assert [len(row) for row in rows] == [MAX_COLUMNS, MAX_COLUMNS]


def test_a_table_of_spans_alone_is_refused() -> None:
    with pytest.raises(UnsafeFileError, match="1000000"):
        grid([[("a", 0, MAX_COLUMNS)], *([[]] * 3_000)])
