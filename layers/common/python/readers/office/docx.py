"""DOCX by mammoth: Word styles become HTML, which is read as a page."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from html import escape
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError

import mammoth

from readers.errors import CorruptFileError
from readers.formats import DOCX
from readers.html import read_markup
from readers.office.docx_markup import WordPackage, with_labels
from readers.parsed import ParsedDocument

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    ExpatError,
    LookupError,
    ValueError,
    AttributeError,
    TypeError,
    OSError,
    ParseError,
)


def read_docx(body: bytes) -> ParsedDocument:
    """Read a Word document: body, tables, formulas, text boxes, foot- and endnotes, page headers and footers.

    Paragraphs of headers stand once before the body, those of footers once behind it; a picture is its description.
    """
    try:
        package = WordPackage(body)
        package.refuse_entities()
        pictures = _Pictures()
        page = mammoth.convert_to_html(
            io.BytesIO(package.readable()), style_map=_STYLES, convert_image=pictures.described
        )
        headers, footers, damaged = package.margins()
        missing = tuple(package.left_out())
    except _BROKEN as exc:
        raise CorruptFileError(f"the Word document cannot be read ({type(exc).__name__})") from exc
    except NotImplementedError as exc:
        raise CorruptFileError("the Word document is packed in a way that is not known") from exc
    failed = any(message.type == "error" for message in page.messages)
    warnings = (
        *(["a part of the Word document could not be read"] if failed else []),
        *damaged,
        *missing,
        *pictures.warnings(),
        *_unread(page, package.unread),
    )
    return read_markup(f"<body>{_as_html(headers)}{with_labels(page.value)}{_as_html(footers)}</body>", DOCX, warnings)


def _as_html(paragraphs: list[str]) -> str:
    return "".join(f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in paragraphs)


class _Pictures:
    """Puts the description of a picture in its place, and counts the pictures that have none."""

    def __init__(self) -> None:
        self._bare = 0

    def described(self, picture: Any) -> list[Any]:
        """What mammoth writes for *picture*."""
        words = " ".join((picture.alt_text or "").split())
        self._bare += not words
        return [mammoth.html.text(f"[{words}]")] if words else []

    def warnings(self) -> tuple[str, ...]:
        """A warning where pictures were left out."""
        return (f"{self._bare} pictures of the Word document are left out",) if self._bare else ()


def _unread(page: Any, numbers: int) -> Iterator[str]:
    symbols = sum("A w:sym element" in message.message for message in page.messages)
    if numbers:
        yield f"the automatic numbers of {numbers} paragraphs have a form that is not known, and are left out"
    if symbols:
        yield f"{symbols} symbols of the Word document stand in fonts that are not known, and are left out"
