"""PPTX: slides in their order with titles as headings, text, tables, descriptions of pictures and speaker notes."""

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from readers.formats import PPTX
from readers.markdown_writer import MarkdownWriter, first_twenty, grid, lowered, one_line, raised, struck
from readers.office.notation import FORMS, linear
from readers.office.package import RELATIONS, Package, attribute, below, child, integer, local
from readers.parsed import ParsedDocument, WrittenLink
from readers.read_errors import refuse_over

MAX_SLIDES = 5_000
MAX_LINKS = 10_000
_MAIN = "ppt/presentation.xml"
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
_TITLES = frozenset({"title", "ctrTitle"})
_NUMBERS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})  # date, footer, number, header, picture of the slide


def read_presentation(body: bytes) -> ParsedDocument:
    """Read a presentation, hidden slides too."""
    package = Package(body, "the presentation")
    parts, warnings = _slides(package)
    refuse_over(MAX_SLIDES, len(parts), "slides", "the presentation")
    writer = MarkdownWriter()
    deck = _Deck(package, writer)
    for number, part in enumerate(parts, start=1):
        deck.slide(number, part)
    return writer.document(PPTX, links=deck.links[:MAX_LINKS], warnings=[*warnings, *deck.warnings(len(parts))])


def _slides(package: Package) -> tuple[list[str], list[str]]:
    """The parts of the slides in the order of the presentation, by their numbers where that is lost; and warnings."""
    root = package.xml(_MAIN)
    listed = child(root, "sldIdLst")
    if root is not None and listed is not None:
        relations = package.relations(_MAIN)
        found = [relations.get(each.get(f"{{{RELATIONS}}}id", ""), ("", ""))[1] for each in listed]
        if found and all(part in package.names for part in found):
            return found, []
    named = (_SLIDE.fullmatch(name) for name in package.names)
    numbered = sorted((int(match[1]), match[0]) for match in named if match)
    if not numbered:
        package.needed(_MAIN)
        return [], []
    return [name for _, name in numbered], [
        "the presentation is damaged; its slides are read in the order of their names"
    ]


class _Deck:
    """Writes slides one after the other, and counts what is left out."""

    def __init__(self, package: Package, writer: MarkdownWriter) -> None:
        self._package, self._writer = package, writer
        self._missing: Counter[str] = Counter()
        self._damaged: list[int] = []
        self._hidden: list[int] = []
        self._furniture: set[str] = set()
        self.links: list[WrittenLink] = []

    def slide(self, number: int, part: str) -> None:
        """Write a slide and its notes."""
        root = self._package.xml(part)
        if root is None:
            self._damaged.append(number)
            return
        if root.get("show") in {"0", "false"}:
            self._hidden.append(number)
        relations = self._package.relations(part)
        shapes = list(_shapes(child(root, "cSld", "spTree")))
        title = next((text for shape in shapes if _placeholder(shape) in _TITLES and (text := _title(shape))), "")
        self._writer.place(f"slide {number}", page=True)
        self._writer.heading(2, title or f"Slide {number}")
        for shape in shapes:
            if _placeholder(shape) in _FURNITURE:
                self._once(_title(shape))
            elif _placeholder(shape) not in _TITLES:
                self._shape(shape)
        self._note_links(root, part)
        for kind, target in relations.values():
            if kind == "notesSlide":
                self._notes(number, target)
            elif kind in {"comments", "video", "audio", "package", "oleObject"}:
                self._missing[kind] += 1

    def _once(self, text: str) -> None:
        """Write a header, a footer or a typed date at its first occurrence."""
        if any(map(str.isalpha, text)) and text not in self._furniture:
            self._furniture.add(text)
            self._writer.block(text)

    def _shape(self, shape: Element) -> None:
        name = local(shape)
        if name == "sp":
            self._text(child(shape, "txBody"))
        elif name == "pic":
            words = one_line(_description(shape))
            self._missing["picture"] += not words
            if words:
                self._writer.block(f"[{words}]")
        elif name == "graphicFrame":
            table = next(below(shape, "tbl"), None)
            kind = attribute(found, "uri") if (found := next(below(shape, "graphicData"), None)) is not None else ""
            words = one_line(_description(shape))
            if table is not None:
                self._table(table)
            elif words:
                self._writer.block(f"[{words}]")
            if kind.endswith(("/chart", "/diagram", "/chartex")):
                self._missing[kind.rpartition("/")[2]] += 1

    def _text(self, body: Element | None) -> None:
        counts: dict[int, int] = {}
        for paragraph in body if body is not None else ():
            text = _paragraph(paragraph) if local(paragraph) == "p" else ""
            if text.strip():
                properties = child(paragraph, "pPr")
                written = attribute(properties, "lvl") if properties is not None else ""
                level = int(written) if written in set("12345678") else 0
                label = _number(child(properties, "buAutoNum"), level, counts)
                indent = "  " * level + (f"{label} " if label else "- ") if level or label else ""
                lines = [one_line(line) for line in text.split("\n")]
                self._writer.block(indent + "\n".join(line for line in lines if line), tight=bool(indent))

    def _table(self, table: Element) -> None:
        cells = [[_spans(cell) for cell in row if _is_own(cell)] for row in table if local(row) == "tr"]
        rows = [row for row, own in zip(grid(cells), cells, strict=True) if any(text for text, _, _ in own)]
        if rows:
            self._writer.table(rows, columns=max(map(len, rows)))

    def _notes(self, number: int, part: str) -> None:
        root = self._package.xml(part)
        self._missing["notes"] += root is None
        tree = child(root, "cSld", "spTree")
        bodies = [child(shape, "txBody") for shape in _shapes(tree) if _placeholder(shape) not in _FURNITURE]
        texts = [_paragraph(each) for body in bodies if body is not None for each in body if local(each) == "p"]
        if any(text.strip() for text in texts):
            self._writer.place(f"slide {number}, notes")
            self._writer.heading(3, "Notes")
            for text in texts:
                self._writer.block("\n".join(one_line(line) for line in text.split("\n")))

    def _note_links(self, root: Element, part: str) -> None:
        targets = dict(self._outside(part))
        for run in below(root, "r"):
            clicked = child(run, "rPr", "hlinkClick")
            target = targets.get(clicked.get(f"{{{RELATIONS}}}id", ""), "") if clicked is not None else ""
            if target:
                shown = "".join(each.text or "" for each in below(run, "t"))
                self.links.append(WrittenLink.cut(target, shown))

    def _outside(self, part: str) -> Iterator[tuple[str, str]]:
        """What a slide links to outside the package, as written; nothing of it is fetched."""
        folder, _, name = part.rpartition("/")
        root = self._package.xml(f"{folder}/_rels/{name}.rels")
        for each in root if root is not None else ():
            if each.get("Type", "").endswith("/hyperlink") and each.get("TargetMode") == "External":
                yield each.get("Id", ""), each.get("Target", "")

    def warnings(self, slides: int) -> Iterator[str]:
        """A warning for each kind of what was left out."""
        if self._damaged:
            shown = first_twenty(self._damaged)
            yield f"{len(self._damaged)} of {slides} slides cannot be read and are left out: {shown}"
        links = sum(name.endswith(".rels") for name in self._package.damaged)
        if links:
            yield f"{links} parts that link slides and notes are damaged; notes may be missing"
        if self._hidden:
            yield f"{len(self._hidden)} hidden slides are read: {first_twenty(self._hidden)}"
        kinds = {
            "picture": "pictures without a description",
            "notes": "slides' notes that cannot be read",
            "comments": "slides' comments",
            "chart": "charts",
            "chartex": "charts of a newer kind",
            "diagram": "diagrams",
            "video": "films",
            "audio": "recordings",
            "package": "embedded files",
            "oleObject": "embedded objects",
        }
        yield from (
            f"{self._missing[kind]} {words} are left out" for kind, words in kinds.items() if self._missing[kind]
        )


def _shapes(tree: Element | None) -> Iterator[Element]:
    """The shapes of a slide in order, those of groups too; of alternatives the first."""
    for node in tree if tree is not None else ():
        name = local(node)
        if name == "grpSp":
            yield from _shapes(node)
        elif name == "AlternateContent":
            yield from _shapes(next(iter(node), None))
        elif name in {"sp", "pic", "graphicFrame"}:
            yield node


def _placeholder(shape: Element) -> str:
    for properties in shape:
        kind = child(properties, "nvPr", "ph")
        if kind is not None:
            return kind.get("type", "body")
    return ""


def _description(shape: Element) -> str:
    properties = next(below(shape, "cNvPr"), None)
    return properties.get("descr", "") if properties is not None else ""


def _title(shape: Element) -> str:
    return one_line(" ".join(_paragraph(each) for each in below(shape, "p")))


def _paragraph(paragraph: Element) -> str:
    parts: list[str] = []
    skipped = ("slidenum",) if any(local(node) == "r" for node in paragraph) else ("slidenum", "datetime")
    for node in paragraph:
        name = local(node)
        if name in {"r", "fld"} and not node.get("type", "").startswith(skipped):
            text = "".join(each.text or "" for each in node if local(each) == "t")
            parts.append(_as_shown(text, child(node, "rPr"), "".join(parts[-20:])[-20:]))
        elif name == "br":
            parts.append("\n")
        elif name in {"m", "AlternateContent"}:  # a formula
            parts.append(linear(node if name == "m" else next(iter(node), node)))
    return "".join(parts)


def _as_shown(text: str, properties: Element | None, before: str) -> str:
    """The text of a run, raised, lowered or struck as its properties say."""
    moved, line = (attribute(properties, name) if properties is not None else "" for name in ("baseline", "strike"))
    if before.strip() and re.fullmatch(r"-?\d+%?", moved) and moved.strip("-0%"):
        text = lowered(text, before) if moved.startswith("-") else raised(text, before)
    return struck(text) if line in {"sngStrike", "dblStrike"} else text


def _number(automatic: Element | None, level: int, counts: dict[int, int]) -> str:
    """The automatic number before a paragraph; empty without one."""
    for each in [each for each in counts if each > level or (each == level and automatic is None)]:
        del counts[each]
    if automatic is None:
        return ""
    start, kind = attribute(automatic, "startAt"), attribute(automatic, "type")
    counts[level] = counts[level] + 1 if level in counts else integer(start, 1)
    name = next((name for sign, name in _NUMBERS.items() if kind.startswith(sign)), "decimal")
    number = FORMS[name](counts[level])
    if kind.endswith("ParenBoth"):
        return f"({number})"
    return f"{number}{')' if kind.endswith('ParenR') else '' if kind.endswith('Plain') else '.'}"


def _is_own(cell: Element) -> bool:
    """Whether it is a cell that no other covers."""
    return local(cell) == "tc" and not {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}


def _spans(cell: Element) -> tuple[str, int, int]:
    rows, columns = (cell.get(name, "") for name in ("rowSpan", "gridSpan"))
    return one_line(" ".join(_paragraph(each) for each in below(cell, "p"))), _natural(rows), _natural(columns)


def _natural(text: str) -> int:
    return int(text) if re.fullmatch("[1-9][0-9]{0,4}", text) else 1
