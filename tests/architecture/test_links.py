"""Every relative link of README and docs leads to a file, and to a heading where it names one; no page stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.documented import ROOT, pages

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links_of(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    return [link for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)]


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)

    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)}
        waiting += [each for each in targets if each.suffix == ".md" and each.is_file() and each not in reached]

    assert [page.relative_to(ROOT).as_posix() for page in pages() if page not in reached] == []


def missing_modules(text: str) -> list[str]:
    """The paths of modules in *text* that end the path of no file."""
    rooms = ("layers", "functions", "cli", "localstack", "benchmarks", "pages", "checks", "testing", "tests")
    there = [f"/{path.relative_to(ROOT).as_posix()}" for room in rooms for path in (ROOT / room).rglob("*.py")]
    named = re.findall(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)`", text)
    return [name for name in named if not any(path.endswith(f"/{name}") for path in there)]


OF_FILES = ROOT / "docs/evidence/formats-outcomes.md"  # names samples, not modules


@pytest.mark.parametrize(
    "page", [page for page in pages() if page != OF_FILES], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    assert missing_modules(page.read_text("utf-8")) == []


def test_a_module_that_is_gone_is_found() -> None:
    assert missing_modules("See `api/cross_origin.py` and `query/search.py`.") == ["api/cross_origin.py"]
