"""PDF by PDFium: the text of its pages, its outline as headings, and what was wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from ragdrop.domain.parsed import Heading, ParsedDocument
from ragdrop.errors import (
    CorruptDocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    EncryptedDocumentError,
    UnsafeDocumentError,
)
from ragdrop.formats.media_types import PDF
from ragdrop.formats.pdf_damage import damage, reflow

MAX_PAGES = 5_000
MAX_TEXT_CHARACTERS = 64 * 1024 * 1024
MAX_OUTLINE_ITEMS = 2_000


def read_pdf(body: bytes) -> ParsedDocument:
    """Read a PDF; encryption with the empty password is opened.

    Raises:
        EncryptedDocumentError: It wants a password.
        DocumentTooLargeError: It has more than 5,000 pages.
        UnsafeDocumentError: It holds too much text.
        EmptyDocumentError: There is no text in it, as in a scan.
        CorruptDocumentError: No page of it can be read, or it is damaged and no text is left.
    """
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise EncryptedDocumentError("the document wants a password") from exc
        raise CorruptDocumentError("the PDF cannot be opened, not even repaired") from exc
    try:
        return _read(document, body)
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument, body: bytes) -> ParsedDocument:
    if len(document) > MAX_PAGES:
        message = f"the document has {len(document)} pages, at most {MAX_PAGES} are read"
        raise DocumentTooLargeError(message, limit_pages=MAX_PAGES, pages=len(document))
    pieces, starts, unreadable, length = [], [], [], 0
    for number in range(len(document)):
        text = _page_text(document, number)
        if text is None:
            unreadable.append(number + 1)
        piece = (text or "") + "\n\n"
        starts.append(length)
        pieces.append(piece)
        length += len(piece)
        if length > MAX_TEXT_CHARACTERS:
            message = f"it holds more than {MAX_TEXT_CHARACTERS} characters of text"
            raise UnsafeDocumentError(message, limit_characters=MAX_TEXT_CHARACTERS)
    if not any(piece.strip() for piece in pieces):
        if unreadable:
            raise CorruptDocumentError(f"none of the {len(document)} pages can be read")
        if wrong := next(_warnings(document, body, []), None):
            raise CorruptDocumentError(f"no text can be read: {wrong.partition(';')[0]}")
        raise EmptyDocumentError("there is no text in this document; scanned pages are not read")
    text = "".join(pieces)
    headings = sorted(_headings(document, text, starts), key=lambda heading: heading.start)
    return ParsedDocument(
        text,
        "text",
        PDF,
        headings=tuple(headings),
        warnings=tuple(_warnings(document, body, unreadable)),
        pages=tuple(starts),
    )


def _page_text(document: pypdfium2.PdfDocument, number: int) -> str | None:
    """The text of a page, None where the page cannot be read."""
    try:
        page = document[number]
        try:
            return reflow(page.get_textpage().get_text_range())
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return None


def _warnings(document: pypdfium2.PdfDocument, body: bytes, unreadable: list[int]) -> Iterator[str]:
    if unreadable:
        shown = ", ".join(map(str, unreadable[:20]))
        yield f"{len(unreadable)} of {len(document)} pages cannot be read and are left out: {shown}"
    whole = body.rstrip(b"\0\r\n\t ")[-1_024:].find(b"%%EOF") >= 0 and body[:1_024].find(b"%PDF-") >= 0
    if not whole or not pdfium.FPDF_DocumentHasValidCrossReferenceTable(document):
        yield "the PDF is damaged and was repaired to be read; text may be missing"
    yield from (f"the PDF is damaged: {phrase}; text may be missing" for phrase in damage(body))


def _headings(document: pypdfium2.PdfDocument, text: str, starts: list[int]) -> Iterator[Heading]:
    """The items of the outline whose words stand on the page that they point to."""
    try:
        for count, item in enumerate(document.get_toc(max_depth=6)):
            if count >= MAX_OUTLINE_ITEMS:
                return
            target = item.get_dest()
            page = target.get_index() if target else None
            words = (item.get_title() or "").split()[:20]
            if page is None or not words or page >= len(starts):
                continue
            end = starts[page + 1] if page + 1 < len(starts) else len(text)
            found = re.compile(r"\s+".join(map(re.escape, words))).search(text, starts[page], end)
            if found:
                line = text.rfind("\n", starts[page], found.start()) + 1
                yield Heading(min(item.level + 1, 6), " ".join(words), max(line, starts[page]))
    except pypdfium2.PdfiumError:
        return
