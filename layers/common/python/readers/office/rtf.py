"""RTF by striprtf: its text, and lines of cells as tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from striprtf.striprtf import rtf_to_text

from readers.errors import CorruptFileError, EmptyFileError, FileTooLargeError
from readers.markdown_writer import MarkdownWriter, one_line
from readers.media_types import RTF
from readers.office.rtf_marks import cells_of, filled, marked, without_marks
from readers.parsed import ParsedDocument
from readers.text_decoding import clean, marked_encoding

REPLACED = "\ufffd"
MAX_BYTES = 32 * 1024 * 1024  # striprtf reads two megabytes a second, and needs ten times the memory
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")
_RAW = re.compile(rb"[\x80-\xff]")
_CHARACTER = re.compile(r"\\u-?(\d{5,})")
_HEX = re.compile(r"[0-9a-fA-F\s]{400,}")
_LEFT_OUT = (
    (r"\\pict\b", "pictures"),
    (r"\\objdata\b", "embedded objects"),
    (r"\\\*\\annotation\b", "comments"),
    (r"\{\\footnote\b", "footnotes"),
    (r"\{\\shptxt\b", "text boxes"),
    (r"\\moMath\b", "formulas"),
    (r"\{\\(?:header|footer)[lrf]?\b", "page headers and footers"),
)


def read_rtf(body: bytes) -> ParsedDocument:
    """Read an RTF document: paragraphs and tables; it has no headings that are marked as such.

    Raises:
        EmptyFileError: There is no text in it.
        FileTooLargeError: It is over 32 MB without its pictures.
        CorruptFileError: Its marks cannot be read.
    """
    encoding = marked_encoding(body)
    plain = _RAW.sub(lambda found: b"\\'%02x" % found.group()[0], _without_binary(body))  # read by its code page
    source = body.decode(encoding, "replace") if encoding else plain.decode("ascii")
    source = _CHARACTER.sub(_in_unicode, _HEX.sub("", source)).lstrip("\ufeff \t\r\n")
    if len(source) > MAX_BYTES:
        message = f"the RTF document has {len(source)} bytes without its pictures, at most {MAX_BYTES} are read"
        raise FileTooLargeError(message, limit_bytes=MAX_BYTES, size_bytes=len(source))
    source, has_deleted = marked(source.replace("{\\pntext", "{\\listtext"))  # the number of an item of a list
    try:
        text = without_marks(clean(_text(source)).replace("\ufeff", ""))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as exc:
        message = f"the RTF document cannot be read ({type(exc).__name__}); open it in its program and save it again"
        raise CorruptFileError(message) from exc
    warnings = [*_warnings(source, text), *(["text deleted under tracked changes is left out"] if has_deleted else [])]
    if not text.strip():
        if any("truncated" in warning for warning in warnings):
            raise CorruptFileError("the RTF document is truncated or damaged, and no text could be read")
        raise EmptyFileError("there is no text in this document")
    writer = MarkdownWriter()
    _write(text.split("\n"), writer)
    return writer.document(RTF, warnings=warnings)


def _text(source: str) -> str:
    return rtf_to_text(source, errors="replace")  # type: ignore[no-any-return, no-untyped-call]


def _in_unicode(found: re.Match[str]) -> str:
    r"""The mark of a character; that of the replacement character where there is none of its number.

    >>> _CHARACTER.sub(_in_unicode, r"\u128512? \u99999999?")
    '\\u128512? \\u65533?'
    """
    return found.group() if len(found[1]) < 8 and int(found[1]) <= sys.maxunicode else rf"\u{ord(REPLACED)}"


def _without_binary(body: bytes) -> bytes:
    r"""The source without bytes of pictures, which may hold braces.

    >>> _without_binary(b"a{\\pict\\bin3 }}}}b")
    b'a{\\pict}b'
    """
    parts, at = [], 0
    for found in _BINARY.finditer(body):
        if found.start() >= at:
            parts.append(body[at : found.start()])
            at = found.end() + int(found[1])
    return b"".join([*parts, body[at:]])


def _warnings(source: str, text: str) -> Iterator[str]:
    bare = re.sub(r"\\[\\{}]", "", source)
    if bare.count("{") != bare.count("}"):
        yield "the RTF document is truncated or damaged; text may be missing"
    if REPLACED in text:
        yield "some characters could not be decoded and are replaced"
    for mark, kind in _LEFT_OUT:
        count = len(re.findall(mark, source))
        if count:
            yield f"{count} {kind} of the RTF document are left out"


def _write(lines: list[str], writer: MarkdownWriter) -> None:
    """Write paragraphs, and neighbouring lines of cells as one table: striprtf ends every cell with a bar."""
    rows: list[tuple[list[str], list[str]]] = []
    for line in [*lines, ""]:
        cells, defined = cells_of(line)
        if len(cells) > 1 or (cells and rows):
            rows.append((cells, defined))
            continue
        if rows:
            table = filled(rows)
            writer.table(table, columns=max(map(len, table)))
            rows = []
        writer.block(one_line(line))
