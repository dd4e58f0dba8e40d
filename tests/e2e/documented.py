"""The commands that README and docs tell people to type: fenced blocks, and why some are not run by the tests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHELLS = {"sh", "bash", "console"}
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """One fenced block; `reason` says why it is not run, and is written above it in a comment `not run: …`."""

    page: str
    line: int
    language: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The command lines without comments, continued lines joined, the parts of a list apart."""
        joined = self.text.replace("\\\n", " ")
        return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


def pages() -> list[Path]:
    """Every page that people read: README, CONTRIBUTING and docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(*languages: str) -> list[Block]:
    """The blocks of *languages*, page by page."""
    return [block for page in pages() for block in blocks_of(page) if block.language in languages]


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of one page in their order."""
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        name = page.relative_to(ROOT).as_posix()
        yield Block(name, line, found["language"], found["text"], found["reason"] or "")


def block_under(page: Path, heading: str, *languages: str) -> Block:
    """The first block of *languages* (of commands, if none is given) below a line of a page."""
    text = page.read_text("utf-8")
    after = text[: text.index(f"\n{heading}\n")].count("\n") + 2
    return next(block for block in blocks_of(page) if block.line > after and block.language in (languages or SHELLS))


def words_after(command: str, program: str) -> list[list[str]]:
    """What follows *program* each time that it is called in a command line, up to an operator of the shell.

    >>> words_after("A=1 .venv/bin/ragdrop ask 'x y' | head", "ragdrop")
    [['ask', 'x y']]
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    calls: list[list[str]] = []
    inside = False
    for word in lexer:
        if set(word) <= set("|&;()"):
            inside = False
        elif inside:
            calls[-1].append(word)
        elif word.rpartition("/")[2] == program:
            calls.append([])
            inside = True
    return calls
