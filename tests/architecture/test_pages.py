"""Pages that are written by code are what the code says."""

from __future__ import annotations

import pytest

from pages.__main__ import DOCS, PAGES
from readers.formats import FORMATS


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_make_docs_writes(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "run: make docs"


@pytest.mark.parametrize("heading", ["| format | the parsed text |", "| format | left out |"])
def test_the_page_of_formats_has_a_row_for_every_format_in_order(heading: str) -> None:
    rows = (DOCS / "formats.md").read_text("utf-8").partition(heading)[2].partition("\n\n")[0].splitlines()[2:]
    shown = [row.strip("| ").partition(" | ")[0] for row in rows]

    assert [name.partition(" (")[0] for name in shown] == [each.title.partition(" (")[0] for each in FORMATS.values()]
    assert all(suffix in name for name in shown if " (." in name for suffix in _suffixes(name))


def _suffixes(shown: str) -> tuple[str, ...]:
    return next(each.suffixes for each in FORMATS.values() if shown.startswith(f"{each.title} ("))
