"""The README promises only what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from typer.main import get_command

from ragdrop_cli.main import build

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
COMMAND_LINES = [
    line.strip()
    for block in re.findall(r"```(?:sh|console|bash)\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.strip() and not line.strip().startswith("#")
]


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    wanted = {target for line in COMMAND_LINES for target in re.findall(r"\bmake ([a-z-]+)", line)}

    assert wanted >= {"demo", "test"}
    assert {target for target in wanted if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


def test_every_ragdrop_command_of_the_readme_exists() -> None:
    commands = cast("Any", get_command(build())).commands
    wanted = {found for line in COMMAND_LINES for found in re.findall(r"ragdrop ([a-z]+)", line)}

    assert wanted
    assert wanted <= set(commands)


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if not link.startswith("http")]

    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
