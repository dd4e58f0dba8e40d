"""The picture of a terminal in the README is one of the commands that the README gives."""

from __future__ import annotations

import re
from html import unescape
from xml.etree import ElementTree

from pages.recording import COMMANDS, PICTURE, picture
from tests.e2e.documented import ROOT, blocks_of

SVG = PICTURE.read_text("utf-8")


def test_it_shows_the_two_commands_of_the_readme() -> None:
    first = next(block for block in blocks_of(ROOT / "README.md") if block.language == "sh")
    typed = [re.sub(r"\s+#.*", "", command) for command in first.commands]
    shown = unescape(SVG).replace("\xa0", " ")

    assert typed == list(COMMANDS)
    assert [command for command in COMMANDS if command not in shown] == []


def test_it_shows_an_answer_with_its_source() -> None:
    shown = unescape(SVG).replace("\xa0", " ")

    assert "Nightly backups are kept for 35 days." in shown
    assert "read back from S3" in shown


def test_it_is_a_picture_that_loads_nothing_from_elsewhere() -> None:
    drawn = picture([("ragdrop --version", "ragdrop 0.1.0\n")])

    for svg in (SVG, drawn):
        assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314 -- it is our own
        assert re.search(r"url\((?!#)|href=|<image|<script", svg) is None
