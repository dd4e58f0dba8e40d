"""Read the places and sizes of a page's glyphs: raised digits, gaps inside words, letters by guess.

Texts keep their length here, as places of a page are counted in its characters: a character to drop becomes DROPPED, a
raised or lowered one moves to a private plane.  `in_words` writes both as text.
"""

import ctypes
import re
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from readers.markdown_writer import lowered, raised
from readers.pages.page_layout import font_of
from readers.text_decoding import clean

DROPPED = "\U000effff"  # no character: stands for one that is left out
_RAISED, _LOWERED, _PLANE = 0xF0000, 0xF8000, 0x8000
_SHIFTED = re.compile(f"[{chr(_RAISED)}-{chr(_LOWERED - 1)}]+|[{chr(_LOWERED)}-{chr(_LOWERED + _PLANE - 1)}]+")
_NUMBERED = re.compile(r"\S*[0-9*+\u2212†‡§]\S*")
_MARKS = re.compile(r"[0-9]+(?:[,\u2013-][0-9]+)+")  # of several footnotes
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\r\n]+")
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_LATIN = "A-Za-z\u00c0-\u024f"
_MIXED = re.compile(rf"[{_LATIN}]+[\u0370-\u1fff\u2e80-\ufdcf]\S*|[\u0370-\u1fff\u2e80-\ufdcf]+[{_LATIN}]\S*")
SMALL = (0.4, 0.88)  # of the letter before: the height of a raised or lowered one
RAISED_BY, LOWERED_BY, MOST_BY = 0.15, 0.07, 0.8  # of the height of the letter before
FRAGMENT = 4.5  # characters: pieces of words are shorter in the mean than words
EVEN = 0.85  # of the distances of a line that are the same, where letters are set at one distance
NEAR = 0.04  # of a letter's height: distances that differ by less are the same


class _Glyph(NamedTuple):
    x: float
    y: float
    right: float
    height: float


class PageGlyphs:
    """The glyphs of a page by the numbers of its characters."""

    def __init__(self, textpage: pypdfium2.PdfTextPage) -> None:
        self._raw, self.count = textpage.raw, textpage.count_chars()
        self._x, self._y, self._box = ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF()
        self._references = ctypes.byref(self._x), ctypes.byref(self._y), ctypes.byref(self._box)
        self.guessed = 0  # glyphs without a character that are left out

    def mended(self, text: str) -> str:
        """The text of the page, of the same length, corrected by the positions of its glyphs."""
        if len(text) != self.count:
            return text
        characters = list(text)
        self._drop_guesses(text, characters)
        if is_right_to_left(text):
            self._order_clusters(characters)
        else:
            for line in _LINE.finditer(text):
                self._close_gaps(text, line.start(), line.end(), characters)
            self._shift(text, characters)
        return "".join(characters)

    def _glyph(self, index: int) -> _Glyph:
        x, y, box = self._references
        pdfium.FPDFText_GetCharOrigin(self._raw, index, x, y)
        pdfium.FPDFText_GetLooseCharBox(self._raw, index, box)
        return _Glyph(self._x.value, self._y.value, self._box.right, self._box.top - self._box.bottom)

    def _is_generated(self, index: int) -> bool:
        return pdfium.FPDFText_IsGenerated(self._raw, index) == 1  # type: ignore[no-any-return]

    def _drop_guesses(self, text: str, characters: list[str]) -> None:
        """Drop letters that are only the number of a glyph, if the map of its font has no character."""
        places = _WORD.finditer(text) if is_right_to_left(text) else _MIXED.finditer(text)
        guesses: list[int] = []
        fonts: set[str] = set()
        for start, end in (found.span() for found in places):
            unmapped = [pdfium.FPDFText_HasUnicodeMapError(self._raw, index) == 1 for index in range(start, end)]
            mapped = [index for index, wrong in enumerate(unmapped, start) if not wrong]
            guesses += [index for index, wrong in enumerate(unmapped, start) if wrong and text[index].isalpha()]
            if any(unmapped) and mapped:
                fonts.update(font_of(self._raw, index) for index in mapped)
                xs = [self._glyph(index).x for index in mapped]
                self.guessed += 0 if len(set(xs)) < len(xs) else sum(unmapped)  # else one glyph has the whole word
        for index in guesses:
            if font_of(self._raw, index) in fonts:
                characters[index] = DROPPED

    def _order_clusters(self, characters: list[str]) -> None:
        """Put the Arabic or Hebrew letters of one glyph in the order in which they are read."""
        for found in re.finditer(f"{_RTL.pattern}{{2,}}", "".join(characters)):
            for _, group in groupby(range(*found.span()), key=lambda index: self._glyph(index)[:3]):
                places = list(group)
                characters[places[0] : places[-1] + 1] = in_reading_order(found.string[places[0] : places[-1] + 1])

    def _close_gaps(self, text: str, start: int, end: int, characters: list[str]) -> None:
        """Drop the blanks that PDFium puts between letters that are set at one distance."""
        spaces = text.count(" ", start, end)
        if spaces < 2 or (end - start - spaces) / (spaces + 1) > FRAGMENT:
            return
        blanks = [at for at in range(start, end) if text[at] == " " and self._is_generated(at)]
        if len(blanks) < 2:
            return
        glyphs = [(at, self._glyph(at)) for at in range(start, end) if not text[at].isspace()]
        pairs = [(a, b, one, other) for (a, one), (b, other) in pairwise(glyphs)]
        near = NEAR * median(glyph.height for _, glyph in glyphs)
        for distances in ([other.x - one.x for _, _, one, other in pairs],
                          [other.x - one.right for _, _, one, other in pairs]):  # fmt: skip
            usual = median(distances)
            inside = [each for each in distances if each < usual + 2 * near]
            even = sum(abs(each - usual) < near for each in inside) >= EVEN * len(inside)
            if usual > 2 * near and even and len(inside) < len(distances):
                for (a, b, _, _), distance in zip(pairs, distances, strict=True):
                    letters = text[a].isalpha() and text[b].isalpha()
                    if letters and b == a + 2 and a + 1 in blanks and distance < usual + 2 * near:
                        characters[a + 1] = DROPPED
                return

    def _shift(self, text: str, characters: list[str]) -> None:
        """Mark the digits and signs that stand smaller and higher or lower than the letter before them."""
        for found in _NUMBERED.finditer(text):
            start, end = found.span()
            glyphs = [self._glyph(index) for index in range(start, end)]
            base = before = self._before(text, start, glyphs[0])
            planes: list[int] = []
            if before is None and (first := _leading(glyphs)):
                base, planes = glyphs[first], [_RAISED] * first
            for index, glyph in enumerate(glyphs[len(planes) :], start + len(planes)):
                plane = _plane(base, glyph) if ord(text[index]) < _PLANE else 0
                base = base if plane else glyph
                planes.append(plane)
            for index, plane in enumerate(planes, start):
                characters[index] = chr(plane + ord(text[index])) if plane else characters[index]
            if base is None:
                continue
            if planes[0] and before is not None:
                self._join(text, start - 2, before, glyphs[0], characters)
            if planes[-1] and end + 2 < len(text):
                self._join(text, end, glyphs[-1], self._glyph(end + 2), characters, line=base)

    def _before(self, text: str, start: int, first: _Glyph) -> _Glyph | None:
        """The letter next to the *first* of a word, if PDFium put the blank or the line's end between them."""
        at = start - 1
        while at >= 0 and text[at].isspace():
            if start - at > 2 or not self._is_generated(at):
                return None
            at -= 1
        before = self._glyph(at) if at >= 0 else None
        return before if before is not None and _is_next(before, first) else None

    def _join(
        self, text: str, at: int, one: _Glyph, other: _Glyph, characters: list[str], *, line: _Glyph | None = None
    ) -> None:
        """Remove a line end between two glyphs of one line; a gap stays a blank."""
        if text[at : at + 2] != "\r\n" or (line is not None and abs(other.y - line.y) > LOWERED_BY * line.height):
            return
        if _is_next(one, other):
            gap = other.x - one.right
            characters[at] = " " if gap > RAISED_BY * max(one.height, other.height) else DROPPED
            characters[at + 1] = DROPPED


@cache
def _of_one_sign() -> frozenset[str]:
    """The letters of the signs in use that stand for several: pointed Hebrew, words such as Allah, lam with alef."""
    codes = (*range(0xFB1D, 0xFB50), *range(0xFDF0, 0xFDFE), *range(0xFEF5, 0xFEFD))
    signs = (unicodedata.normalize("NFKC", chr(code)) for code in codes)
    return frozenset(letters for letters in signs if len(letters) > 1 and " " not in letters)


def in_reading_order(glyph: str) -> str:
    """The letters of one glyph as they are read.

    PDFium gives those of a map in the opposite order, and those of a sign that it takes apart in the right one.

    >>> in_reading_order("ال"), in_reading_order("لا"), in_reading_order("حاتفم")
    ('لا', 'لا', 'مفتاح')
    """
    return glyph if glyph in _of_one_sign() and glyph[::-1] not in _of_one_sign() else glyph[::-1]


def _plane(base: _Glyph | None, glyph: _Glyph) -> int:
    """The plane for a raised or lowered character; 0 for one in its line."""
    if base is None or not SMALL[0] * base.height <= glyph.height <= SMALL[1] * base.height:
        return 0
    by = (glyph.y - base.y) / base.height
    return _RAISED if RAISED_BY <= by <= MOST_BY else _LOWERED if LOWERED_BY <= -by <= MOST_BY else 0


def _is_next(one: _Glyph, other: _Glyph) -> bool:
    """Whether a glyph is where the next letter or word would be."""
    height = max(one.height, other.height)
    return -height < other.x - one.right < 2 * height


def _leading(glyphs: list[_Glyph]) -> int:
    """How many glyphs are raised before the first that is not, as the mark of a footnote before its text."""
    for count, glyph in enumerate(glyphs[1:4], start=1):
        if _plane(glyph, glyphs[count - 1]) == _RAISED:
            return count
    return 0


def in_words(text: str) -> str:
    """Text with its raised and lowered characters in the common notation, and without the dropped characters."""

    def written(found: re.Match[str]) -> str:
        shifted = "".join(chr((ord(each) - _RAISED) % _PLANE) for each in found[0])
        before = text[max(found.start() - 20, 0) : found.start()]
        if ord(found[0][0]) >= _LOWERED:
            return lowered(shifted, before)
        if _MARKS.fullmatch(shifted):
            return re.sub("[0-9]+", lambda number: raised(number[0]), shifted)
        return raised(shifted, before)

    text = text.replace(DROPPED, "")
    return _SHIFTED.sub(written, text)


def unshifted(character: str) -> str:
    """A character of a page's text as a plain one; empty for one that is left out.

    >>> unshifted("a"), unshifted(DROPPED), unshifted(chr(0xF0000 + ord("2")))
    ('a', '', '2')
    """
    if character == DROPPED:
        return ""
    return chr((ord(character) - _RAISED) % _PLANE) if _SHIFTED.fullmatch(character) else character


HYPHEN = "\ufffe"  # what PDFium gives for a hyphen at the end of a line
MARK = "\ufdd0"  # no character: the position of a table, on a separate line
FULL_LINE = 0.75  # of the page's usual line length: a shorter line ends its paragraph
_NEW_START = re.compile(r"[•◦▪–*-] |\(?\d{1,3}[.)] |[A-Z0-9.]{1,8}$|" + MARK)


# Letters that only end a word, in Arabic and Hebrew: at the start of words they tell of a page in visual order.
_FINAL = "ةىךםןףץ"
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_RTL_WORD = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]{2,}")
_RTL_LETTERS = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
LTR_RUN = re.compile(rf"[^\W{_RTL_LETTERS}_](?:[^{_RTL_LETTERS}\n]*[^\W{_RTL_LETTERS}_])?")
_FORMS = re.compile(r"[\ufb1d-\ufdff\ufe70-\ufefc]+")  # letters as they are drawn, with a code for each shape
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def is_right_to_left(page: str) -> bool:
    """Whether a page has letters that are read from right to left."""
    return _RTL.search(page) is not None


def logical_order(page: str) -> str:
    """Arabic and Hebrew in the order in which they are read, as letters and not as drawn shapes.

    Lines of a page that a program stored from left to right, as they look, are turned round; words and numbers in Latin
    letters stay as they are.

    >>> logical_order("ةخضملا 7521 ءارمح PUMP ةديدج")
    'جديدة PUMP حمراء 7521 المضخة'
    >>> logical_order("المضخة حمراء"), logical_order("The pump")
    ('المضخة حمراء', 'The pump')
    """
    if not is_right_to_left(page):
        return page
    words = _RTL_WORD.findall(_in_letters(page))
    if sum(word[0] in _FINAL for word in words) > sum(word[-1] in _FINAL for word in words):
        page = "\n".join(_turned(line) if _RTL.search(line) else line for line in page.split("\n"))
    return _in_letters(page)


def _in_letters(page: str) -> str:
    return _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found.group()), page)


def _turned(line: str) -> str:
    """A line read from the other end; runs of Latin letters and numbers keep their own direction."""
    return LTR_RUN.sub(lambda found: found.group()[::-1], line[::-1].translate(_MIRRORED))


def reflow(page: str) -> str:
    r"""Join the lines that a paragraph was broken into; short lines, sentence ends and list items keep their break.

    >>> reflow("The pump has a filter that must be\r\nchanged every month by infor\ufffe\r\nmed staff.\r\nParts")
    'The pump has a filter that must be changed every month by informed staff.\nParts'
    """
    page = re.sub(HYPHEN + r"\r?\n?", HYPHEN, page).replace(HYPHEN, "\x00")
    page = logical_order(page.replace("\r\n", "\n").replace("\r", "\n"))
    lines = [line.rstrip() for line in page.split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    usual = lengths[len(lengths) * 3 // 4] if lengths else 0
    parts: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        parts.append(line)
        parts.append(" " if _continues(line, following, usual) else "\n")
    return clean("".join(parts[:-1])).strip("\n")


def _continues(line: str, following: str, usual: int) -> bool:
    if not line or not following or line[-1] in ".!?:;" or _NEW_START.match(following):
        return False
    return len(line) >= usual * FULL_LINE and usual > 20
