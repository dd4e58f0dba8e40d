"""Put generated parts between their marks in a page, and wrap its prose."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 120
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+\.)\s+)")
_FIXED = ("|", "#", "<!--", "![", ">")


def placed(page: str, name: str, text: str, *, by: str = "make docs") -> str:
    r"""The text of a *page* with *text* between the marks of the part *name*.

    Raises:
        ValueError: The page does not have the marks.

    >>> placed("<!-- a: written by make docs -->\n<!-- end of a -->", "a", "new").splitlines()[1]
    'new'
    """
    first, last = f"<!-- {name}: written by {by} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(first)}.*?{re.escape(last)}", re.DOTALL)
    written, count = pattern.subn(lambda _: f"{first}\n{text}\n{last}", page)
    if count != 1:
        raise ValueError(f"the marks of {name} are there {count} times")
    return written


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown; the first one is its header."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def wrapped(text: str, width: int = WIDTH) -> str:
    r"""Wrap each paragraph and list item that has a line over *width*; leave the others alone.

    >>> wrapped("- one two three\n- four", width=9)
    '- one two\n  three\n- four'
    """
    out: list[str] = []
    block: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            out += [*_filled(block, width), line]
            block = []
        elif fenced or not line.strip() or line.lstrip().startswith(_FIXED):
            out += [*_filled(block, width), line]
            block = []
        elif _ITEM.match(line):
            out += _filled(block, width)
            block = [line]
        else:
            block.append(line)
    return "\n".join([*out, *_filled(block, width)])


def _filled(block: list[str], width: int) -> list[str]:
    if all(len(line) <= width for line in block):
        return block
    item = _ITEM.match(block[0])
    first = item[1] if item else re.match(r"\s*", block[0])[0]  # type: ignore[index]
    words = " ".join(line.strip() for line in block)[len(first.strip()) :].strip()
    # A line of prose that begins like a list item would become one.
    joined = re.sub(r" ([-*+]|\d+\.) ", "\u00a0\\1\u00a0", words)
    lines = textwrap.wrap(
        joined.replace("\u00a0", "\u0001"),
        width,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\u0001", " ") for line in lines]
