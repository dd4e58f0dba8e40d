"""PDF by PDFium: text of the pages with their tables, outline as headings, pictures of pages, and warnings."""

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from readers.formats import PDF
from readers.markdown_writer import first_twenty, one_line, table_row
from readers.pages.page_glyphs import HYPHEN, MARK, PageGlyphs, in_words, is_right_to_left, reflow
from readers.pages.page_layout import Layout, PlacedWord, is_read_across, layout_of, lines_of
from readers.pages.page_tables import FoundTable, PageTables
from readers.parsed import Heading, ParsedDocument, Table
from readers.read_errors import CorruptFileError, EmptyFileError, EncryptedFileError, UnsafeFileError, refuse_over

MAX_STREAM_BYTES = 4 * 1024 * 1024  # of each stream's content, and
MAX_CHECKED_BYTES = 64 * 1024 * 1024  # of all, is looked at: enough to tell, too little for a bomb
MAX_STREAMS = 20_000
_PICTURE = re.compile(rb"/(?:JBIG2|DCT|JPX|CCITTFax)Decode")
_TEXTUAL = re.compile(rb"/Filter\s*\[?\s*/(?:A85|ASCII85Decode)\b")
_DEFLATED = re.compile(rb"/Filter\s*(?:\[\s*)?/FlateDecode\s*(?:\]|/(?!\w+Decode)|>>)")


def damage(body: bytes) -> list[str]:
    r"""A phrase for each kind of damage found in an unencrypted PDF; an encrypted one is not checked.

    >>> damage(b"%PDF-1.4\n1 0 obj\n<</Length 3/Filter/FlateDecode>>stream\nabc\nendstream\nendobj\n")
    ['1 streams are broken']
    """
    if b"/Encrypt" in body:
        return []
    broken = odd = 0
    rest = MAX_CHECKED_BYTES
    for head, content in _streams(body):
        if _PICTURE.search(head):
            odd += b"/Image" not in head and b"/Mask" not in head
        elif _TEXTUAL.search(head):
            broken += bool(re.search(rb"[^!-uz\s\0]", content.partition(b"~>")[0]))
        elif rest > 0 and _DEFLATED.search(head):
            try:
                rest -= len(zlib.decompressobj().decompress(content, MAX_STREAM_BYTES))
            except zlib.error:
                broken += 1
    found = ((broken, "streams are broken"), (odd, "streams are packed as pictures but are none"))
    return [f"{count} {phrase}" for count, phrase in found if count]


def _streams(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The dictionary and the bytes of each stream."""
    at = 0
    for _ in range(MAX_STREAMS):
        found = body.find(b"stream", at)
        start = found + (8 if body[found + 6 : found + 8] == b"\r\n" else 7)
        end = body.find(b"endstream", start)
        if found < 0 or end < 0:
            return
        head = body[max(at, found - 2_000) : found]
        yield head[max(head.rfind(b" obj"), 0) :], body[start:end]
        at = end + 9


DOTS_PER_POINT = 200 / 72
MAX_PIXELS = 12_000_000  # a page of A3 at 200 dots an inch has 7.7 million


def picture_of(body: bytes, page: int) -> bytes | None:
    """A grey PNG of the page with this number from 0; None if it shows no picture, or cannot be drawn."""
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError:
        return None
    try:
        drawn = document[page]
        if next(drawn.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=4), None) is None:
            return None
        width, height = drawn.get_size()
        scale = min(DOTS_PER_POINT, (MAX_PIXELS / max(width * height, 1.0)) ** 0.5)
        return png(drawn.render(scale=scale, grayscale=True))
    except (pypdfium2.PdfiumError, IndexError, ValueError):
        return None
    finally:
        document.close()


def png(bitmap: pypdfium2.PdfBitmap) -> bytes:
    """A PNG of a grey bitmap, or of one of red, green and blue."""
    pixels, length, stride = bytes(bitmap.buffer), bitmap.width * bitmap.n_channels, bitmap.stride
    rows = b"".join(b"\0" + pixels[start : start + length] for start in range(0, stride * bitmap.height, stride))
    head = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, 0 if bitmap.n_channels == 1 else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in parts
    )


SAME_BORDER = 8.0  # points by which the columns of a table may move on its next page
_MARKED = re.compile(f"\n*{MARK}(\\d+)\n*")


@dataclass(frozen=True)
class PageText:
    """A page's text and its tables, which count from its start."""

    text: str
    tables: tuple[Table, ...] = ()


class PageTexts:
    """Reads one page after the other, as a table may continue on the next page."""

    def __init__(self) -> None:
        self.flattened: list[int] = []  # numbers of pages, from 1, whose apparent tables became text
        self.across: list[int] = []  # of those whose columns of prose follow each other line by line
        self.guessed = 0  # glyphs whose font maps them to no character
        self._last: tuple[FoundTable, str] | None = None  # the table that ends the last page, and its header

    def warnings(self) -> Iterator[str]:
        """A warning where tables became plain text, and where glyphs stand for no character."""
        if self.flattened:
            many, shown = len(self.flattened), first_twenty(self.flattened)
            yield f"tables of {many} pages could not be kept as rows and were flattened to text: {shown}"
        if self.across:
            many, shown = len(self.across), first_twenty(self.across)
            yield f"columns of {many} pages stand in the PDF line by line, and their sentences are mixed: {shown}"
        if self.guessed:
            yield f"{self.guessed} glyphs have no character in their font's map and are left out; text may be missing"

    def read(self, page: pypdfium2.PdfPage, number: int) -> PageText:
        """The text of the page with this number, from 1."""
        found = characters_of(page)
        raw, layout, tables = found.raw, found.layout, found.tables
        self.guessed += found.guessed
        before, self._last = self._last, None
        if found.is_doubtful:
            self.flattened.append(number)
        elif found.is_across:
            self.across.append(number)
        if layout is None or not tables:
            return PageText(in_words(reflow(raw)))
        parts: list[str] = []
        rows: list[Table] = []
        for at, part in enumerate(_MARKED.split("\n" + in_words(reflow(_marked(raw, tables))) + "\n")):
            if at % 2 == 0:
                parts += [part.strip("\n") + "\n"] if part.strip("\n") else []
                continue
            table = tables[int(part)]
            piece, placed = _markdown(raw, table, before if _lines_beyond(table, layout, above=True) < 2 else None)
            rows.append(placed.moved(sum(map(len, parts)) + len(parts)))
            parts.append(piece)
            if _lines_beyond(table, layout, above=False) < 2:
                self._last = table, placed.header or piece[: placed.rows_start]
        return PageText("\n".join(parts).rstrip("\n"), tuple(rows))


@dataclass(frozen=True)
class PageCharacters:
    """The characters of a page in PDFium's order, corrected by their positions, and the tables that they form.

    `layout` is None where they form none for sure; `guessed` glyphs have no character in their font's map; lines of two
    columns `is_across` where they follow each other.
    """

    raw: str
    layout: Layout | None
    tables: list[FoundTable]
    is_doubtful: bool
    guessed: int
    is_across: bool = False

    def in_order(self) -> list[int]:
        """The places in `raw` in the order in which the page's parsed text has them: tables cell by cell."""
        owners = {at: table for table in self.tables for word in table.words for at in range(word.start, word.end)}
        order: list[int] = []
        seen: set[int] = set()
        for at in range(len(self.raw)):
            table = owners.get(at)
            if table is None:
                order.append(at)
            elif id(table) not in seen:
                seen.add(id(table))
                lines = (line for row in table.rows for cell in row for line in lines_of(cell))
                order += [place for line in lines for word in line for place in range(word.start, word.end)]
        return order


def characters_of(page: pypdfium2.PdfPage) -> PageCharacters:
    """Read the characters of a page, and find its tables."""
    textpage = page.get_textpage()
    plain = textpage.get_text_range().replace(MARK, " ")
    glyphs = PageGlyphs(textpage)
    raw = glyphs.mended(plain)
    if is_right_to_left(raw):
        return PageCharacters(raw, None, [], is_doubtful=False, guessed=glyphs.guessed)
    layout = layout_of(page, textpage, raw)
    if layout is None:
        across = is_read_across(page, textpage, raw)
        return PageCharacters(raw, None, [], is_doubtful=False, guessed=glyphs.guessed, is_across=across)
    finder = PageTables(plain, layout.font)
    tables = sorted(finder.find(layout.words, layout.rules), key=lambda table: table.start)
    across = not tables and is_read_across(page, textpage, raw)
    return PageCharacters(raw, layout, tables, bool(finder.doubtful), glyphs.guessed, across)


def _markdown(raw: str, found: FoundTable, before: tuple[FoundTable, str] | None) -> tuple[str, Table]:
    """A table as Markdown; a continuation of *before*, the last page's, has the header of that."""
    rows = [[_said(raw, cell) for cell in row] for row in found.rows]
    columns = len(rows[0])
    lines = [table_row(row, columns) for row in rows]
    if before is not None and _same_borders(before[0], found) and not before[1].startswith(lines[0]):
        text = "".join(lines)
        return text, Table(0, 0, len(text), before[1].strip())
    head = lines[0] + "|" + " --- |" * columns + "\n"
    text = head + "".join(lines[1:])
    return text, Table(0, len(head), len(text))


def _marked(raw: str, tables: Sequence[FoundTable]) -> str:
    """The text with a mark on a separate line where each table begins, and without the words of tables."""
    runs: list[list[int]] = []
    words = sorted((word.start, word.end, number) for number, table in enumerate(tables) for word in table.words)
    for start, end, number in words:
        if runs and runs[-1][2] == number and not raw[runs[-1][1] : start].strip():
            runs[-1][1] = end
        else:
            runs.append([start, end, number])
    pieces, at, begun = [], 0, set[int]()
    for start, end, number in runs:
        pieces.append(raw[at:start])
        if number not in begun:
            pieces.append(f"\n{MARK}{number}\n")
        begun.add(number)
        at = end
    return "".join([*pieces, raw[at:]])


def _said(raw: str, cell: Sequence[PlacedWord]) -> str:
    """The words of a cell, line by line; one that is broken at a line's end is joined."""
    words = [raw[word.start : word.end] for line in lines_of(cell) for word in line]
    return one_line(in_words(" ".join(words)).replace(HYPHEN + " ", "").replace(HYPHEN, ""))


def _lines_beyond(table: FoundTable, layout: Layout, *, above: bool) -> int:
    """How many lines of the page stand above or below the table; a head or a foot of the page is one."""
    top, bottom = min(word.y0 for word in table.words), max(word.y1 for word in table.words)
    return len({round(at / 4) for at in layout.lines if (at < top if above else at > bottom)})


def _same_borders(one: FoundTable, other: FoundTable) -> bool:
    pairs = zip(one.borders, other.borders, strict=False)
    return len(one.borders) == len(other.borders) and all(abs(a - b) < SAME_BORDER for a, b in pairs)


MAX_PAGES = 5_000
MAX_TEXT_CHARACTERS = 64 * 1024 * 1024
MAX_OUTLINE_ITEMS = 2_000
MAX_ANNOTATIONS = 1_000  # of a page


def read_pdf(body: bytes) -> ParsedDocument:
    """Read a PDF; encryption with the empty password is opened."""
    document = opened_pdf(body)
    try:
        return _read(document, body)
    finally:
        document.close()


def opened_pdf(body: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF. Raises EncryptedFileError or CorruptFileError: it wants a password, or cannot be repaired."""
    try:
        return pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as exc:
        if getattr(exc, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise EncryptedFileError("the document wants a password") from exc
        raise CorruptFileError("the PDF cannot be opened, not even repaired") from exc


def _read(document: pypdfium2.PdfDocument, body: bytes) -> ParsedDocument:
    refuse_over(MAX_PAGES, len(document), "pages", "the document")
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
        warnings=(*_warnings(document, body, unreadable), *seen.warnings(document), *texts.warnings()),
        pages=tuple(starts),
        tables=tuple(tables),
    )


class _Unread:
    """Counts what PDFium shows and no reader reads."""

    def __init__(self) -> None:
        self.pictures: list[int] = []  # numbers of the pages that have pictures and no text
        self._comments = self._fields = 0

    def look_at(self, page: pypdfium2.PdfPage, number: int, text: str) -> None:
        """Count what *page* has besides its *text*."""
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
    """The text of a page, None if the page cannot be read."""
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
