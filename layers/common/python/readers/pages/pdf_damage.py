"""Damage in a PDF that PDFium ignores, and the order and lines of a page's text."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator

from readers.text_decoding import clean

MAX_STREAM_BYTES = 4 * 1024 * 1024  # of each stream's content, and
MAX_CHECKED_BYTES = 64 * 1024 * 1024  # of all, is looked at: enough to tell, too little for a bomb
MAX_STREAMS = 20_000
_PICTURE = re.compile(rb"/(?:JBIG2|DCT|JPX|CCITTFax)Decode")
_TEXTUAL = re.compile(rb"/Filter\s*\[?\s*/(?:A85|ASCII85Decode)\b")
_DEFLATED = re.compile(rb"/Filter\s*(?:\[\s*)?/FlateDecode\s*(?:\]|/(?!\w+Decode)|>>)")


def damage(body: bytes) -> list[str]:
    r"""A phrase for each kind of damage found in an unencrypted PDF; an encrypted one is not looked into.

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
    """What describes each stream, and its bytes."""
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


HYPHEN = "\ufffe"  # what PDFium gives for a hyphen at the end of a line
MARK = "\ufdd0"  # no character: where a table stands, in a line of its own
FULL_LINE = 0.75  # of the page's usual line length: a shorter line ends its paragraph
_STARTS_ANEW = re.compile(r"[•◦▪–*-] |\(?\d{1,3}[.)] |[A-Z0-9.]{1,8}$|" + MARK)


# Letters that only end a word, in Arabic and Hebrew: at the start of words they tell of a page in visual order.
_FINAL = "ةىךםןףץ"
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_RTL_WORD = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]{2,}")
_RTL_LETTERS = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_LTR_RUN = re.compile(rf"[^\W{_RTL_LETTERS}_](?:[^{_RTL_LETTERS}\n]*[^\W{_RTL_LETTERS}_])?")
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
    return _LTR_RUN.sub(lambda found: found.group()[::-1], line[::-1].translate(_MIRRORED))


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
        parts.append(" " if _goes_on(line, following, usual) else "\n")
    return clean("".join(parts[:-1])).strip("\n")


def _goes_on(line: str, following: str, usual: int) -> bool:
    if not line or not following or line[-1] in ".!?:;" or _STARTS_ANEW.match(following):
        return False
    return len(line) >= usual * FULL_LINE and usual > 20
