"""Headings, tables, code and links of a Markdown text: by markdown-it, for long texts by a line scan."""

import bisect
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt

from readers.parsed import Heading, Table, WrittenLink

MAX_PARSED_CHARACTERS = 200_000  # hostile nesting of this length takes markdown-it about 2 s, of twice the length 8 s
_LINE_END = re.compile(r"\r\n|\r|\n")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.{0,1000}?))?(?:[ \t]+#{1,1000})?[ \t]*$")
_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]{0,200}>(.{0,1000}?)</h\1>", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DELIMITERS = re.compile(r" {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|){1,500}(?:[ \t]*:?-+:?[ \t]*)?$")


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables, blocks only: it can hang on what is inside a line."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


Outline = tuple[list[Heading], list[Table], list[tuple[int, int]]]


def outline(text: str, body_start: int) -> Outline:
    """Headings, tables and spans of code of *text* from *body_start* on, in order; offsets into the whole text."""
    if len(text) - body_start > MAX_PARSED_CHARACTERS:
        return scan(text, body_start)
    body = text[body_start:]
    starts = [body_start, *(body_start + end.end() for end in _LINE_END.finditer(body)), len(text)]
    tokens = _parser().parse(body)
    headings = [
        Heading(int(token.tag[1]), heading_text(inline.content), starts[token.map[0]])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.map and token.map[0] < len(starts)
    ]
    headings += [
        Heading(int(found[1]), text, starts[token.map[0] + token.content.count("\n", 0, found.start())])
        for token in tokens
        if token.type == "html_block" and token.map
        for found in _HTML_HEADING.finditer(token.content)
        if (text := heading_text(found[2]))
    ]
    headings.sort(key=lambda heading: heading.start)
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
            headings.append(Heading(len(heading.group(1)), heading_text(heading.group(2) or ""), start))
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


MAX_HEADING_CHARACTERS = 300  # in which marks are looked for
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\([^()]*\)")
_MARKS = (  # what stands for text in a heading, and that text
    (re.compile(r"\s*\{\s*[#.:][^{}]*\}\s*$"), ""),  # an anchor of Pandoc, kramdown or Docusaurus
    (re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->"), ""),
    (re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]"), r"\1"),
    (re.compile(r"\[([^\[\]]*)\]\([^()]*\)"), r"\1"),
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"\1"),
    (re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*]+?)(?<=[^\s\\])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w\\])_(?=[^\s_])([^_]+?)(?<=[^\s\\])_(?!\w)"), r"\1"),
)


def heading_text(written: str) -> str:
    """The text of a heading as a reader sees it: without marks, anchors and addresses of links.

    >>> heading_text("The **north** `a*b` [hall](h.md) {#north}")
    'The north a*b hall'
    """
    text = " ".join(written.split())
    if len(text) > MAX_HEADING_CHARACTERS:
        return text
    codes = [found[2].strip() for found in _CODE.finditer(text)]
    coded, text = _CODE.sub("\0", text), ""
    for picture in ("", r"\1"):  # its description, where there is nothing else
        text = text.strip() or _PICTURE.sub(picture, coded)
        for mark, shown in _MARKS:
            text = mark.sub(shown, text)
    parts = _unescaped(text).split("\0")
    if len(parts) != len(codes) + 1:
        return written
    return " ".join("".join(part + code for part, code in zip(parts, [*codes, ""], strict=True)).split())


Span = tuple[int, int]
MAX_READ_CHARACTERS = 4_000_000  # links behind these are not looked for: nobody follows so many
MAX_LINKS = 10_000
_NOT_LINE_END = re.compile(r"[^\n]")
_TICKS = re.compile(r"`+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|\Z)")
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_DESTINATION = re.compile(
    r"""\(\s{0,20}(?:<([^<>\n]{0,1000})>|((?:[^\s()<\\]|\\.|\([^\s()]{0,300}\)){0,1000}))"""
    r"""(?:\s{1,20}(?:"[^"]{0,1000}"|'[^']{0,1000}'|\([^()]{0,1000}\)))?\s{0,20}\)"""
)
_LABEL = re.compile(r"\[([^\[\]\n]{0,200})\]")
_DEFINITION = re.compile(  # not of a footnote, and nothing but a title may follow
    r"""^ {0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]{0,20}(?:\r?\n[ \t]{0,20})?"""
    r"""(?:<([^<>\n]{0,1000})>|([^\s<][^\s]{0,1000}))(?=[ \t]*(?:\r?$|\s["'(]))""",
    re.MULTILINE,
)
_WIKILINK = re.compile(r"(?<!\\)!?\[\[([^\[\]\n]{1,500})\]\]")
_ANCHOR = re.compile(
    r"""<a\s[^<>]{0,500}?\bhref\s{0,5}=\s{0,5}(?:"([^"]{0,1000})"|'([^']{0,1000})'|([^\s"'<>]{1,1000}))[^<>]{0,500}>""",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(r"<([^\s<>:\"'=]{1,500}\.(?:md|markdown|txt|html?|pdf|docx)(?:#[^\s<>]{0,200})?)>")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|(&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")


def links_of(text: str, body_start: int, code: Iterable[Span]) -> tuple[WrittenLink, ...]:
    r"""Links in order of their place; images count only where they embed a note (`![[a]]`).

    Args:
        text: The whole text.
        body_start: Where the body starts; nothing before it is a link.
        code: Blocks of code, as the outline found them.

    >>> found = links_of("[a](b.md 'x') [[c#d|e]] [f][g] `[x](y)` ![i](j.png)\n\n[g]: <h i.md>", 0, [])
    >>> [(link.target, link.text) for link in found]
    [('b.md', 'a'), ('[[c#d]]', 'e'), ('h i.md', 'f')]
    >>> links_of("| [[a\\|b]] | [c](Q&amp;A.md) |\n\n[^1]: See below.", 0, [])
    (WrittenLink(target='[[a]]', text='b'), WrittenLink(target='Q&A.md', text='c'))
    """
    bare = _without_code(text[:MAX_READ_CHARACTERS], body_start, code)
    definitions: dict[str, str] = {}
    for found in _DEFINITION.finditer(bare):
        definitions.setdefault(_label(found.group(1)), _unescaped(found.group(2) or found.group(3) or ""))
    placed = [*_wikilinks(bare), *_anchors(bare), *_autolinks(bare), *_bracketed(bare, definitions)]
    links: list[WrittenLink] = []
    for _, written, shown in sorted(placed):
        target = written.strip()
        if target and not target.startswith(("#", "javascript:", "data:")):
            links.append(WrittenLink.cut(target, shown))
    return tuple(links[:MAX_LINKS])


def _without_code(text: str, body_start: int, code: Iterable[Span]) -> str:
    """The text with blanks where there is code or a comment, so that places stay."""
    blocks = merged([(0, body_start), *code])
    spans = merged([*blocks, *_code_spans(text, blocks), *_comments(text)])
    parts, place = [], 0
    for start, end in spans:
        parts += [text[place:start], _NOT_LINE_END.sub(" ", text[start:end])]
        place = end
    return "".join([*parts, text[place:]])


def _comments(text: str) -> Iterator[Span]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            return
        yield start, end + 3
        start = text.find("<!--", end)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, joined where they touch, without empty ones.

    >>> merged([(5, 7), (0, 2), (1, 3), (4, 4)])
    [(0, 3), (5, 7)]
    """
    found: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _code_spans(text: str, blocks: Sequence[Span]) -> Iterator[Span]:
    """The spans between two runs of as many backticks in one paragraph, outside *blocks* of code."""
    ends = [end.start() for end in _PARAGRAPH_END.finditer(text)]
    block_ends = [end for _, end in blocks]

    def is_code(place: int) -> bool:
        number = bisect.bisect_right(block_ends, place)
        return number < len(blocks) and blocks[number][0] <= place

    runs = [run.span() for run in _TICKS.finditer(text) if not is_code(run.start())]
    places: dict[tuple[int, int], list[int]] = {}
    for start, end in runs:
        places.setdefault((bisect.bisect(ends, start), end - start), []).append(start)
    closed = -1
    for start, end in runs:
        if start < closed:
            continue
        same = places[bisect.bisect(ends, start), end - start]
        after = bisect.bisect(same, start)
        if after < len(same):
            closed = same[after] + (end - start)
            yield start, closed


def _wikilinks(text: str) -> Iterator[tuple[int, str, str]]:
    for found in _WIKILINK.finditer(text):
        inner, _, alias = found.group(1).replace("\\|", "|").partition("|")  # as it is written in tables
        mark = "!" if found.group().startswith("!") else ""
        if inner.strip():
            yield found.start(), f"{mark}[[{inner.strip()}]]", alias or inner


def _anchors(text: str) -> Iterator[tuple[int, str, str]]:
    for found in _ANCHOR.finditer(text):
        shown = text[found.end() : found.end() + 500].partition("</a")[0]
        target = html.unescape(next(group for group in found.groups() if group is not None))
        yield found.start(), target, re.sub("<[^<>]*>", "", shown)


def _autolinks(text: str) -> Iterator[tuple[int, str, str]]:
    for found in _AUTOLINK.finditer(text):
        yield found.start(), found.group(1), found.group(1)


def _bracketed(text: str, definitions: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Inline and reference links: every closing bracket with the one that it closes."""
    opened: list[int] = []
    labels: set[int] = set()  # where the second brackets of `[text][label]` open: they are no links of their own
    for found in _BRACKET.finditer(text):
        if found.group() == "[":
            opened.append(found.start())
        elif found.group() == "]" and opened:
            start, end = opened.pop(), found.end()
            if start in labels:
                continue
            if text[end : end + 1] == "[":
                labels.add(end)
            target = _target(text, start, end, definitions)
            if target and text[start - 1 : start] != "!":
                yield start, target, _shown(text[start + 1 : min(end - 1, start + 1_000)])
        # anything else is an escaped character


def _target(text: str, start: int, end: int, definitions: dict[str, str]) -> str | None:
    following = text[end : end + 1]
    if following == "(":
        found = _DESTINATION.match(text, end)
        if found is not None:
            return _unescaped(found.group(1) or found.group(2) or "")
    if not definitions or following == ":":
        return None
    label = _LABEL.match(text, end) if following == "[" else None
    named = label.group(1) if label and label.group(1).strip() else text[start + 1 : min(end - 1, start + 202)]
    return definitions.get(_label(named))


def _unescaped(target: str) -> str:
    """*target* without backslashes before punctuation, its entities as the characters that they name."""
    return _ESCAPE.sub(lambda found: found.group(1) or html.unescape(found.group(2)), target)


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shown(text: str) -> str:
    """The text of a link as shown: images by their description, no emphasis."""
    return re.sub(r"!\[([^\[\]]*)\]\([^()]*\)", r"\1", text).replace("**", "").replace("`", "")
