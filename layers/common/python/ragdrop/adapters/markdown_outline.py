"""Where headings, tables and code of a Markdown text are: by markdown-it, by a line scan where the text is long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt

from ragdrop.domain.parsed import Heading, Table

MAX_PARSED_CHARACTERS = 200_000  # hostile nesting of this length takes markdown-it about 2 s, of twice the length 8 s
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.{0,1000}?))?(?:[ \t]+#{1,1000})?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DELIMITERS = re.compile(r" {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|){1,500}(?:[ \t]*:?-+:?[ \t]*)?$")


def markdown_parser() -> MarkdownIt:
    """CommonMark with tables, blocks only: what stands inside a line is not looked at, which is where it can hang."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


Outline = tuple[list[Heading], list[Table], list[tuple[int, int]]]


def outline(text: str, body_start: int, parser: MarkdownIt) -> Outline:
    """Headings, tables and spans of code of *text* from *body_start* on, in order; offsets into the whole text."""
    if len(text) - body_start > MAX_PARSED_CHARACTERS:
        return scan(text, body_start)
    body = text[body_start:]
    starts = [body_start, *(body_start + end.end() for end in _LINE_END.finditer(body)), len(text)]
    tokens = parser.parse(body)
    headings = [
        Heading(int(token.tag[1]), inline.content.strip(), starts[token.map[0]])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.map and token.map[0] < len(starts)
    ]
    tables = [
        Table(starts[first], starts[min(first + 2, last)], starts[min(last, len(starts) - 1)])
        for token in tokens
        if token.type == "table_open" and token.level == 0 and token.map
        for first, last in [token.map]
    ]
    code = [
        (starts[min(token.map[0], len(starts) - 1)], starts[min(token.map[1], len(starts) - 1)])
        for token in tokens
        if token.type in {"fence", "code_block"} and token.map
    ]
    return headings, tables, code


def scan(text: str, body_start: int) -> Outline:
    r"""The same by looking at lines: `#` headings and tables outside of fences, in linear time.

    >>> scan("# A\n```\n# no\n```\n|a|b|\n|-|-|\n|1|2|\n\nend", 0)
    ([Heading(level=1, text='A', start=0)], [Table(start=17, rows_start=29, end=35, header='')], [(4, 17)])
    """
    headings: list[Heading] = []
    tables: list[Table] = []
    code: list[tuple[int, int]] = []
    fence: str | None = None
    fence_start = body_start
    table: list[int] = []  # where the table that is open starts, its rows start, and its last row ended
    before = (body_start, "")
    for start, line, end in _lines(text, body_start):
        if table and ("|" not in line or not line.strip()):
            tables.append(Table(table[0], table[1], table[2]))
            table = []
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark.group(1).startswith(fence):
                fence = None
                code.append((fence_start, end))
        elif mark:
            fence, fence_start = mark.group(1), start
        elif table:
            table[2] = end
        elif "|" in before[1] and _DELIMITERS.match(line[:2_000]):
            table = [before[0], end, end]
        elif heading := _ATX.match(line[:2_000]):
            headings.append(Heading(len(heading.group(1)), (heading.group(2) or "").strip(), start))
        before = (start, line)
    if table:
        tables.append(Table(table[0], table[1], table[2]))
    if fence is not None:
        code.append((fence_start, len(text)))
    return headings, tables, code


def _lines(text: str, start: int) -> Iterator[tuple[int, str, int]]:
    for found in _LINE.finditer(text, start):
        if found.start() < len(text):
            yield found.start(), found.group(1), found.end()
