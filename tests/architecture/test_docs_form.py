"""Documentation is short, narrow and cites only pages that readers have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.documented import ROOT, pages

MAX_COLUMNS = 120
MAX_README_LINES = 150
SCREEN_LINES = 48
LAYER = ROOT / "layers/common/python"
NAMED_FROM = (ROOT, LAYER, LAYER / "ragdrop", LAYER / "ragdrop/page", ROOT / "cli/ragdrop_cli")  # by pages about code
NAMED = re.compile(r"`(\w[\w./-]*\.(?:py|js|yaml)|[a-z][\w/]+/)`")
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


def test_the_guide_to_aws_begins_with_two_commands_and_fits_on_two_screens() -> None:
    text = (ROOT / "docs/deploy.md").read_text("utf-8")
    first = text.partition("```bash\n")[2].partition("```")[0].splitlines()

    assert [command.split()[0] for command in first] == ["make", "ragdrop"]
    assert len(text.splitlines()) <= 2 * SCREEN_LINES


def test_no_file_cites_a_page_that_is_not_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    invented = ("tests/architecture/test_docs_form.py", "models/reader/data/")  # texts of documents that there are not
    paths = [ROOT / name for name in listed.splitlines() if not name.startswith(invented)]
    texts = [(path, path.read_bytes().decode("utf-8", "ignore")) for path in paths if path.is_file()]

    assert [path.name for path, text in texts if NOT_IN_THE_REPOSITORY.search(text)] == []


@pytest.mark.parametrize("page", ["docs/tour.md", "docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_about_the_code_names_exist(page: str) -> None:
    named = set(NAMED.findall((ROOT / page).read_text("utf-8")))

    assert sorted(name for name in named if not any((base / name).exists() for base in NAMED_FROM)) == []
    assert named


def test_the_table_of_the_tour_names_every_package_of_the_layer() -> None:
    folders = [LAYER, LAYER / "ragdrop"]
    packages = {path.name for each in folders for path in each.iterdir() if any(path.glob("*.py"))} - {"ragdrop"}

    assert sorted(each for each in packages if f"`{each}`" not in (ROOT / "docs/tour.md").read_text("utf-8")) == []
