"""Pages that are written by code are what the code says."""

from __future__ import annotations

import pytest

from pages.__main__ import DOCS, PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_make_docs_writes(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "run: make docs"
