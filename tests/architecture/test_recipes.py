"""The status line of every recipe is true: it names tests that there are, or says that nothing was run."""

from __future__ import annotations

import re

import pytest

from tests.architecture.cloudformation import REPOSITORY

PAGE = (REPOSITORY / "docs/recipes.md").read_text("utf-8")
RECIPES = {part.partition("\n")[0]: " ".join(part.split()) for part in PAGE.split("\n## ")[1:]}
STATUS = re.compile(r"Status: (run by (?P<tests>tests/.+)|not run \(.+\)).*\.$")
NAMED = re.compile(r"(tests/[\w/]+\.py)(?:::(\w+))?")
NAMES = "Open WebUI,LibreChat,Claude Desktop,Claude Code,Obsidian,n8n,LangChain,LlamaIndex,Haystack,Slack,aws s3 sync"


def test_there_is_a_recipe_for_every_program_that_people_use() -> None:
    assert [name for name in NAMES.split(",") if not any(name in heading for heading in RECIPES)] == []


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_whose_blocks_are_not_run_as_they_stand_has_a_status(heading: str) -> None:
    text = RECIPES[heading]
    run_as_it_is = re.search(r"```(sh|bash|console|python) ", text) and "<!-- not run:" not in text

    assert bool(run_as_it_is) != bool(STATUS.search(text))


@pytest.mark.parametrize("heading", [heading for heading, text in RECIPES.items() if "Status: run by" in text])
def test_a_status_names_tests_that_there_are(heading: str) -> None:
    found = STATUS.search(RECIPES[heading])
    named = NAMED.findall(found["tests"] if found else "")

    assert named
    for file, function in named:
        assert f"def {function}(" in (REPOSITORY / file).read_text("utf-8")
