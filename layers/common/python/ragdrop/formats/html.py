"""HTML by selectolax: text, headings, lists, tables and links, without scripts, menus and hidden parts."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ragdrop.domain.links import MAX_TARGET_CHARACTERS, MAX_TEXT_CHARACTERS, Link
from ragdrop.domain.parsed import ParsedDocument
from ragdrop.errors import UnsafeDocumentError
from ragdrop.formats.markdown_writer import MarkdownWriter, one_line
from ragdrop.formats.text_decoder import decode

MEDIA_TYPE = "text/html"
MAX_DEPTH = 250  # three of Python's own calls each, of which it bears 1,000
MAX_CELL_CHARACTERS = 2_000  # a table with larger cells is a page layout
_SKIPPED = frozenset(
    [
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "canvas",
        "iframe",
        "object",
        "nav",
        "head",
        "select",
        "button",
        "dialog",
    ]
)
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "mark",
        "math",
        "meta",
        "link",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def read_html(body: bytes) -> ParsedDocument:
    """Read an HTML page.

    Raises:
        EmptyDocumentError: No text is shown by it.
        UnsafeDocumentError: It is nested deeper than 250 elements, or holds too much text.
    """
    text, warnings = decode(body, declared=True)
    return read_markup(text, MEDIA_TYPE, warnings)


def read_markup(text: str, media_type: str, warnings: tuple[str, ...] = ()) -> ParsedDocument:
    """Read decoded HTML; raises what `read_html` does."""
    tree = LexborHTMLParser(text)
    page = _Page()
    title = tree.css_first("head > title")
    if title is not None and tree.css_first("h1") is None:
        page.writer.heading(1, title.text())
    if tree.body is not None:
        page.walk(tree.body, 0)
        page.flush()
    if page.hidden:
        warnings = (*warnings, f"{page.hidden} hidden parts of the page are left out")
    return page.writer.document(media_type, links=page.links, warnings=warnings)


class _Page:
    """One walk over the tree: inline text gathers in a buffer, a block element writes it out."""

    def __init__(self) -> None:
        self.writer = MarkdownWriter()
        self.links: list[Link] = []
        self.hidden = 0  # parts that hold text
        self._buffer: list[str] = []
        self._lists: list[int | None] = []  # the number of the last item, None for bullets
        self._bullet: str | None = None

    def walk(self, node: LexborNode, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnsafeDocumentError(f"the page is nested deeper than {MAX_DEPTH} elements", limit_depth=MAX_DEPTH)
        for child in node.iter(include_text=True):
            self._visit(child, depth)

    def _visit(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._buffer.append(re.sub(r"\s+", " ", node.text_content or ""))
        elif tag in _SKIPPED or tag.startswith(("-", "!")):
            return
        elif _is_hidden(node):
            self.hidden += bool((node.text(deep=True) or "").strip())
        elif tag == "br":
            self._buffer.append("\n")
        elif tag in _INLINE:
            self._note_link(node, tag)
            self.walk(node, depth + 1)
        else:
            self.flush()
            self._block(node, tag, depth)
            self.flush()

    def _block(self, node: LexborNode, tag: str, depth: int) -> None:
        if re.fullmatch("h[1-6]", tag):
            self.writer.heading(int(tag[1]), node.text(deep=True))
        elif tag == "pre":
            self.writer.block(f"```\n{node.text(deep=True).strip(chr(10))}\n```")
        elif tag in {"ul", "ol"}:
            self._lists.append(0 if tag == "ol" else None)
            self.walk(node, depth + 1)
            self._lists.pop()
        elif tag == "li":
            self._bullet = self._next_bullet()
            self.walk(node, depth + 1)
        elif tag != "table" or not self._table(node):
            self.walk(node, depth + 1)

    def _table(self, node: LexborNode) -> bool:
        """Write a table of data; False, and nothing written, for one that only lays the page out."""
        if node.css_first("table table, h1, h2, h3, li, pre") is not None:
            return False
        rows = [[cell.text(deep=True, separator=" ") for cell in row.css("td, th")] for row in node.css("tr")]
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        columns = max((len(row) for row in rows), default=0)
        longest = max((len(cell) for row in rows for cell in row), default=0)
        if len(rows) < 2 or columns < 2 or longest > MAX_CELL_CHARACTERS:
            return False
        for link in node.css("a[href]"):
            self._note_link(link, "a")
        self.writer.table(rows, columns=columns)
        return True

    def flush(self) -> None:
        """Write the buffer as a block."""
        lines = (one_line(line) for line in "".join(self._buffer).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._buffer.clear()
        if text:
            tight = bool(self._lists)
            indent = "  " * max(len(self._lists) - 1, 0)
            first = self._bullet or ("  " if tight else "")
            self._bullet = None
            self.writer.block(indent + first + text, tight=tight)

    def _next_bullet(self) -> str:
        if self._lists and self._lists[-1] is not None:
            self._lists[-1] += 1
            return f"{self._lists[-1]}. "
        return "- "

    def _note_link(self, node: LexborNode, tag: str) -> None:
        target = (node.attributes.get("href") or "").strip() if tag == "a" else ""
        if target and not target.startswith(("#", "javascript:", "data:")):
            text = " ".join((node.text(deep=True) or "").split())
            self.links.append(Link(target[:MAX_TARGET_CHARACTERS], text[:MAX_TEXT_CHARACTERS]))


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if not attributes:
        return False
    style = attributes.get("style") or ""
    return "hidden" in attributes or attributes.get("role") == "navigation" or bool(_HIDDEN.search(style))
