"""DOCX by mammoth: Word styles become HTML, which is read as a page."""

import io
from collections.abc import Iterator
from html import escape
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

import mammoth

from readers.formats import DOCX
from readers.html import read_markup
from readers.markdown_writer import one_line
from readers.office.docx_markup import WordPackage, with_labels
from readers.office.package import BROKEN
from readers.parsed import ParsedDocument
from readers.read_errors import CorruptFileError

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
_BROKEN = (*BROKEN, ExpatError, ParseError, AttributeError, TypeError)


def read_docx(body: bytes) -> ParsedDocument:
    """Read a Word document: body, tables, formulas, text boxes, foot- and endnotes, page headers and footers.

    Paragraphs of headers stand once before the body, those of footers once behind it; a picture is its description.
    """
    bare = 0

    def described(picture: Any) -> list[Any]:
        nonlocal bare
        words = one_line(picture.alt_text or "")
        bare += not words
        return [mammoth.html.text(f"[{words}]")] if words else []

    try:
        package = WordPackage(body)
        package.refuse_entities()
        page = mammoth.convert_to_html(io.BytesIO(package.readable()), style_map=_STYLES, convert_image=described)
        headers, footers, damaged = package.margins()
        missing = tuple(package.left_out())
    except NotImplementedError as exc:
        raise CorruptFileError("the Word document is packed in a way that is not known") from exc
    except _BROKEN as exc:
        raise CorruptFileError(f"the Word document cannot be read ({type(exc).__name__})") from exc
    failed = any(message.type == "error" for message in page.messages)
    warnings = (
        *(["a part of the Word document could not be read"] if failed else []),
        *damaged,
        *missing,
        *([f"{bare} pictures of the Word document are left out"] if bare else []),
        *_unread(page, package.unread),
    )
    before, behind = ("".join(f"<p>{escape(each, quote=False)}</p>" for each in part) for part in (headers, footers))
    return read_markup(f"<body>{before}{with_labels(page.value)}{behind}</body>", DOCX, warnings)


def _unread(page: Any, numbers: int) -> Iterator[str]:
    symbols = sum("A w:sym element" in message.message for message in page.messages)
    if numbers:
        yield f"the automatic numbers of {numbers} paragraphs have a form that is not known, and are left out"
    if symbols:
        yield f"{symbols} symbols of the Word document stand in fonts that are not known, and are left out"
