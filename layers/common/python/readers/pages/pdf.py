"""PDF by PDFium: text of the pages with their tables, outline as headings, and warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from readers.errors import (
    CorruptFileError,
    EmptyFileError,
    EncryptedFileError,
    FileTooLargeError,
    UnsafeFileError,
)
from readers.markdown_writer import first_twenty
from readers.media_types import PDF
from readers.pages.page_text import PageText, PageTexts
from readers.pages.pdf_damage import damage
from readers.parsed import Heading, ParsedDocument, Table

MAX_PAGES = 5_000
MAX_TEXT_CHARACTERS = 64 * 1024 * 1024
MAX_OUTLINE_ITEMS = 2_000
MAX_ANNOTATIONS = 1_000  # of a page


def read_pdf(body: bytes) -> ParsedDocument:
    """Read a PDF; encryption with the empty password is opened.

    Raises:
        EncryptedFileError: It wants a password.
        FileTooLargeError: It has more than 5,000 pages.
        UnsafeFileError: It holds too much text.
        EmptyFileError: It has no text layer, as a scan.
        CorruptFileError: No page of it can be read, or it is damaged and no text is left.
    """
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise EncryptedFileError("the document wants a password") from exc
        raise CorruptFileError("the PDF cannot be opened, not even repaired") from exc
    try:
        return _read(document, body)
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument, body: bytes) -> ParsedDocument:
    if len(document) > MAX_PAGES:
        message = f"the document has {len(document)} pages, at most {MAX_PAGES} are read"
        raise FileTooLargeError(message, limit_pages=MAX_PAGES, pages=len(document))
    pieces, starts, unreadable, length = [], [], [], 0
    tables: list[Table] = []
    seen, texts = _Unread(), PageTexts()
    for number in range(len(document)):
        read = _page_text(document, number, seen, texts)
        if read is None:
            unreadable.append(number + 1)
        piece = (read.text if read else "") + "\n\n"
        tables += [each.moved(length) for each in (read.tables if read else ())]
        starts.append(length)
        pieces.append(piece)
        length += len(piece)
        if length > MAX_TEXT_CHARACTERS:
            message = f"it holds more than {MAX_TEXT_CHARACTERS} characters of text"
            raise UnsafeFileError(message, limit_characters=MAX_TEXT_CHARACTERS)
    if not any(piece.strip() for piece in pieces):
        if unreadable:
            raise CorruptFileError(f"none of the {len(document)} pages can be read")
        if wrong := next(_warnings(document, body, []), None):
            raise CorruptFileError(f"no text can be read: {wrong.partition(';')[0]}")
        shown = f"; {len(seen.pictures)} of {len(document)} pages show pictures" if seen.pictures else ""
        raise EmptyFileError(
            f"there is no text layer in this PDF{shown}; scanned pages are not read, run OCR first", pages=len(document)
        )
    text = "".join(pieces)
    headings = sorted(_headings(document, text, starts), key=lambda heading: heading.start)
    return ParsedDocument(
        text,
        "text",
        PDF,
        headings=tuple(headings),
        warnings=(
            *_warnings(document, body, unreadable),
            *seen.warnings(document),
            *texts.warnings(),
        ),
        pages=tuple(starts),
        tables=tuple(tables),
    )


class _Unread:
    """Counts what PDFium shows and no reader reads."""

    def __init__(self) -> None:
        self.pictures: list[int] = []  # numbers of the pages that have pictures and no text
        self._comments = self._fields = 0

    def look_at(self, page: pypdfium2.PdfPage, number: int, text: str) -> None:
        """Count what *page* has beside its *text*."""
        if not text and next(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=4), None):
            self.pictures.append(number)
        for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
            annotation = pdfium.FPDFPage_GetAnnot(page, index)
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                self._fields += _has(annotation, b"V")
            elif kind not in {pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP}:
                self._comments += _has(annotation, b"Contents")
            pdfium.FPDFPage_CloseAnnot(annotation)

    def warnings(self, document: pypdfium2.PdfDocument) -> Iterator[str]:
        """A warning for each kind."""
        if self.pictures:
            shown = first_twenty(self.pictures)
            many = f"{len(self.pictures)} of {len(document)} pages"
            yield f"{many} show pictures without a text layer and are left out: {shown}"
        attached = document.count_attachments()
        found = ((attached, "attached files"), (self._fields, "filled form fields"), (self._comments, "comments"))
        yield from (f"{count} {kind} of the PDF are left out" for count, kind in found if count > 0)


def _has(annotation: object, key: bytes) -> bool:
    """Whether *annotation* has a text under *key*; its length counts two bytes of its end."""
    return pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0) > 2  # type: ignore[no-any-return]


def _page_text(document: pypdfium2.PdfDocument, number: int, seen: _Unread, texts: PageTexts) -> PageText | None:
    """The text of a page, None where the page cannot be read."""
    try:
        page = document[number]
        try:
            read = texts.read(page, number + 1)
            seen.look_at(page, number + 1, read.text)
            return read
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return None


def _warnings(document: pypdfium2.PdfDocument, body: bytes, unreadable: list[int]) -> Iterator[str]:
    if unreadable:
        shown = first_twenty(unreadable)
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
