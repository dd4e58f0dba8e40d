"""The change script finds what a careless sync leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from benchmarks.change import change_table, lived, ragdrop
from benchmarks.change_script import Counts, GivenText, Step, markers, steps


class Holding:
    """Gives every text that it holds for every question; *forgets* says whether it notices deletions."""

    def __init__(self, *, forgets: bool = True, doubles: bool = False, loses: bool = False) -> None:
        self._forgets, self._doubles, self._loses = forgets, doubles, loses
        self._texts: list[GivenText] = []

    def sync(self, step: Step) -> None:
        """Take the whole folder."""
        values = [] if self._forgets else self._texts
        now = [GivenText(path, text) for path, text in step.files.items()]
        self._texts = [*values, *(each for each in now if each not in values)]
        self._texts = [*self._texts, *now[:1]] if self._doubles else self._texts
        self._texts = self._texts[1:] if self._loses else self._texts

    def answers(self, words: Sequence[str]) -> list[list[GivenText]]:
        """What holds the word."""
        return [[each for each in self._texts if word in markers(each.text)] for word in words]

    def whole(self, files: Mapping[str, str]) -> list[GivenText]:
        """All of it."""
        return self._texts


def total(life: Holding) -> Counts:
    return sum(lived(cast("Any", life), steps(10)), Counts())


def test_one_that_takes_the_folder_as_it_is_has_nothing_wrong() -> None:
    assert total(Holding()) == Counts(0, 0, 0)


def test_one_that_never_forgets_gives_stale_text() -> None:
    assert total(Holding(forgets=False)).stale > 0


def test_one_that_writes_twice_gives_duplicates() -> None:
    assert total(Holding(doubles=True)).double > 0


def test_one_that_loses_a_file_misses_its_paragraphs() -> None:
    assert total(Holding(loses=True)).missing > 0


@pytest.mark.parametrize("at", range(1, 12))
def test_every_step_changes_something(at: int) -> None:
    before, step = steps(10)[at - 1 : at + 1]

    assert step.changes
    assert (before.files == step.files) is (
        step.name in {"put the same bytes again", "overwrite, then put the earlier version back"}
    )


def test_the_table_sums_what_was_counted() -> None:
    cell = {"stale": 2, "double": 1, "missing": 0}

    text = change_table({"systems": {"x": {"counts": [cell, cell], "settings": "s"}}, "steps": ["a", "b"]})

    assert "| x | 4 | 2 | 0 | s |" in text


def test_ragdrop_in_memory_is_composed_and_shows_nothing_stale_double_or_missing() -> None:
    with ragdrop() as life:
        assert sum(lived(life, steps(10)[:2]), Counts()) == Counts()
