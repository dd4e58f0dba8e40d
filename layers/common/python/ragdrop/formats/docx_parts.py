"""What mammoth passes over in a Word document: formulas, page headers and footers, and comments."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from html import escape
from xml.etree import ElementTree

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
DOCUMENT = "word/document.xml"
_FORMULA = re.compile(r"<m:oMath[ >].*?</m:oMath>|<m:oMath/>", re.DOTALL)
_FORMULA_PARAGRAPH = re.compile(r"</?m:oMathPara>|<m:oMathPara [^>]*>|<m:oMathParaPr>.*?</m:oMathParaPr>", re.DOTALL)
_PARAGRAPH = re.compile(r"<w:p[ >].*?</w:p>", re.DOTALL)
_TEXT = re.compile(r"<w:t(?: [^>]*)?>([^<]*)</w:t>|<w:tab/>")
_MARGIN = re.compile(r"word/(header|footer)\d*\.xml")


def with_formulas(body: bytes) -> bytes:
    """The document with each formula as text on one line, which mammoth reads; unchanged where there is none."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        if DOCUMENT not in archive.namelist():
            return body
        document = archive.read(DOCUMENT).decode("utf-8", "replace")
        if "<m:oMath" not in document:
            return body
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
            for part in archive.infolist():
                content = archive.read(part) if part.filename != DOCUMENT else _as_text(document).encode()
                copy.writestr(part.filename, content)
    return written.getvalue()


def margins(body: bytes) -> tuple[list[str], list[str]]:
    """The paragraphs of page headers and of footers, each once; those without a letter, such as page numbers, go."""
    found: dict[str, list[str]] = {"header": [], "footer": []}
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for name in sorted(archive.namelist()):
            kind = _MARGIN.fullmatch(name)
            if kind:
                found[kind[1]] += _paragraphs(archive.read(name).decode("utf-8", "replace"))
    headers, footers = (list(dict.fromkeys(found[kind])) for kind in ("header", "footer"))
    return headers, footers


def has_comments(body: bytes) -> bool:
    """Whether readers left comments, which are no part of the text."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return "word/comments.xml" in archive.namelist() and b"<w:comment " in archive.read("word/comments.xml")


def linear(node: ElementTree.Element) -> str:
    """A formula on one line.

    >>> m = f'xmlns:m="{MATH}"'
    >>> part = lambda name, text: f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>"
    >>> linear(ElementTree.fromstring(f"<m:oMath {m}><m:f>{part('num', 'a')}{part('den', 'b+c')}</m:f></m:oMath>"))
    'a/(b+c)'
    >>> linear(ElementTree.fromstring(f"<m:oMath {m}><m:sSup>{part('e', 'x')}{part('sup', '2')}</m:sSup></m:oMath>"))
    'x^2'
    """
    name = node.tag.rpartition("}")[2]
    parts = {child.tag.rpartition("}")[2]: linear(child) for child in node}
    match name:
        case "t":
            return node.text or ""
        case "f":
            return f"{_grouped(parts.get('num', ''))}/{_grouped(parts.get('den', ''))}"
        case "sSup":
            return f"{_grouped(parts.get('e', ''))}^{_grouped(parts.get('sup', ''))}"
        case "sSub":
            return f"{parts.get('e', '')}_{_grouped(parts.get('sub', ''))}"
        case "sSubSup":
            return f"{parts.get('e', '')}_{_grouped(parts.get('sub', ''))}^{_grouped(parts.get('sup', ''))}"
        case "rad":
            return f"√{parts.get('deg', '')}({parts.get('e', '')})"
        case "nary":
            limits = f"_{_grouped(parts.get('sub', ''))}^{_grouped(parts.get('sup', ''))}"
            sign = next((each.get(f"{{{MATH}}}val") for each in node.iter(f"{{{MATH}}}chr")), None)
            return f"{sign or '∫'}{limits} {parts.get('e', '')}"
        case "d":
            return f"({', '.join(linear(child) for child in node if child.tag.endswith('}e'))})"
        case "fName":
            return f"{''.join(map(linear, node))} "
        case _:
            return "".join(map(linear, node))


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _as_text(document: str) -> str:
    found = _FORMULA.sub(lambda formula: _run(formula.group()), document)
    return _FORMULA_PARAGRAPH.sub("", found)


def _run(formula: str) -> str:
    """A formula as a run of text; its plain characters where its XML cannot be read alone."""
    prefixes = " ".join(f'xmlns:{name}="urn:x"' for name in sorted(set(re.findall(r"[< ](\w+):", formula)) - {"m"}))
    try:
        text = linear(ElementTree.fromstring(f'<m:x xmlns:m="{MATH}" {prefixes}>{formula}</m:x>'))  # noqa: S314 - no DTD
    except ElementTree.ParseError:
        text = " ".join(re.findall(r"<m:t[^>]*>([^<]*)</m:t>", formula))
    return f'<w:r><w:t xml:space="preserve">{escape(text, quote=False)}</w:t></w:r>'


def _paragraphs(part: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.findall(part):
        text = "".join(found.group(1) or " " for found in _TEXT.finditer(paragraph)).strip()
        if any(letter.isalpha() for letter in text):
            yield text
