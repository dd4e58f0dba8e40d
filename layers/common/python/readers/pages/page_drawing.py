"""Draw a page of a PDF, and find where on it a part of its parsed text stands."""

from __future__ import annotations

import ctypes
import unicodedata
from collections.abc import Sequence

import pypdfium2
import pypdfium2.raw as pdfium

from readers.pages.page_glyphs import LTR_RUN, is_right_to_left, unshifted
from readers.pages.pdf import characters_of, opened_pdf, png
from readers.parsed import Box, DrawnPage
from readers.read_errors import CorruptFileError, FileTooLargeError

DOTS_PER_POINT = 2.0  # 144 dots an inch: small print can be read
MAX_PIXELS = 4_000_000  # 12 MB while it is drawn; a page of A3 has as many
MAX_SIDE = 8_000  # pixels
MAX_PICTURE_BYTES = 3 * 1024 * 1024  # of the PNG: a response of Lambda takes 6 MB, in base64
MAX_CHARACTERS = 200_000  # of a page whose words are looked for
MAX_MARKS = 2_000
ANCHOR = 8  # letters and digits that must agree before the comparison continues behind a difference
REACH = 600  # of them that one side may have and the other has not
UNIT = 1_000_000  # device units that a page is measured in


def draw_page(body: bytes, number: int, text: str = "", start: int = 0, end: int = 0) -> DrawnPage:
    """Draw the page with this number, from 1, and find the code points *start* to *end* of its parsed *text* on it.

    Raises:
        CorruptFileError: There is no such page, or it cannot be drawn.
        EncryptedFileError: The document wants a password.
        FileTooLargeError: The picture would be too large, however coarse.
    """
    document = opened_pdf(body)
    try:
        if not 1 <= number <= len(document):
            raise CorruptFileError(f"the PDF has {len(document)} pages, and no page {number}", pages=len(document))
        page = document[number - 1]
        marks, located = _marked_words(page, text, start, end) if start < end else ([], 0.0)
        picture, width, height = _picture(page)
        return DrawnPage(picture, width, height, len(document), tuple(marks), located)
    except (pypdfium2.PdfiumError, ValueError) as exc:
        raise CorruptFileError(f"page {number} of the PDF cannot be drawn") from exc
    finally:
        document.close()


def _picture(page: pypdfium2.PdfPage) -> tuple[bytes, int, int]:
    width, height = (max(side, 0.1) for side in page.get_size())
    scale = min(DOTS_PER_POINT, (MAX_PIXELS / (width * height)) ** 0.5, MAX_SIDE / max(width, height))
    for coarser in (1, 2, 4):
        bitmap = page.render(scale=scale / coarser, rev_byteorder=True, maybe_alpha=False)
        picture = png(bitmap)
        if len(picture) <= MAX_PICTURE_BYTES:
            return picture, bitmap.width, bitmap.height
    raise FileTooLargeError("the page is too large to be drawn", limit_bytes=MAX_PICTURE_BYTES)


def _marked_words(page: pypdfium2.PdfPage, text: str, start: int, end: int) -> tuple[list[Box], float]:
    """The boxes of a part of the page's text, line by line, and the share of it that was found."""
    textpage = page.get_textpage()
    count = textpage.count_chars()
    if count > MAX_CHARACTERS or len(text) > MAX_CHARACTERS:
        return [], 0.0
    found = characters_of(page)
    raw, order = found.raw, found.in_order()
    if len(raw) != count:  # PDFium gives some characters to no text
        raw = "".join(chr(pdfium.FPDFText_GetUnicode(textpage.raw, at)) for at in range(count))
        order = list(range(count))
    letters, places = _letters(text, range(len(text)))
    requested = [at for at, place in enumerate(places) if start <= place < end]
    if not requested:
        return [], 0.0
    best: list[int] = []
    for sequence in (order, _as_drawn(raw, order)):
        shown, numbers = _letters(raw, sequence)
        pairs = aligned(letters, shown)
        matched = [numbers[pairs[at]] for at in requested if pairs[at] >= 0]
        best = max(best, matched, key=len)
        if len(best) == len(requested):
            break
    boxes = [_share(page, rect) for first, last in _runs(raw, best) for rect in _rects(textpage, first, last)]
    return [box for box in boxes if box[2] > 0 and box[3] > 0][:MAX_MARKS], round(len(best) / len(requested), 3)


def _letters(text: str, order: Sequence[int]) -> tuple[str, list[int]]:
    """The letters and digits of *text* in *order*, ligatures taken apart, and the place of each."""
    letters: list[str] = []
    places: list[int] = []
    for at in order:
        character = unshifted(text[at])
        for letter in character if character.isascii() else unicodedata.normalize("NFKC", character):
            if letter.isalnum():
                letters.append(letter)
                places.append(at)
    return "".join(letters), places


def aligned(text: str, shown: str) -> list[int]:
    """For each character of *text* its place in *shown*, -1 where it is not there; both have nearly the same order.

    Behind a difference the comparison continues where the next letters agree again: linear in both lengths.

    >>> aligned("the pump leaks", "the old pump leaks")
    [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
    >>> aligned("abc2defghijkl", "abcdefghijkl")[:6]
    [0, 1, 2, -1, 3, 4]
    """
    pairs = [-1] * len(text)
    at = there = 0
    while at < len(text) and there < len(shown):
        if text[at] != shown[there]:
            behind = shown.find(text[at : at + ANCHOR], there, there + REACH)
            if behind < 0:
                at += 1
                continue
            there = behind
        pairs[at] = there
        at, there = at + 1, there + 1
    return pairs


def _as_drawn(raw: str, order: Sequence[int]) -> list[int]:
    """*order* with the lines of Arabic and Hebrew turned round, for pages that store them as they look."""
    turned: list[int] = []
    line: list[int] = []
    for at in (*order, -1):
        if at >= 0 and raw[at] not in "\r\n":
            line.append(at)
            continue
        shown = "".join(raw[each] for each in line)
        if is_right_to_left(shown):
            line.reverse()
            for run in LTR_RUN.finditer(shown[::-1]):
                line[run.start() : run.end()] = line[run.start() : run.end()][::-1]
        turned += line
        line = []
    return turned


def _runs(raw: str, places: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of neighbouring places; signs and blanks between two belong to them, ends of lines do not."""
    runs: list[tuple[int, int]] = []
    for at in sorted(set(places)):
        between = raw[runs[-1][1] + 1 : at] if runs else "\n"
        if not any(each.isalnum() or each in "\r\n" for each in between):
            runs[-1] = runs[-1][0], at
        else:
            runs.append((at, at))
    return runs


def _rects(textpage: pypdfium2.PdfTextPage, first: int, last: int) -> list[Box]:
    count = textpage.count_rects(first, last - first + 1)
    return [textpage.get_rect(index) for index in range(min(count, MAX_MARKS))]


def _share(page: pypdfium2.PdfPage, rect: Box) -> Box:
    """Left, top, width and height of a box as shares of the page as it is shown, turned and cut."""
    corners = [_on_device(page, rect[x], rect[y]) for x in (0, 2) for y in (1, 3)]
    left, right = (max(0.0, min(1.0, side(x for x, _ in corners))) for side in (min, max))
    top, bottom = (max(0.0, min(1.0, side(y for _, y in corners))) for side in (min, max))
    return round(left, 5), round(top, 5), round(right - left, 5), round(bottom - top, 5)


def _on_device(page: pypdfium2.PdfPage, x: float, y: float) -> tuple[float, float]:
    shown_x, shown_y = ctypes.c_int(), ctypes.c_int()
    references = ctypes.byref(shown_x), ctypes.byref(shown_y)
    if not pdfium.FPDF_PageToDevice(page.raw, 0, 0, UNIT, UNIT, 0, x, y, *references):
        return 0.0, 0.0
    return shown_x.value / UNIT, shown_y.value / UNIT
