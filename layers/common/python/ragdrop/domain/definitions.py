"""Functions and classes of source code as headings, so that a chunk knows what it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragdrop.domain.parsed import Heading

FIRST_LEVEL = 2  # level 1 is the title of a document
LAST_LEVEL = 6
_BELONGS_BELOW = re.compile(r"[ \t]*(?:@|#|//|/\*|\*|\[|--|template\b)")


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or type: where its line starts, and its name."""

    line_start: int
    name: str


def headings_of(text: str, definitions: Iterable[Definition]) -> Iterator[Heading]:
    r"""A heading each, its level by how far its line is indented; decorators and comments above it belong to it.

    >>> code = "class Pump:\n    @slow\n    def start(self): ...\n"
    >>> list(headings_of(code, [Definition(0, "Pump"), Definition(22, "start")]))
    [Heading(level=2, text='Pump', start=0), Heading(level=3, text='start', start=12)]
    """
    ordered = sorted(definitions, key=lambda definition: definition.line_start)
    indents = sorted({_indent(text, definition.line_start) for definition in ordered})
    before = 0
    for definition in ordered:
        level = FIRST_LEVEL + indents.index(_indent(text, definition.line_start))
        start = max(_with_preamble(text, definition.line_start), before)
        before = definition.line_start + 1
        yield Heading(min(level, LAST_LEVEL), definition.name[:200], start)


def _indent(text: str, line_start: int) -> int:
    end = line_start
    while end < len(text) and text[end] in " \t":
        end += 1
    return len(text[line_start:end].expandtabs(4))


def _with_preamble(text: str, line_start: int) -> int:
    start = line_start
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        if not _BELONGS_BELOW.match(text, above, start):
            break
        start = above
    return start
