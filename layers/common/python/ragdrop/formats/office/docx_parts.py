"""Parts of a Word document that mammoth ignores: formulas, page headers and footers, and content that is left out."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_WITH_FORMULAS = frozenset({"word/document.xml", "word/footnotes.xml", "word/endnotes.xml"})
_MARGIN = re.compile(r"word/(header|footer)\d*\.xml")
_CHART = re.compile(r"word/(?:charts/chart|diagrams/data)\d*\.xml")
_LEFT_OUT = (
    (b"<w:delText", "text deleted under tracked changes is left out"),
    (b"<w:altChunk", "inserted documents (altChunk) are left out"),
)


def with_formulas(body: bytes) -> bytes:
    """The document with each formula as text on one line, which mammoth reads; unchanged where there is none."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = _WITH_FORMULAS.intersection(archive.namelist())
        changed = {name: archive.read(name) for name in names if b"oMath" in archive.read(name)}
        if not changed:
            return body
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as copy:
            for part in archive.infolist():
                held = changed.get(part.filename)
                copy.writestr(part, archive.read(part) if held is None else _linearised(held))
    return written.getvalue()


def margins(body: bytes) -> tuple[list[str], list[str], tuple[str, ...]]:
    """The paragraphs of page headers and of footers as HTML text, each once, and warnings; page numbers are dropped."""
    damaged = 0
    found: dict[str, list[str]] = {"header": [], "footer": []}
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for name in sorted(archive.namelist()):
            kind = _MARGIN.fullmatch(name)
            if kind:
                try:
                    root = ElementTree.fromstring(archive.read(name))  # noqa: S314 - checked for entities before
                except ElementTree.ParseError:
                    damaged += 1
                else:
                    found[kind[1]] += _paragraphs(root)
    headers, footers = (list(dict.fromkeys(found[kind])) for kind in ("header", "footer"))
    warnings = (f"{damaged} page header or footer parts are damaged and are left out",) if damaged else ()
    return headers, footers, warnings


def left_out(body: bytes) -> Iterator[str]:
    """A warning for each kind of content that is not read."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        names = archive.namelist()
        if "word/comments.xml" in names and b"<w:comment " in archive.read("word/comments.xml"):
            yield "the comments of the Word document are left out"
        document = archive.read("word/document.xml") if "word/document.xml" in names else b""
    yield from (warning for mark, warning in _LEFT_OUT if mark in document)
    embedded = sum(name.startswith("word/embeddings/") for name in names)
    if embedded:
        yield f"{embedded} embedded files of the Word document are left out"
    drawn = sum(bool(_CHART.fullmatch(name)) for name in names)
    if drawn:
        yield f"{drawn} charts and diagrams of the Word document are left out"


def linear(node: Element) -> str:
    """A formula on one line.

    >>> part = lambda name, text: f"<{name}><r><t>{text}</t></r></{name}>"
    >>> linear(ElementTree.fromstring(f"<oMath><f>{part('num', 'a')}{part('den', 'b+c')}</f></oMath>"))
    'a/(b+c)'
    >>> linear(ElementTree.fromstring(f"<oMath><sSup>{part('e', 'x')}{part('sup', '2')}</sSup></oMath>"))
    'x^2'
    """
    name = _local(node)
    parts = {_local(child): linear(child) for child in node}
    inside, under, above = parts.get("e", ""), _grouped(parts.get("sub", "")), _grouped(parts.get("sup", ""))
    match name:
        case "t":
            return node.text or ""
        case "f":
            return f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}"
        case "sSup" | "sSub" | "sSubSup":
            return (_grouped(inside) if name == "sSup" else inside) + _marks(under, above)
        case "sPre":
            return f"{_marks(under, above)} {inside}"
        case "rad":
            return f"√{parts.get('deg', '')}({inside})"
        case "nary":
            return f"{_character(node, 'chr', '∫')}{_marks(under, above)} {inside}"
        case "d":
            held = _character(node, "sepChr", ", ").join(linear(child) for child in node if _local(child) == "e")
            return f"{_character(node, 'begChr', '(')}{held}{_character(node, 'endChr', ')')}"
        case "m":
            return f"[{'; '.join(linear(child) for child in node if _local(child) == 'mr')}]"
        case "mr":
            return ", ".join(map(linear, node))
        case "eqArr":
            return "; ".join(linear(child) for child in node if _local(child) == "e")
        case "limLow" | "limUpp":
            return f"{inside}{'_' if name == 'limLow' else '^'}{_grouped(parts.get('lim', ''))}"
        case "acc":
            return inside + _character(node, "chr", "\u0302")
        case "func":
            return f"{parts.get('fName', '')} {inside}"
        case "del":
            return ""
        case _:
            return "".join(map(linear, node))


def _local(node: Element) -> str:
    return node.tag.rpartition("}")[2]


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _marks(under: str, above: str) -> str:
    return (f"_{under}" if under else "") + (f"^{above}" if above else "")


def _character(node: Element, name: str, usual: str) -> str:
    """The character that a property of *node* itself names, *usual* where it names none."""
    for properties in node:
        for each in properties if _local(properties) == f"{_local(node)}Pr" else ():
            if _local(each) == name:
                return next((value for key, value in each.attrib.items() if key.rpartition("}")[2] == "val"), "")
    return usual


def _linearised(part: bytes) -> bytes:
    root = ElementTree.fromstring(part)  # noqa: S314 - checked for entities before
    for parent in list(root.iter()):
        for place, child in enumerate(parent):
            if _local(child) in {"oMath", "oMathPara"}:
                run = Element(f"{{{WORD}}}r")
                ElementTree.SubElement(run, f"{{{WORD}}}t").text = _formulas(child)
                parent[place] = run
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _formulas(node: Element) -> str:
    return " ".join(filter(None, map(linear, node))) if _local(node) == "oMathPara" else linear(node)


def _paragraphs(root: Element) -> Iterator[str]:
    for paragraph in _readable(root, "p"):
        text = " ".join("".join(_texts(paragraph)).split())
        if any(character.isalpha() for character in text):
            yield escape(text, quote=False)


def _readable(node: Element, wanted: str) -> Iterator[Element]:
    """The elements of this name, also those inside others; of two alternatives of one content the older one."""
    for child in _children(node):
        if _local(child) == wanted:
            yield child
        yield from _readable(child, wanted)


def _texts(node: Element) -> Iterator[str]:
    """The text of a paragraph without that of the paragraphs inside it, as of a text box."""
    for child in _children(node):
        name = _local(child)
        if name == "t":
            yield child.text or ""
        elif name in {"tab", "br", "cr"}:
            yield " "
        elif name in {"oMath", "oMathPara"}:
            yield _formulas(child)
        elif name != "p":
            yield from _texts(child)


def _children(node: Element) -> Iterator[Element]:
    if _local(node) == "AlternateContent" and any(_local(child) == "Fallback" for child in node):
        return (child for child in node if _local(child) == "Fallback")
    return iter(node)
