"""What the pages say that ragdrop has, lacks and answers is what the code has."""

from __future__ import annotations

import re

from pages.screenshots import FOLDER, is_current
from ragdrop import errors
from readers.formats import FORMATS
from tests.e2e.documented import ROOT

COMPARISON = (ROOT / "docs/comparison.md").read_text("utf-8")
TROUBLESHOOTING = (ROOT / "docs/troubleshooting.md").read_text("utf-8")
# What a page may deny only while it is so: the word, and the format or route that would make it untrue.
HELD = {
    "OCR": "picture",
    "scan": "picture",
    "picture": "picture",
    "spreadsheet": "spreadsheet",
    "slide": "presentation",
    "mail": "mail",
    "EPUB": "epub",
    "web page": "/app",
    "web interface": "/app",
    "MCP": "/mcp",
    "OpenAI": "/v1/chat/completions",
}
DENIAL = re.compile(r"\b(?:lacks|has no|does not (?:have|read)|cannot read|without)\b[^.]*", re.IGNORECASE)


def routes() -> str:
    """The paths of the template and of the API's modules."""
    modules = sorted((ROOT / "layers/common/python/ragdrop/api").rglob("*.py"))
    return "\n".join(path.read_text("utf-8") for path in (ROOT / "template.yaml", *modules))


def denied(page: str) -> list[str]:
    """Words of `HELD` that a sentence on ragdrop denies although the format or route is there."""
    about = [
        sentence
        for sentence in re.split(r"(?<=[.:])\s+", page)
        if re.search(r"\b(ragdrop|it) (has|lacks)", sentence, re.I)
    ]
    claims = " ".join(part for sentence in about for part in DENIAL.findall(" ".join(sentence.split())))
    there = set(FORMATS) | {"picture"} | {path for path in HELD.values() if path in routes()}
    return [word for word, what in HELD.items() if what in there and re.search(rf"\b{word}", claims)]


def test_the_comparison_denies_nothing_that_is_there() -> None:
    assert denied(COMPARISON) == []


def test_a_denial_of_what_is_there_is_found() -> None:
    old = "What it lacks, besides OCR and a web interface, are connectors; spreadsheets, slides and mail; agents."

    assert denied(f"A page. {old}") == ["OCR", "spreadsheet", "slide", "mail", "web interface"]


def test_the_comparison_lists_every_format() -> None:
    [row] = re.findall(r"^\| reads \| (.*) \|$", COMPARISON, re.MULTILINE)

    assert [held.title for held in FORMATS.values() if not re.search(rf"\b{held.title}\b", row)] == []


def test_the_comparison_lists_routes_that_are_there() -> None:
    [row] = re.findall(r"^\| answers at \| (.*) \|$", COMPARISON, re.MULTILINE)

    assert [path for path in re.findall(r"`(?:GET|POST) (\S+)`", row) if path not in routes()] == []


def test_troubleshooting_explains_every_code_of_an_error() -> None:
    codes = {held.code for held in vars(errors).values() if isinstance(held, type) and hasattr(held, "code")}

    assert sorted(code for code in codes if f"`{code}`" not in TROUBLESHOOTING) == []


def test_the_pictures_of_the_page_are_no_older_than_its_files() -> None:
    assert is_current(), "run: make screenshots, and commit docs/app"
    assert sorted(path.name for path in FOLDER.glob("*.png"))
