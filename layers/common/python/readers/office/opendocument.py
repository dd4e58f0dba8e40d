"""ODT and ODP: headings, paragraphs, lists, tables, notes, and slides, of the package's `content.xml`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import TypeAlias
from xml.etree.ElementTree import Element

from readers.formats import ODP, ODT
from readers.markdown_writer import MAX_COLUMNS, MarkdownWriter, grid, lowered, note_mark, one_line, raised, struck
from readers.office.notation import FORMS
from readers.office.package import Package, attribute, below, child, integer, local
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import CorruptFileError, refuse_over

MAX_PARENTS = 20
MAX_MARKED_CELLS = 1_000_000  # of a sheet
_FORMS = {"i": "lowerRoman", "I": "upperRoman", "a": "lowerLetter", "A": "upperLetter"}
_SHOWN_AS = {"percentage": "%", "time": ":"}
_POSITION = re.compile(r"(super|sub|-?\d+)")


class TextStyles:
    """The styles of a document, from the parts that define them; a missing part is None."""

    def __init__(self, roots: Iterable[Element | None]) -> None:
        self._styles: dict[str, Element] = {}
        self._levels: dict[str, dict[int, Element]] = {}
        for root in (root for root in roots if root is not None):
            for node in root.iter():
                kind = local(node)
                if kind == "style":
                    self._styles[attribute(node, "name")] = node
                elif kind in {"list-style", "outline-style"}:
                    name = attribute(node, "name") if kind == "list-style" else ""
                    self._levels[name] = {integer(attribute(each, "level"), 1): each for each in node}
        self._cached: dict[str, tuple[str, bool]] = {}

    def written(self, text: str, style: str, before: str) -> str:
        """Text as a style shows it, behind *before*: raised, lowered or struck."""
        if not style:
            return text
        shift, is_struck = self._look(style)
        if shift and before.strip():
            text = lowered(text, before) if shift.startswith(("sub", "-")) else raised(text, before)
        return struck(text) if is_struck else text

    def _look(self, name: str) -> tuple[str, bool]:
        if name not in self._cached:
            shift, line, at = "", "", name
            for _ in range(MAX_PARENTS):
                style = self._styles.get(at)
                properties = child(style, "text-properties")
                if properties is not None:
                    shift = shift or attribute(properties, "text-position")
                    line = line or attribute(properties, "text-line-through-style")
                    line = line or attribute(properties, "text-line-through-type")
                at = attribute(style, "parent-style-name") if style is not None else ""
            found = _POSITION.match(shift)
            self._cached[name] = ("" if found is None or found[1] == "0" else found[1], line not in {"", "none"})
        return self._cached[name]

    def levels(self, style: str) -> dict[int, Element]:
        """The levels of a list style, from 1; those of headings where it is empty."""
        return self._levels.get(style, {})


class TextNumbers:
    """Counts headings and items of lists, which must be asked about in order."""

    def __init__(self, styles: TextStyles) -> None:
        self._styles = styles
        self._counts: dict[str, dict[int, int]] = {}

    def begin(self, style: str, level: int) -> None:
        """Let the items of a list that begins count from its start."""
        for each in [each for each in self._counts.get(style, {}) if each >= level]:
            del self._counts[style][each]

    def label(self, style: str, level: int, start: str) -> str:
        """The text before the next item of a list *style* (empty: heading) at a *level* from 1; empty if unnumbered.

        *start* is the number that the item itself sets, if any.
        """
        levels, counts = self._styles.levels(style), self._counts.setdefault(style, {})
        own = levels.get(level)
        if own is None:
            return ""
        counts[level] = integer(start, counts.get(level, _start(own) - 1) + 1)
        for each in [each for each in counts if each > level]:
            del counts[each]
        if not attribute(own, "num-format"):
            return ""
        first = max(level - integer(attribute(own, "display-levels"), 1), 0) + 1
        forms = {at: attribute(levels[at], "num-format") for at in range(first, level + 1) if at in levels}
        numbers = (
            FORMS[_FORMS.get(form[:1], "decimal")](counts.get(at, _start(levels[at]))) or ""
            for at, form in forms.items()
            if form
        )
        return f"{attribute(own, 'num-prefix')}{'.'.join(numbers)}{attribute(own, 'num-suffix')}".strip()


def _start(level: Element) -> int:
    return integer(attribute(level, "start-value"), 1)


MAX_SLIDES = 5_000
MAX_LINKS = 10_000
MAX_REPEATED_ROWS = 100
MAX_ROWS = 1_048_576  # of a sheet, in every program
Merged: TypeAlias = "tuple[tuple[int, int], tuple[int, int]]"
"""Row and column of the first and of the last cell that a merged cell covers, from 0."""
_SKIPPED = frozenset({"tracked-changes", "table-of-content", "forms", "sequence-decls", "variable-decls", "settings"})


def read_opendocument(body: bytes) -> ParsedDocument:
    """Read a text or a presentation."""
    package = Package(body, "the OpenDocument file")
    root = package.needed("content.xml")
    found = child(root, "body")
    content = next(iter(found), None) if found is not None else None
    if content is None:
        raise CorruptFileError("the OpenDocument file has no body; open it in its program and save it again")
    writer = MarkdownWriter()
    styles = package.xml("styles.xml")
    reading = _Reading(writer, TextStyles((styles, root)))
    slides = [node for node in content if local(node) == "page"]
    refuse_over(MAX_SLIDES, len(slides), "slides", "the presentation")
    if slides:
        for number, slide in enumerate(slides, start=1):
            reading.slide(number, slide)
    else:
        reading.margin(styles, "header")
        reading.walk(content)
        reading.margin(styles, "footer")
    media_type = ODP if slides else ODT
    embedded = sum(name.startswith("Object ") and name.endswith("/content.xml") for name in package.names)
    return writer.document(media_type, links=reading.links[:MAX_LINKS], warnings=reading.warnings(embedded))


class _Reading:
    """One walk over the content: block elements are written, inline text is gathered."""

    def __init__(self, writer: MarkdownWriter, styles: TextStyles) -> None:
        self._writer, self._styles = writer, styles
        self._numbers = TextNumbers(styles)
        self._lists: list[str] = []  # the styles of the lists that are open
        self._label = ""  # what stands before the next paragraph of a list
        self._missing: Counter[str] = Counter()
        self._notes: list[str] = []
        self.links: list[WrittenLink] = []

    def slide(self, number: int, slide: Element) -> None:
        """Write a slide and its notes."""
        frames = [node for node in slide if local(node) not in {"notes", *_SKIPPED}]
        titles = [node for node in frames if attribute(node, "class") == "title"]
        title = " ".join(self._text(each) for node in titles for each in below(node, "p"))
        self._writer.place(f"slide {number}", page=True)
        self._writer.heading(2, title if title.strip() else f"Slide {number}")
        for node in frames:
            if attribute(node, "class") not in {"title", "header", "footer", "date-time", "page-number"}:
                self._block(node, 0)
        self._flush_notes()
        for notes in (node for node in slide if local(node) == "notes"):
            texts = [self._text(each) for each in below(notes, "p")]
            if any(text.strip() for text in texts):
                self._writer.place(f"slide {number}, notes")
                self._writer.heading(3, "Notes")
                for text in texts:
                    self._writer.block(text)

    def margin(self, styles: Element | None, kind: str) -> None:
        """Write the paragraphs of all page headers, or footers, once each."""
        parts = [node for node in styles.iter() if local(node).startswith(kind)] if styles is not None else []
        texts = (self._text(each) for part in parts for each in below(part, "p"))
        for text in dict.fromkeys(text for text in texts if any(map(str.isalpha, text))):
            self._writer.block(text)

    def walk(self, node: Element, lists: int = 0) -> None:
        """Write what is in *node*, within so many lists."""
        for each in node:
            self._block(each, lists)

    def _block(self, node: Element, lists: int) -> None:
        name = local(node)
        if name == "h":
            self._heading(node)
        elif name == "p":
            text = self._text(node)
            indent = "  " * (lists - 1) + self._label if lists else ""
            self._label = "  "
            self._writer.block(indent + text if text.strip() else "", tight=bool(lists))
            self._frames(node)
        elif name == "list":
            self._list(node, lists + 1)
        elif name == "table":
            self._table(node)
        elif name == "tracked-changes":
            self._missing["changes"] += any(local(each) == "deletion" for each in node.iter())
        elif name in {"image", "object", "plugin"}:
            return
        elif name == "frame":
            self._frame(node, lists)
        elif name not in _SKIPPED and name not in {"title", "desc", "annotation"}:
            self.walk(node, lists)
        if not lists:
            self._flush_notes()

    def _heading(self, node: Element) -> None:
        written = attribute(node, "outline-level")
        level = int(written) if written.isdecimal() and written != "0" else 1
        text, label = self._text(node), self._label.strip(" -") if self._lists else ""
        self._label = "  "
        if not label and written and attribute(node, "is-list-header") != "true":
            label = self._numbers.label("", level, attribute(node, "start-value"))
        self._writer.heading(min(level, 6), f"{label} {text}" if label and text else text)

    def _list(self, node: Element, level: int) -> None:
        style = attribute(node, "style-name") or (self._lists[-1] if self._lists else "")
        self._lists.append(style)
        if attribute(node, "continue-numbering") != "true" and not attribute(node, "continue-list"):
            self._numbers.begin(style, level)
        for item in node:
            self._label = "  "
            if local(item) == "list-item" and any(local(each) in {"p", "h"} for each in item):
                label = self._numbers.label(style, level, attribute(item, "start-value"))
                self._label = f"{label or '-'} "
            self.walk(item, level)
        self._lists.pop()

    def _frames(self, paragraph: Element) -> None:
        """Write text boxes and pictures that are anchored in a paragraph."""
        for node in paragraph:
            name = local(node)
            if name in {"frame", "custom-shape", "rect", "ellipse", "g"}:
                self._block(node, 0)
            elif name in {"span", "a"}:
                self._frames(node)

    def _frame(self, frame: Element, lists: int) -> None:
        words = one_line(" ".join("".join(each.itertext()) for each in frame if local(each) in {"title", "desc"}))
        if words:
            self._writer.block(f"[{words}]")
        elif any(local(each) == "image" for each in frame) and not any(local(each) == "object" for each in frame):
            self._missing["pictures"] += not any(local(each) in {"text-box", "table"} for each in frame)
        self.walk(frame, lists)

    def _table(self, table: Element) -> None:
        rows: list[list[tuple[str, int, int]]] = []
        for row in _rows(table):
            cells: list[tuple[str, int, int]] = []
            for cell in row:
                if local(cell) == "table-cell":
                    down, across = (_count(cell, f"number-{kind}-spanned", MAX_ROWS) for kind in ("rows", "columns"))
                    repeated = _count(cell, "number-columns-repeated", MAX_COLUMNS)
                    cells += [(self._cell(cell), down, across)] * repeated
            count = _count(row, "number-rows-repeated", MAX_REPEATED_ROWS + 1) if any(map(_has_text, cells)) else 1
            self._missing["repeats"] += count > MAX_REPEATED_ROWS
            rows += [cells] * min(count, MAX_REPEATED_ROWS)
        filled = [row for row, own in zip(grid(rows), rows, strict=True) if any(map(_has_text, own))]
        if filled:
            self._writer.table(filled, columns=max(map(len, filled)))

    def _cell(self, cell: Element) -> str:
        texts = (self._text(each) for each in cell.iter() if local(each) in {"p", "h"})
        return one_line(" ".join(text for text in texts if text))

    def _text(self, node: Element) -> str:
        """The text of a paragraph on as many lines as it breaks; notes wait until its block ends."""
        parts: list[str] = []
        self._gather(node, parts)
        parts = [self._styles.written("".join(parts), attribute(node, "style-name"), "")]
        return "\n".join(line for line in (one_line(line) for line in "".join(parts).split("\n")) if line)

    def _gather(self, node: Element, parts: list[str]) -> None:
        parts.append(" ".join((node.text or "").split("\n")))
        for each in node:
            name = local(each)
            if name == "line-break":
                parts.append("\n")
            elif name in {"s", "tab"}:
                parts.append(" ")
            elif name == "note":
                self._note(each, parts)
            elif name == "annotation":
                self._missing["comments"] += 1
            elif name not in {"frame", "custom-shape", "rect", "ellipse", "g", "annotation-end"}:
                if name == "a":
                    self._note_link(each)
                inside: list[str] = ["("] if name == "ruby-text" else []
                self._gather(each, inside)
                inside += [")"] if name == "ruby-text" else []
                style = attribute(each, "style-name") if name in {"span", "a"} else ""
                parts.append(self._styles.written("".join(inside), style, "".join(parts[-20:])[-20:]))
            parts.append(" ".join((each.tail or "").split("\n")))

    def _note(self, note: Element, parts: list[str]) -> None:
        mark = child(note, "note-citation")
        label = one_line("".join(mark.itertext())) if mark is not None else "*"
        body = child(note, "note-body")
        text = " ".join("".join(each.itertext()) for each in below(body, "p")) if body is not None else ""
        parts.append(note_mark(label, "".join(parts[-20:])))
        self._notes.append(f"[{label}] {one_line(text)}")

    def _flush_notes(self) -> None:
        for note in self._notes:
            self._writer.block(note)
        self._notes.clear()

    def _note_link(self, node: Element) -> None:
        target = attribute(node, "href").strip()
        if target and not target.startswith(("#", "javascript:", "data:")):
            self.links.append(WrittenLink.cut(target, "".join(node.itertext())))

    def warnings(self, embedded: int) -> Iterator[str]:
        """A warning for each kind of what was left out."""
        if self._missing["changes"]:
            yield "text deleted under tracked changes is left out"
        if self._missing["repeats"]:
            yield f"{self._missing['repeats']} rows are repeated over {MAX_REPEATED_ROWS} times; the rest is left out"
        if self._missing["comments"]:
            yield f"{self._missing['comments']} comments are left out"
        if self._missing["pictures"]:
            yield f"{self._missing['pictures']} pictures without a description are left out"
        if embedded:
            yield f"{embedded} embedded charts and objects are left out"


def _rows(table: Element) -> Iterator[Element]:
    """The rows of a table, those of its groups and its header too."""
    for node in table:
        if local(node) == "table-row":
            yield node
        elif local(node) in {"table-header-rows", "table-rows", "table-row-group"}:
            yield from _rows(node)


def _has_text(cell: tuple[str, int, int]) -> bool:
    return bool(cell[0])


def marked_cells(root: Element) -> tuple[dict[str, list[Merged]], dict[str, dict[tuple[int, int], str]]]:
    """The merged cells of each sheet of a spreadsheet, in order, and the forms of its cells with shares and times."""
    found: dict[str, list[Merged]] = {}
    forms: dict[str, dict[tuple[int, int], str]] = {}
    for sheet in below(root, "table"):
        cells = found.setdefault(attribute(sheet, "name"), [])
        marked = forms.setdefault(attribute(sheet, "name"), {})
        number = 0
        for row in _rows(sheet):
            column = 0
            rows = _count(row, "number-rows-repeated", MAX_ROWS)
            for cell in row:
                down, across = (_count(cell, f"number-{kind}-spanned", MAX_ROWS) for kind in ("rows", "columns"))
                if down > 1 or across > 1:
                    cells.append(((number, column), (number + down - 1, column + across - 1)))
                columns = _count(cell, "number-columns-repeated", MAX_ROWS)
                form = _SHOWN_AS.get(attribute(cell, "value-type"))
                if form:
                    places = product(range(number, number + rows), range(column, column + columns))
                    marked |= dict.fromkeys(islice(places, max(MAX_MARKED_CELLS - len(marked), 0)), form)
                column += columns
            number += rows
    return found, forms


def _count(node: Element, name: str, limit: int) -> int:
    written = attribute(node, name)
    return min(int(written[:9]), limit) if written.isdigit() and written.isascii() and int(written[:9]) else 1
