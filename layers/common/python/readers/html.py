"""HTML by selectolax: text, headings, lists, tables and links, without scripts, menus and hidden parts."""

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from readers.markdown_writer import (
    MarkdownWriter,
    grid,
    lowered,
    note_mark,
    one_line,
    raised,
    struck,
    without_data_urls,
)
from readers.office.notation import numeral
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import UnsafeFileError
from readers.text_decoding import decode

MEDIA_TYPE = "text/html"
MAX_DEPTH = 250  # three of Python's own calls each, of which it bears 1,000
MAX_CELL_CHARACTERS = 2_000  # a table with larger cells is a page layout
MAX_STYLE_CHARACTERS = 1_000_000


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SKIPPED = _tags("script style template noscript canvas iframe object nav head select button rp")
_INLINE = _tags(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label link map mark meta meter nobr output"
    " picture progress q rb rt rtc ruby s samp slot small source span strike strong sub sup time tt u var"
)
_HEADINGS = _tags("h1 h2 h3 h4 h5 h6")
_REPLACED = _tags("br img area input svg math wbr")  # what is shown is no text of theirs
_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_IN_LINE = re.compile(r"display\s*:\s*inline\s*(?:;|$)", re.IGNORECASE)
_IN_BLOCKS = re.compile(r"display\s*:\s*(?:block|flex|grid|list-item|table)", re.IGNORECASE)
_BLOCK_ROLES = _tags("row cell gridcell columnheader rowheader listitem heading paragraph")
_PERMALINK = re.compile(r"\s*[¶#§🔗↩↑^]\ufe0e?\s*")
_STRUCK = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_MOVED = re.compile(r"vertical-align\s*:\s*(sup|sub)", re.IGNORECASE)
_RULE = re.compile(r"([^{}]{1,1000})\{([^{}]{0,2000})\}")
_CLASS = re.compile(r"(?:^|,)\s*[a-z0-9]*\.([\w-]+)\s*(?=,|$)", re.IGNORECASE)
_NOTE = re.compile(r"note|\bfn|\bref|cite|citation", re.IGNORECASE)
_MARK = re.compile(r"[\[(]?(?:[0-9]{1,4}|[a-z]|[ivx]{1,5}|[*†‡§¶]{1,3})[\])]?", re.IGNORECASE)
_GROUPS = {"thead": 0, "tbody": 1, "tfoot": 2}
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))  # function application, times, separator, plus
_XHTML = re.compile(r"\A\s*<\?xml\b|<html\b[^>]{0,500}\bxmlns\b|<ac:", re.IGNORECASE)
_CLOSED = re.compile(  # an element without content that HTML would leave open
    r"<((?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)[a-zA-Z][\w:.-]{0,60})(\s[^<>]{0,2000})?/>"
)
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:[^;]*?\b((?:lower|upper)-(?:alpha|latin|roman)|none)", re.IGNORECASE)
_LIST_STYLES = {"lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A"}
_LIST_STYLES |= {"lower-roman": "i", "upper-roman": "I", "none": ""}


def read_html(body: bytes) -> ParsedDocument:
    """Read an HTML page."""
    text, warnings = decode(body, declared=True)
    return read_markup(text, MEDIA_TYPE, warnings)


def read_markup(text: str, media_type: str, warnings: tuple[str, ...] = ()) -> ParsedDocument:
    """Read decoded HTML."""
    tree = LexborHTMLParser(_as_html(text) if _XHTML.search(text[:100_000]) else text)
    page = _Page(_classes("".join(style.text(deep=True) for style in tree.css("style"))))
    title = tree.css_first("head > title")
    if title is not None and not any(one_line(each.text() or "") for each in tree.css("h1")):
        page.writer.heading(1, title.text())
    if tree.body is not None:
        page.walk(tree.body, 0)
        page.flush()
    if page.hidden:
        warnings = (*warnings, f"{page.hidden} hidden parts of the page are left out")
    return page.writer.document(media_type, links=page.links, warnings=warnings)


def _as_html(text: str) -> str:
    """XHTML, or Confluence's own XML, in the notation of HTML: elements are closed, quoted text is escaped."""
    before, *quoted = text.split("<![CDATA[")
    parts = [each.partition("]]>") for each in quoted]
    text = before + "".join(html.escape(inner, quote=False) + after for inner, _, after in parts)
    return _CLOSED.sub(r"<\1\2></\1>", text)


@dataclass(slots=True)
class _List:
    """A list: the number of its next item, None for bullets, its step and the style of its numbers."""

    number: int | None
    step: int = 1
    style: str = "1"

    def bullet(self, value: str) -> str:
        """The text before the next item, whose number may be given."""
        if self.number is None:
            return "- "
        number = _integer(value, self.number)
        self.number = number + self.step
        return f"{numeral(number, self.style)}. "


class _Page:
    """One walk over the tree: inline text gathers in a buffer, a block element writes it out."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self.writer = MarkdownWriter()
        self.links: list[WrittenLink] = []
        self.hidden = 0  # parts that hold text
        self._classes = classes
        self._buffer: list[str] = []
        self._lists: list[_List] = []
        self._bullet: str | None = None
        self._struck_from: int | None = None  # where in the buffer the text begins that is struck
        self._flat = False  # within a cell or heading: blocks become lines
        self._is_raw = False  # white space stays
        self._explained: set[str] = set()

    def walk(self, node: LexborNode, depth: int) -> None:
        _refuse_deeper(depth)
        for child in node.iter(include_text=True):
            self._visit(child, depth)

    def _visit(self, node: LexborNode, depth: int) -> None:
        tag = node.tag or ""
        if tag == "-text":
            self._text(node.text_content or "")
            return
        attributes = node.attributes or {}
        if tag == "script" and "id" not in attributes and (attributes.get("type") or "").startswith("math/tex"):
            self._text(node.text() or "")
        if (tag in _SKIPPED and not _is_question(node, tag, attributes)) or tag.startswith(("-", "!")):
            return
        style = self._style(attributes)
        if self._hides(node):
            return
        if tag in _REPLACED:
            self._buffer.append(self._replaced(node, tag, attributes, depth))
            return
        inline = tag in _INLINE
        if style or "role" in attributes:
            inline = (inline and not _apart(style, attributes)) or _IN_LINE.search(style) is not None
        if not inline:
            self._break()
        with self._striking(tag in {"s", "strike", "del"} or _STRUCK.search(style) is not None):
            if inline:
                self._inline(node, tag, attributes, style, depth)
            else:
                self._block(node, tag, attributes, depth)
                self._break()

    def _text(self, text: str) -> None:
        text = without_data_urls(text.replace("\u00ad", ""))[0] if "data:" in text else text.replace("\u00ad", "")
        text = text if self._is_raw else re.sub(r"\s+", " ", text)
        if text[:1].isalnum() and self._buffer and re.match(r"[\^_]\S", self._buffer[-1]):
            text = f" {text}"  # `x^n` and what follows
        self._buffer.append(text)

    def _inline(self, node: LexborNode, tag: str, attributes: Mapping[str, str | None], style: str, depth: int) -> None:
        moved = _MOVED.search(style)
        before = "".join(self._buffer[-20:])
        if tag in {"sup", "sub"} or (moved and before[-1:].strip()) or _is_note_link(tag, attributes, node):
            with self._apart() as parts:
                self.walk(node, depth + 1)
            text, is_lowered = "".join(parts), tag == "sub" or (tag != "sup" and moved and moved[1].lower() == "sub")
            if tag == "a":
                self._note_link(attributes, text)
            if _is_note(node, tag, attributes):
                self._buffer.append(note_mark(text, before))
            else:
                self._buffer.append(lowered(text, before) if is_lowered else raised(text, before))
            return
        first, last = {"q": ("“", "”"), "rt": ("(", ")")}.get(tag, ("", ""))
        if tag == "kbd" and before[-1:].isalnum() and node.prev is not None and node.prev.tag == "kbd":
            first = " "
        start, length = len(self._buffer), self.writer.length
        self._buffer.append(first)
        self.walk(node, depth + 1)
        self._buffer.append(last)
        shown = one_line("".join(self._buffer[start:]))
        label = one_line(attributes.get("aria-label") or (attributes.get("title") if tag == "a" else "") or "")
        if not shown and label and self.writer.length == length:
            self._buffer.append(f"[{label}]")
        elif tag in {"abbr", "acronym", "dfn"}:
            meaning = one_line(attributes.get("title") or "")
            if meaning and meaning not in self._explained and meaning.casefold() not in shown.casefold():
                self._explained.add(meaning)
                self._buffer.append(f" ({meaning})")
        elif tag == "a":
            self._note_link(attributes, shown or node.text(deep=True))

    def _replaced(self, node: LexborNode, tag: str, attributes: Mapping[str, str | None], depth: int) -> str:
        """The text that is shown, or read out, for an element."""
        if tag == "br":
            return "\n"
        if tag == "math":
            return formula(node, depth)
        if tag == "input":
            kind = (attributes.get("type") or "").lower()
            if kind in {"checkbox", "radio"}:
                return "[x] " if "checked" in attributes else "[ ] "
            if kind != "image":
                return ""
        words = attributes.get("alt") or attributes.get("aria-label") or ""
        if tag == "svg" and attributes.get("aria-hidden") != "true":
            words += "".join(f" {each.text(deep=True)}" for each in node.css("title, desc, text"))
        elif tag == "area":
            self._note_link(attributes, words)
        elif tag == "img" and "alt" not in attributes:
            words = words or attributes.get("title") or ""
        words = one_line(words)
        return f"[{words}]" if any(map(str.isalnum, words)) else words

    def _block(self, node: LexborNode, tag: str, attributes: Mapping[str, str | None], depth: int) -> None:
        label = one_line(attributes.get("aria-label") or "") if attributes.get("role") == "img" else ""
        if label and not (node.text(deep=True) or "").strip():
            self._buffer.append(f"[{label}]")
        elif tag in {"ul", "ol"}:
            self._lists.append(_list(node, tag, attributes))
            self.walk(node, depth + 1)
            self._lists.pop()
        elif tag == "li":
            self._item(node, attributes, depth)
        elif self._flat:
            self.walk(node, depth + 1)
        elif tag in _HEADINGS:
            self.writer.heading(int(tag[1]), self._inside(node, depth))
        elif tag in {"pre", "listing", "xmp", "ac:plain-text-body"}:
            self._is_raw = True
            text = self._inside(node, depth).strip("\n")
            self._is_raw = False
            fence = "```" if "```" not in text else "````"
            self.writer.block(f"{fence}\n{text}\n{fence}" if text.strip() else "")
        elif tag != "table" or not self._table(node, depth):
            self.walk(node, depth + 1)

    def _item(self, node: LexborNode, attributes: Mapping[str, str | None], depth: int) -> None:
        bullet = self._lists[-1].bullet(attributes.get("value") or "") if self._lists else "- "
        label = attributes.get("data-label")  # of a Word document's item
        bullet = f"{label} " if label else bullet
        if self._flat:
            self._buffer.append(bullet)
        else:
            self._bullet = bullet if label else (self._bullet or "") + bullet
        self.walk(node, depth + 1)
        self._break()
        self._bullet = None

    def _table(self, node: LexborNode, depth: int) -> bool:
        """Write a table of data; False, and nothing written, for one that only lays the page out."""
        groups = sorted((each for each in node.iter() if each.tag in _GROUPS), key=lambda each: _GROUPS[each.tag or ""])
        sections = [
            (group.tag == "thead", [row for row in group.iter() if row.tag == "tr" and not self._hides(row)])
            for group in groups
        ]
        cells = [cell for _, rows in sections for row in rows for cell in _cells(row)]
        longest = max((len(cell.text(deep=True)) for cell in cells), default=0)
        if not any(cell.tag == "th" for cell in cells):
            if any(cell.css_first("table, h1, h2, h3") is not None for cell in cells):
                return False
            longest *= 4 if node.css_first("li, pre") is not None else 1  # the columns of a page have lists, too
        if longest > MAX_CELL_CHARACTERS:
            return False
        links, hidden = len(self.links), self.hidden
        rows = [row for is_head, section in sections for row in self._filled(section, depth, is_head=is_head)]
        columns = max((len(row) for row, _ in rows), default=0)
        if len(rows) < 2 or columns < 2:
            del self.links[links:]
            self.hidden = hidden
            return False
        for caption in (each for each in node.iter() if each.tag == "caption"):
            self.writer.block(one_line(self._inside(caption, depth)))
        while len(rows) > 2 and len(rows[0][0]) == columns and not any(rows[0][0][1:]):
            self.writer.block(one_line(rows.pop(0)[0][0]))  # a title that spans the table
        headers = next((number for number, (_, is_header) in enumerate(rows) if not is_header), 1)
        self.writer.table([row for row, _ in rows], columns=columns, headers=max(headers, 1))
        return True

    def _filled(self, section: list[LexborNode], depth: int, *, is_head: bool) -> list[tuple[list[str], bool]]:
        """The rows with text, merged cells filled, and whether each belongs to the header."""
        own = [[cell for cell in _cells(row) if not self._hides(cell)] for row in section]
        texts = [
            [(self._inside(cell, depth).strip(), _span(cell, "rowspan"), _span(cell, "colspan")) for cell in cells]
            for cells in own
        ]
        return [
            (row, is_head or all(cell.tag == "th" for cell in cells))
            for cells, row, spans in zip(own, grid(texts), texts, strict=True)
            if any(text for text, _, _ in spans)
        ]

    def _inside(self, node: LexborNode, depth: int) -> str:
        """The text of an element whose blocks are lines."""
        with self._apart() as parts:
            self.walk(node, depth + 3)
        text = "".join(parts)
        return struck(text) if self._struck_from is not None else text

    @contextmanager
    def _apart(self) -> Iterator[list[str]]:
        """Gather text in a separate buffer."""
        outer = self._buffer, self._struck_from, self._flat
        self._buffer, self._struck_from, self._flat = [], None, True
        try:
            yield self._buffer
        finally:
            self._buffer, self._struck_from, self._flat = outer

    @contextmanager
    def _striking(self, is_struck: bool) -> Iterator[None]:  # noqa: FBT001
        """Mark the text gathered meanwhile as struck out."""
        opens = is_struck and self._struck_from is None
        if opens:
            self._struck_from = len(self._buffer)
        yield
        if opens:
            self._strike()
            self._struck_from = None

    def _strike(self) -> None:
        if self._struck_from is not None:
            self._buffer[self._struck_from :] = [struck("".join(self._buffer[self._struck_from :]))]
            self._struck_from = 0

    def _break(self) -> None:
        if self._flat:
            self._buffer.append("\n" if "".join(self._buffer[-1:])[-1:] not in {"", "\n"} else "")
        else:
            self.flush()

    def flush(self) -> None:
        """Write the buffer as a block."""
        self._strike()
        lines = (one_line(line) for line in "".join(self._buffer).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._buffer.clear()
        if text:
            tight = bool(self._lists)
            indent = "  " * max(len(self._lists) - 1, 0)
            first = self._bullet or ("  " if tight else "")
            self._bullet = None
            self.writer.block(indent + first + text, tight=tight)

    def _note_link(self, attributes: Mapping[str, str | None], shown: str) -> None:
        target = (attributes.get("href") or "").strip()
        if target and not target.startswith(("#", "javascript:", "data:")):
            self.links.append(WrittenLink.cut(target, shown))

    def _style(self, attributes: Mapping[str, str | None]) -> str:
        style = attributes.get("style") or ""
        if self._classes and attributes.get("class"):
            names = (attributes["class"] or "").split()
            style += "".join(f";{self._classes[name]}" for name in names if name in self._classes)
        return style

    def _hides(self, node: LexborNode) -> bool:
        """Whether an element is not shown; one that holds text is counted."""
        attributes = node.attributes
        if not attributes:
            return False
        names = attributes.get("class") or ""
        if names == "katex-html" and attributes.get("aria-hidden") == "true":
            return True  # the formula before it, once more
        if "mw-editsection" in names.split() or (
            (attributes.get("href") or "").startswith("#") and _PERMALINK.fullmatch(node.text(deep=True) or "")
        ):
            return True  # a link to the place where it stands, or to its editor
        is_hidden = (
            attributes.get("hidden", "until-found") != "until-found"
            or attributes.get("role") == "navigation"
            or (node.tag == "dialog" and "open" not in attributes)
            or bool(_HIDDEN.search(attributes.get("style") or ""))
        )
        self.hidden += is_hidden and bool((node.text(deep=True) or "").strip())
        return is_hidden


def _refuse_deeper(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise UnsafeFileError(f"the page is nested deeper than {MAX_DEPTH} elements", limit_depth=MAX_DEPTH)


def _apart(style: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether an element that usually stands in a line is a block."""
    return _IN_BLOCKS.search(style) is not None or attributes.get("role") in _BLOCK_ROLES


def _is_question(node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether a button is the heading of text that it opens."""
    if tag != "button" or "aria-haspopup" in attributes:
        return False
    opens = "aria-expanded" in attributes or "aria-controls" in attributes
    within = node.parent.tag if node.parent is not None else ""
    return opens or within in {*_HEADINGS, "dt", "summary"} or (node.text(deep=True) or "").strip().endswith("?")


def _classes(css: str) -> dict[str, str]:
    """The rules of a style sheet for single classes that strike text out or move it up or down."""
    found: dict[str, str] = {}
    for selectors, rules in _RULE.findall(css[:MAX_STYLE_CHARACTERS]):
        if _STRUCK.search(rules) or _MOVED.search(rules):
            for name in _CLASS.findall(selectors.strip()):
                found[name] = f"{found.get(name, '')};{rules}"
    return found


def _list(node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> _List:
    style = _LIST_STYLE.search(attributes.get("style") or "")
    kind = _LIST_STYLES.get(style[1].lower(), "1") if style else attributes.get("type") or "1"
    if tag == "ul" or not kind:
        return _List(None)
    if "reversed" in attributes:
        items = sum(each.tag == "li" for each in node.iter())
        return _List(_integer(attributes.get("start"), items), -1, kind)
    return _List(_integer(attributes.get("start"), 1), 1, kind)


def formula(node: LexborNode, depth: int = 0) -> str:
    """MathML on one line: powers, indices, fractions and roots are written as in plain text.

    >>> tree = LexborHTMLParser("<math><mfrac><msup><mi>x</mi><mn>2</mn></msup><mrow>a+1</mrow></mfrac></math>")
    >>> formula(tree.css_first("math"))
    'x²/(a+1)'
    """
    _refuse_deeper(depth)
    parts = [
        formula(child, depth + 1) for child in node.iter(include_text=True) if (child.tag or "")[:10] != "annotation"
    ]
    match node.tag, parts:
        case "-text", _:
            return one_line((node.text_content or "").translate(_INVISIBLE))
        case "msup" | "mover", [base, above]:
            return _grouped(base) + raised(above, base)
        case "msub" | "munder", [base, below]:
            return _grouped(base) + lowered(below, base)
        case "msubsup" | "munderover", [base, below, above]:
            return base + lowered(below, base) + raised(above, base)
        case "mfrac", [above, below]:
            return f"{_grouped(above)}/{_grouped(below)}"
        case "msqrt", _:
            return f"√({''.join(parts)})"
        case "mroot", [base, degree]:
            return f"{raised(degree, base)}√({base})"
        case "mtable", _:
            return f"[{'; '.join(parts)}]"
        case "mtr", _:
            return ", ".join(parts)
        case _:
            return "".join(parts)


def _grouped(text: str) -> str:
    return text if text.isalnum() or re.fullmatch(r"\([^()]*\)|\W?", text) else f"({text})"


def _is_note_link(tag: str, attributes: Mapping[str, str | None], node: LexborNode) -> bool:
    """Whether a link without a superscript is the mark of a note."""
    if tag != "a" or not _MARK.fullmatch((node.text(deep=True) or "").strip()):
        return False
    signs = f"{attributes.get('role')} {attributes.get('class')} {attributes.get('epub:type')}"
    target = attributes.get("href") or ""
    return "noteref" in signs or "footnote" in signs or bool(re.search("#_?(?:fn|ftn|edn|cite|sdfoot|.*note)", target))


def _is_note(node: LexborNode, tag: str, attributes: Mapping[str, str | None]) -> bool:
    """Whether a superscript is the mark of a note, by its link or its names."""
    inner, parent = node.css_first("a[href*='#']"), node.parent
    if tag == "a" or inner is not None:
        return True
    if parent is not None and parent.tag == "a" and "#" in (parent.attributes.get("href") or ""):
        return (parent.text(deep=True) or "").strip() == (node.text(deep=True) or "").strip()
    names = " ".join(str(attributes.get(name)) for name in ("class", "id", "role", "epub:type"))
    return bool(_NOTE.search(names)) or any(name.startswith("data-footnote") for name in attributes)


def _cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in {"td", "th"}]


def _span(cell: LexborNode, name: str) -> int:
    span = _integer(cell.attributes.get(name), 1)
    return span if span > 0 or (name == "rowspan" and span == 0) else 1


def _integer(text: str | None, usual: int) -> int:
    return int(text) if text and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", text, re.ASCII) else usual
