"""Rewrite the parts of a Word document for mammoth: what it would lose, repeat or run together becomes text."""

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from mammoth.docx.dingbats import dingbats

from readers.markdown_writer import MAX_COLUMNS, lowered, one_line, raised, struck
from readers.office.notation import BULLET, WordNumbers, WordStyles, is_on, linear_formulas, value
from readers.office.package import Package, attribute, below, child, local

LABEL = "\ufdd1"
"""No character: stands before and behind the label of an item of a list."""
_WRAPPERS = frozenset({"fldSimple", "smartTag", "customXml", "dir", "bdo", "sdtContent"})
_OF_WRAPPERS = frozenset({"sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"})
_OF_TABLE = {"tbl": frozenset({"tblPr", "tblGrid", "tr"}), "tr": frozenset({"trPr", "tc"})}
_SHOWN = frozenset({"sym", "footnoteReference", "endnoteReference", "drawing", "pict"})
_HEADING = re.compile("heading ?([1-9])", re.IGNORECASE)
_CHART = re.compile(r"word/(?:charts/chart|diagrams/data)\d*\.xml")
_LEFT_OUT = (
    (b"<w:delText", "text deleted under tracked changes is left out"),
    (b"<w:altChunk", "inserted documents (altChunk) are left out"),
)
_MARGIN = re.compile(r"word/(header|footer)\d*\.xml")
_LOOKS = frozenset({"vertAlign", "strike", "dstrike", "vanish"})
_OF_FIELDS = frozenset({"fldChar", "instrText", "rPr"})
_REFERRING = frozenset({"hyperlink", "blip", "imagedata", "hlinkClick"})
MAX_CELL_CHARACTERS = 1_000  # of a table of data with other tables in its cells; a larger one lays out a page
_RAISED = 4  # half points by which a letter stands above or below its line


class WordPackage(Package):
    """The parts of a Word document."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body, "the Word document")
        self.unread = 0  # numbers whose form is not known
        self._hides = False
        first = dict(self.relations("").values())
        self.main = first.get("officeDocument", "word/document.xml")
        self._related = dict(reversed(self.relations(self.main).values()))

    def related(self, kind: str) -> str:
        """The name of a part that the document refers to, such as its styles."""
        return self._related.get(kind, f"word/{kind}.xml")

    def readable(self) -> bytes:
        """The document rewritten for mammoth, without the bytes of its pictures."""
        written = io.BytesIO()
        texts = {self.main, self.related("footnotes"), self.related("endnotes")}
        with zipfile.ZipFile(written, "w") as copy:
            for name in sorted(self.names):
                body = self.read(name) if name.endswith((".xml", ".rels")) else b""
                if name in self.damaged:
                    raise zipfile.BadZipFile(name)
                root = self.xml(name) if name in texts else None
                if root is not None:
                    self._drop_dangling(root, name)
                    self._rewrite(root)
                    body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
                copy.writestr(name, body or b"")
        return written.getvalue()

    def margins(self) -> tuple[list[str], list[str], tuple[str, ...]]:
        """The paragraphs of page headers and of footers, each once, and warnings; page numbers are dropped."""
        found: dict[str, list[str]] = {"header": [], "footer": []}
        for name in sorted(self.names):
            kind = _MARGIN.fullmatch(name)
            root = self.xml(name) if kind else None
            if kind and root is not None:
                self._rewrite(root)
                texts = (one_line("".join(_as_shown(paragraph))) for paragraph in below(root, "p"))
                found[kind[1]] += [text for text in texts if any(map(str.isalpha, text))]
        damaged = sum(bool(_MARGIN.fullmatch(name)) for name in self.damaged)
        warnings = (f"{damaged} page header or footer parts are damaged and are left out",) if damaged else ()
        headers, footers = (list(dict.fromkeys(texts)) for texts in found.values())
        return headers, footers, warnings

    def left_out(self) -> Iterator[str]:
        """A warning for each kind of content that is not read."""
        if b"<w:comment " in (self.read("word/comments.xml") or b""):
            yield "the comments of the Word document are left out"
        document = self.read(self.main) or b""
        yield from (warning for mark, warning in _LEFT_OUT if mark in document)
        if self._hides:
            yield "hidden text of the Word document is left out"
        embedded = sum(name.startswith("word/embeddings/") for name in self.names)
        if embedded:
            yield f"{embedded} embedded files of the Word document are left out"
        drawn = sum(bool(_CHART.fullmatch(name)) for name in self.names)
        if drawn:
            yield f"{drawn} charts and diagrams of the Word document are left out"

    @cached_property
    def _styles(self) -> WordStyles:
        return WordStyles(self.xml(self.related("styles")))

    def _rewrite(self, root: Element) -> None:
        part = _Part(self._styles, WordNumbers(self.xml(self.related("numbering")), self._styles))
        self.unread += part.rewrite(root)
        self._hides |= part.hides

    def _drop_dangling(self, root: Element, part: str) -> None:
        """Remove references to parts that are not listed: mammoth would refuse the document."""
        folder, _, name = part.rpartition("/")
        listed = self.xml(f"{folder}/_rels/{name}.rels")
        ids = {each.get("Id", "") for each in listed} if listed is not None else set[str]()
        for node in root.iter():
            if local(node) in _REFERRING:
                for key in [
                    key for key, target in node.attrib.items() if "relationships}" in key and target not in ids
                ]:
                    del node.attrib[key]


def with_labels(page: str) -> str:
    """Mammoth's page with the labels of its lists as attributes for the reader of HTML."""
    label = re.compile(rf"<li>{LABEL}([^{LABEL}<]*){LABEL} ?")
    page = label.sub(lambda at: '<li data-label="{}">'.format(at[1].replace('"', "&quot;")), page)
    return page.replace(LABEL, "")


def unwrapped(root: Element) -> None:
    """Put the content of fields, content controls and other wrappers in their place, each text once; signs as text."""
    for node in list(root.iter()):
        if any(local(each) in _CHANGED for each in node):
            node[:] = _contents(node, node)
    for node in root.iter():
        if own := _OF_TABLE.get(local(node)):
            node[:] = [each for each in node if local(each) in own]


def _contents(nodes: Iterable[Element], parent: Element) -> list[Element]:
    """What stands for *nodes* in their *parent*."""
    changed = ((_CHANGED.get(local(node)), node) for node in nodes)
    return [each for change, node in changed for each in (change(node, parent) if change else [node])]


def _unwrapped(node: Element, parent: Element) -> list[Element]:
    return _contents((each for each in node if local(each) not in _OF_WRAPPERS), parent)


def _ruby(node: Element, parent: Element) -> list[Element]:
    base, above = ("".join(_texts(child(node, part))) for part in ("rubyBase", "rt"))
    return [_text(parent, f"{base}({above})" if above.strip() else base)]


def _sign(node: Element, parent: Element) -> list[Element]:
    character = _symbol(attribute(node, "font"), attribute(node, "char"))
    return [_text(parent, character) if character else node]


def _drawing(node: Element, parent: Element) -> list[Element]:
    """A text box as mammoth reads it, a picture, or the description of anything else."""
    if boxes := list(_outermost(node, "txbxContent")):
        box = _new(parent, "pict")
        box.extend(boxes)
        return [box]
    words = next((one_line(attribute(each, "descr")) for each in below(node, "docPr")), "")
    return [node if next(below(node, "blip"), None) is not None or not words else _text(parent, f"[{words}]")]


_CHANGED: dict[str, Callable[[Element, Element], list[Element]]] = {
    "AlternateContent": lambda node, parent: _contents(_alternative(node), parent),
    **dict.fromkeys(("sdt", *_WRAPPERS), _unwrapped),
    "ruby": _ruby,
    **dict.fromkeys(("cr", "br"), lambda _, parent: [_new(parent, "br")]),
    "ptab": lambda _, parent: [_new(parent, "tab")],
    "noBreakHyphen": lambda _, parent: [_text(parent, "\u2011")],
    "softHyphen": lambda *_: [],
    "sym": _sign,
    **dict.fromkeys(("oMath", "oMathPara"), lambda node, parent: [_run(parent, linear_formulas(node))]),
    "drawing": _drawing,
}


def _alternative(node: Element) -> Element:
    """The older of two alternatives, which mammoth knows; the newer if only it has text."""
    older = child(node, "Fallback")
    if older is not None and (any(_texts(older)) or not any(_texts(node))):
        return older
    return next((each for each in node if any(_texts(each))), node)


def _texts(node: Element | None) -> Iterator[str]:
    return (each.text or "" for each in below(node, "t")) if node is not None else iter(())


def _outermost(node: Element, name: str) -> Iterator[Element]:
    for each in node:
        if local(each) == name:
            yield each
        else:
            yield from _outermost(each, name)


def _new(parent: Element, name: str) -> Element:
    """A new element in the namespace of *parent*, not yet its child."""
    space, _, _ = parent.tag.rpartition("}")
    return Element(f"{space}}}{name}" if space else name)


def _text(parent: Element, text: str) -> Element:
    node = _new(parent, "t")
    node.text = text
    return node


def _symbol(font: str, code: str) -> str:
    """The character of a symbol's font; empty if not known.

    >>> _symbol("Symbol", "F06D"), _symbol("Arial", "20AC"), _symbol("Odd", "F06D")
    ('μ', '€', '')
    """
    number = int(code, 16) if re.fullmatch("[0-9a-fA-F]{1,5}", code) else 0
    known = dingbats.get((font, number)) or dingbats.get((font, number & 0xFF if number >> 8 == 0xF0 else number))
    private = 0xE000 <= number < 0xF900 or 0xD800 <= number < 0xE000
    return chr(known or (0 if private or number < 32 else number)).strip("\0")


def _as_shown(paragraph: Element) -> list[str]:
    """The text of a paragraph of a rewritten part, without paragraphs inside it, as of a text box."""
    parts: list[str] = []
    for node in paragraph:
        name = local(node)
        if name == "r":
            look, before = child(node, "rPr"), "".join(parts[-20:])[-20:]
            text = "".join({"t": each.text or "", "tab": " ", "br": " "}.get(local(each), "") for each in node)
            shift = value(child(look, "vertAlign"))
            if shift in {"superscript", "subscript"}:
                text = raised(text, before) if shift == "superscript" else lowered(text, before)
            parts.append(struck(text) if is_on(child(look, "strike")) else text)
        elif name not in {"p", "pPr", "del", "moveFrom"}:
            parts += _as_shown(node)
    return parts


def _write_symbols(run: Element, font: str) -> None:
    """Replace the private characters of fonts such as Symbol by the signs that they show."""
    for node in run if font else ():
        if local(node) == "t" and node.text and re.search("[\uf020-\uf0ff]", node.text):
            node.text = re.sub("[\uf020-\uf0ff]", lambda at: _symbol(font, f"{ord(at[0]):X}") or at[0], node.text)


class _Part:
    """Rewrites a part with paragraphs: the document, its footnotes or its endnotes."""

    def __init__(self, styles: WordStyles, numbers: WordNumbers) -> None:
        self._styles, self._numbers = styles, numbers
        self._cached: dict[tuple[str, bool], list[Element]] = {}
        self._unread = 0
        self.hides = False  # some text

    def rewrite(self, root: Element) -> int:
        """Change the part; return how many numbers have a form that is not known."""
        unwrapped(root)
        _drop_instructions(root)
        for table in reversed(list(below(root, "tbl"))):
            _fill_grid(table)
            _flatten_inner(table)
        in_cells = {id(paragraph) for cell in below(root, "tc") for paragraph in below(cell, "p")}
        for paragraph in list(below(root, "p")):
            self._mark_runs(paragraph)
            self._number(paragraph, in_cell=id(paragraph) in in_cells)
        return self._unread

    def _mark_runs(self, paragraph: Element) -> None:
        """Write into every run whether it is raised, lowered or struck, also where a style says so."""
        inherited = self._looks(value(child(paragraph, "pPr", "pStyle")), paragraph=True)
        runs = [(run, child(run, "rPr")) for run in below(paragraph, "r")]
        if not inherited and all(own is None for _, own in runs):
            return
        shifts = {_shift(own) for run, own in runs if any(_texts(run))}
        for run, own in runs:
            style = value(child(own, "rStyle"))
            chain = [*([own] if own is not None else []), *(self._looks(style) if style else ()), *inherited]
            look = {name: found for each in reversed(chain) for found in each if (name := local(found)) in _LOOKS}
            moved = value(look.get("vertAlign")) or ("" if len(shifts) == 1 else _shift(own))
            is_struck = is_on(look.get("strike")) or is_on(look.get("dstrike"))
            if is_on(look.get("vanish")):
                self.hides |= any(_texts(run))
                run[:] = [node for node in run if local(node) != "t"]
                continue
            if own is not None:
                _write_symbols(run, attribute(fonts, "ascii") if (fonts := child(own, "rFonts")) is not None else "")
                own[:] = []  # mammoth would part runs that differ in nothing that is read
            _set(run, "vertAlign", moved)
            _set(run, "strike", "true" if is_struck else "")

    def _looks(self, style: str, *, paragraph: bool = False) -> list[Element]:
        """The properties of runs that a style and those that it is based on set, if some of them matter."""
        if (style, paragraph) not in self._cached:
            chain = [child(each, "rPr") for each in self._styles.chain(style, paragraph=paragraph)]
            self._cached[style, paragraph] = [
                each for each in chain if each is not None and any(local(found) in _LOOKS for found in each)
            ]
        return self._cached[style, paragraph]

    def _number(self, paragraph: Element, *, in_cell: bool) -> None:
        """Write the number of a paragraph before its text, and give every heading a style that mammoth knows."""
        properties = child(paragraph, "pPr")
        if child(properties, "rPr", "del") is not None:
            return
        found, heading = self._numbers.of(paragraph), self._heading(properties)
        shown = "".join(_texts(paragraph)).strip() or any(local(each) in _SHOWN for each in paragraph.iter())
        if not shown or (found is None and not heading):
            return
        if properties is None:
            properties = _new(paragraph, "pPr")
            paragraph.insert(0, properties)
        if heading and not in_cell:
            _set_value(properties, "pStyle", f"Heading{heading}")
        if found is None:
            return
        self._unread += found.label is None
        label = "" if heading and found.label == BULLET else found.label or ""
        text = label + found.separator if label else ""
        if in_cell or heading or not label:
            _set_number(properties, "0", 0)
        else:
            _set_number(properties, found.number, found.level)
            text = f"{LABEL}{'-' if label == BULLET else label}{LABEL}{found.separator}"
        if text:
            paragraph.insert(list(paragraph).index(properties) + 1, _run(paragraph, text))

    def _heading(self, properties: Element | None) -> int:
        """The level of a heading, from 1 to 6, by its outline level or the names of its styles; 0 for other text."""
        named = value(child(properties, "pStyle"))
        outline = value(child(properties, "outlineLvl"))
        for style in self._styles.chain(named) if named else ():
            outline = outline or value(child(style, "pPr", "outlineLvl"))
            found = _HEADING.fullmatch(value(child(style, "name")))
            if not outline and found:
                outline = str(int(found[1]) - 1)
        found = _HEADING.fullmatch(named)
        if not outline and found:
            outline = str(int(found[1]) - 1)
        return min(int(outline) + 1, 6) if outline in set("012345678") else 0


def _set(run: Element, name: str, to: str) -> None:
    """Set a property of a run; remove it if *to* is empty."""
    properties = child(run, "rPr")
    if properties is None and to:
        properties = _new(run, "rPr")
        run.insert(0, properties)
    if properties is not None:
        _set_value(properties, name, to)


def _set_value(properties: Element, name: str, to: str) -> None:
    for each in [each for each in properties if local(each) == name]:
        properties.remove(each)
    if to:
        added = _new(properties, name)
        added.set(added.tag.replace(f"}}{name}", "}val"), to)
        properties.append(added)


def _set_number(properties: Element, number: str, level: int) -> None:
    for each in [each for each in properties if local(each) == "numPr"]:
        properties.remove(each)
    added = _new(properties, "numPr")
    _set_value(added, "ilvl", str(level))
    _set_value(added, "numId", number)
    properties.append(added)


def _shift(properties: Element | None) -> str:
    """Whether a run is moved above or below its line."""
    moved = value(child(properties, "position"))
    by = int(moved) if re.fullmatch(r"-?\d{1,3}", moved) else 0
    return "" if abs(by) < _RAISED else "superscript" if by > 0 else "subscript"


def _drop_instructions(root: Element) -> None:
    """Drop the instructions of fields with all inside them; check boxes become signs."""
    inside: list[tuple[Element, Element]] = []  # what stands in the instructions of open fields
    begun: list[int | None] = []  # of each open field, where in it its instruction begins; None behind that
    instructions = 0  # that are open
    for run in list(below(root, "r")):
        for node in list(run):
            kind = attribute(node, "fldCharType") if local(node) == "fldChar" else ""
            if kind == "begin":
                shown = _form_field(node)
                if shown:
                    run.insert(list(run).index(node), _text(run, shown))
                begun.append(len(inside))
                instructions += 1
            elif kind in {"separate", "end"} and begun:
                start = begun.pop()
                if start is not None:
                    for holder, each in inside[start:]:
                        holder.remove(each)
                    del inside[start:]
                    instructions -= 1
                if kind == "separate":
                    begun.append(None)
            elif instructions and (local(node) not in _OF_FIELDS or "FORMCHECKBOX" in (node.text or "")):
                inside.append((run, node))


def _form_field(begin: Element) -> str:
    """The text of a check box or a drop-down list."""
    box, choice = child(begin, "ffData", "checkBox"), child(begin, "ffData", "ddList")
    if box is not None:
        ticked = child(box, "checked")
        begin[:] = []
        return "\u2612" if is_on(ticked if ticked is not None else child(box, "default")) else "\u2610"
    if choice is not None:
        entries = [value(each) for each in choice if local(each) == "listEntry"]
        chosen = value(child(choice, "result")) or value(child(choice, "default")) or "0"
        return dict(enumerate(entries)).get(int(chosen[:9]), "") if chosen.isdecimal() else ""
    return ""


def _fill_grid(table: Element) -> None:
    """Add cells to rows that begin or end inside the table, and join those that an older Word merged."""
    for row in (node for node in table if local(node) == "tr"):
        cells = [cell for cell in row if local(cell) == "tc"]
        before, after = (_columns(child(row, "trPr", name), 0) for name in ("gridBefore", "gridAfter"))
        if before and cells:
            row.insert(list(row).index(cells[0]), _empty_cell(row, before))
        if after:
            row.append(_empty_cell(row, after))
        first: Element | None = None
        for cell in cells:
            merged = child(cell, "tcPr", "hMerge")
            if merged is None or value(merged) == "restart" or first is None:
                first = cell
            else:
                _set_columns(first, sum(_columns(child(each, "tcPr", "gridSpan"), 1) for each in (first, cell)))
                row.remove(cell)


def _flatten_inner(table: Element) -> None:
    """Write the tables inside the cells of a table of data as lines: `part, price;`."""
    rows = [[cell for cell in row if local(cell) == "tc"] for row in table if local(row) == "tr"]
    sizes = [[sum(map(len, _texts(cell))) for cell in row] for row in rows]
    if sum(sum(map(bool, row)) > 1 for row in sizes) < 2 or max(map(max, filter(None, sizes))) > MAX_CELL_CHARACTERS:
        return
    for cell in (cell for row in rows for cell in row):
        cell[:] = [
            _as_line(each) if local(block) == "tbl" else each
            for block in cell
            for each in (block if local(block) == "tbl" else [block])
            if local(block) != "tbl" or local(each) == "tr"
        ]


def _as_line(row: Element) -> Element:
    line = _new(row, "p")
    for cell in (each for each in row if local(each) == "tc"):
        if len(line):
            line.append(_run(line, ", "))
        for paragraph in below(cell, "p"):
            line.extend(each for each in paragraph if local(each) != "pPr")
            line.append(_run(line, " "))
        if len(line):
            line.remove(line[-1])
    line.append(_run(line, ";"))
    return line


def _run(parent: Element, text: str) -> Element:
    run = _new(parent, "r")
    run.append(_text(run, text))
    return run


def _columns(node: Element | None, usual: int) -> int:
    written = value(node)
    return min(int(written[:4]), MAX_COLUMNS) if written.isdecimal() else usual


def _empty_cell(row: Element, columns: int) -> Element:
    cell = _new(row, "tc")
    _set_columns(cell, columns)
    cell.append(_new(row, "p"))
    return cell


def _set_columns(cell: Element, columns: int) -> None:
    properties = child(cell, "tcPr")
    if properties is None:
        properties = _new(cell, "tcPr")
        cell.insert(0, properties)
    _set_value(properties, "gridSpan", str(columns))
