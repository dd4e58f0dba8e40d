"""Documentation is short, narrow and cites only pages that readers have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.documented import ROOT, pages

MAX_COLUMNS = 120
MAX_README_LINES = 150
NOT_IN_THE_REPOSITORY = re.compile(r"\b(?:(?:contract|design) [0-9]|(?:CONTRACT|DESIGN)\.md)", re.IGNORECASE)


def wide_lines(text: str) -> list[str]:
    """Lines of prose over the limit; tables, fenced blocks and addresses of pages are left out."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"https?://[^\s)]+", "", prose)
    lines = prose.splitlines()
    return [line for line in lines if len(line) > MAX_COLUMNS and not line.lstrip().startswith("|")]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_prose_is_at_most_120_columns_wide(page: Path) -> None:
    assert wide_lines(page.read_text("utf-8")) == []


def test_the_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= MAX_README_LINES


def test_no_file_cites_a_page_that_is_not_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.splitlines() if name != "tests/architecture/test_docs_form.py"]
    texts = [(path, path.read_bytes().decode("utf-8", "ignore")) for path in paths if path.is_file()]

    assert [path.name for path, text in texts if NOT_IN_THE_REPOSITORY.search(text)] == []
