"""Retired words are in no code, log, error, help text or page; `checks/words.py` has the word to write instead."""

from __future__ import annotations

import pytest

from checks.words import FOLDERS, SINGLE, Use, uses, uses_in_code, uses_in_prose


@pytest.mark.parametrize("place", [*FOLDERS, *SINGLE])
def test_no_retired_word_is_used(place: str) -> None:
    assert [str(use) for use in uses([place])] == []


@pytest.mark.parametrize(
    ("path", "source", "words"),
    [
        ("cli/planted.py", "wanted_size = 1  # told by the caller", ["wanted", "told"]),
        ("layers/planted.py", 'def keep() -> None:\n    """Say what is kept."""\n', ["kept"]),
        ("layers/planted.py", 'logger.info("goes on by itself")\n', ["goes on", "by itself"]),
        ("tests/unit/test_planted.py", "def test_what_is_buried_stays() -> None:\n    told = 1\n", ["buried"]),
    ],
)
def test_a_planted_word_is_reported(path: str, source: str, words: list[str]) -> None:
    assert [use.word for use in uses_in_code(path, source)] == words


def test_a_page_may_show_code_with_any_word() -> None:
    page = "It is `kept`.\n\n```sh\necho told\n```\nWhat is held expires.\n"

    assert list(uses_in_prose("docs/planted.md", page)) == [Use("docs/planted.md", 6, "held")]
